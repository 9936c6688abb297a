"""What may be trusted, and where that is remembered."""

import json

import pytest

from rnnlens.adapter.module_record import ModuleRecord
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import parsed
from rnnlens.run import trusted_code


def test_without_a_home_folder_nothing_is_remembered(monkeypatch):
    def none() -> None:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", none)
    assert not trusted_code.is_allowed("a" * 64, "nothing.like:this")
    with pytest.raises(RnnlensError, match="give --trust each time"):
        trusted_code.allow("b" * 64, "nothing.like:this", always=True)


@pytest.mark.parametrize("factory", ["mine:make\nanother os:system", "os:system now", "mine"])
def test_a_factory_is_a_name_and_no_second_line_of_trust(tmp_path, factory):
    text = json.dumps({"factory": factory})
    with pytest.raises(RnnlensError, match=r"\(factory: "):
        parsed(text, ModuleRecord, tmp_path / "model.json")
