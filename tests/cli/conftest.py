"""A user's project, and a run that was made in it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.project import DATA, FIT, TAGS, WORDS, conllu


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder."""
    made: Path = tmp_path_factory.mktemp("project")
    shutil.copy(Path(__file__).with_name("usermodels.py"), made)
    (made / "names.json").write_text(json.dumps({"words": WORDS, "tags": TAGS}))
    (made / "plain.txt").write_text("\n".join(" ".join(s.words) for s in DATA))
    (made / "tagged.conllu").write_text("\n\n".join(map(conllu, DATA)) + "\n\n")
    return made


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """In that folder, whose code is not installed."""
    monkeypatch.chdir(project)
    before = list(sys.path)
    yield project
    sys.path[:] = before
    sys.modules.pop("usermodels", None)


@pytest.fixture(scope="session")
def kept(project: Path) -> Path:
    """A finished run, made by the real command in a process of its own; to be read only."""
    words = ["fit", "--model", "usermodels:language", "--path", ".", "--corpus", "plain.txt"]
    words += ["-o", "kept", *FIT]
    script = Path(sys.executable).with_name("rnnlens")
    done = subprocess.run(
        [script, *words, "--semantic", "output,input"], cwd=project, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return project / "kept"
