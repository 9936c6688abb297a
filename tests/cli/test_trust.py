"""Nothing of a run is executed unasked, wherever it lies."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.project import TRUST
from tests.runfiles import contents, edit
from tests.sampling import sampled

from rnnlens.run.folder import Run

NEW = "the dogs see a bird"


@pytest.fixture
def strange(kept: Path, tmp_path: Path) -> Path:
    """A run from somewhere, with code in its folder that leaves a trace when it is imported."""
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    (run / "evil.py").write_text("open('ran', 'w')\n\ndef go():\n    open('ran', 'w')\n")
    edit(run / "model.json", factory="evil:go")
    return run


def test_what_would_be_imported_is_told_and_kept_texts_are_shown(command, here, kept):
    known = (Run(kept).examples() or [])[0].text
    assert command("show", kept, known).code == 0
    for words in (("show", kept, NEW), ("eval", kept), ("fit", kept)):
        told = command(*words, "--path", ".")
        assert told.code == 2
        (line,) = told.err.splitlines()
        assert f"it would import usermodels (from {here / 'usermodels.py'}) and call" in line
        assert "give the command --trust (--trust-always remembers it)" in line
    assert "usermodels" not in sys.modules


STARTS = [["rnnlens"], [sys.executable, "-m", "rnnlens"]]


@pytest.mark.slow
@pytest.mark.parametrize("start", sampled(STARTS, STARTS[1]))
def test_code_in_the_runs_own_folder_is_never_found_by_itself(strange, start):
    program = [str(Path(sys.executable).with_name("rnnlens"))] if start[0] == "rnnlens" else start
    done = subprocess.run(
        [*program, "show", ".", NEW, "--trust"], cwd=strange, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "cannot import evil" in done.stderr
    assert not (strange / "ran").exists()


def test_trust_may_be_remembered_and_is_of_one_run(command, here, kept, strange, trusted):
    assert command("show", kept, NEW, *TRUST).code == 0
    assert not trusted.exists()
    assert command("show", kept, NEW, "--trust-always", "--path", ".").code == 0
    described = contents(kept / "model.json")
    assert trusted.read_text() == f"{described['sha256']} usermodels:language\n"


def test_remembered_trust_needs_no_flag(command, here, kept, strange, trusted):
    trusted.parent.mkdir(parents=True)
    trusted.write_text(f"{contents(kept / 'model.json')['sha256']} usermodels:language\n")
    assert command("show", kept, NEW, "--path", ".").code == 0
    told = command("show", strange, NEW, "--path", strange)
    assert "it would import evil" in told.err
    assert not (here / "ran").exists()


def test_a_folder_for_code_has_to_be_one(command, kept):
    told = command("show", kept, NEW, "--path", "nowhere")
    assert (told.code, told.err) == (
        2, "rnnlens: --path nowhere is no folder; give the one that holds the code\n",
    )  # fmt: skip
