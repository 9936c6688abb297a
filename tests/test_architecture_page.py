"""docs/architecture.md names files, folders and code that there are, and no room is left out."""

import re
import sys
import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.shown import ROOT
from tests.test_architecture import LAYERS

from rnnlens.page.serve.app import application

PACKAGE = ROOT / "src/rnnlens"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
CODE = "\n".join(
    path.read_text(encoding="utf-8") for path in [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.js")]
)
DATA = "bundled"  # a folder with no rooms in it

LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
LITERAL = re.compile(r"`([^`\n]+)`")
PROSE = re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
ENDINGS = (".py", ".js", ".md", ".svg", ".json")


def is_path(name: str) -> bool:
    return re.fullmatch(r"[\w./-]+", name) is not None and (
        name.endswith((*ENDINGS, "/")) or "/" in name
    )


LITERALS = sorted(set(LITERAL.findall(PROSE)))
PATHS = sorted({part for literal in LITERALS for part in literal.split() if is_path(part)})
NAMES = [name for name in LITERALS if re.fullmatch(r"[\w.]+(\(.*\))?", name) and not is_path(name)]


def folders(package: Path) -> set[str]:
    """Every folder that holds files, as the page names it; what is in a folder of data is data."""
    files = [path.relative_to(package) for path in package.rglob("*") if path.is_file()]
    code = [file.parent for file in files if file.parts[0] != DATA]
    return {f"{folder.as_posix()}/" for folder in code if folder.name not in ("", "__pycache__")}


@pytest.mark.parametrize("name", PATHS)
def test_what_the_page_names_is_there(name):
    path = next((root / name for root in (PACKAGE, ROOT) if (root / name).exists()), None)
    assert path is not None, name
    assert path.is_dir() == name.endswith("/") or name == "src/rnnlens"


@pytest.mark.parametrize(("text", "target"), LINK.findall(PROSE))
def test_links_lead_to_the_files_they_are_called_after(text, target):
    path = ROOT / "docs" / target.partition("#")[0]
    assert path.is_file(), "a folder is no page of the site; link a file"
    assert not text.endswith(ENDINGS) or path.name == text


def test_every_folder_of_the_package_is_named():
    assert folders(PACKAGE) - {*PATHS} == set()
    assert f"{DATA}/" in PATHS


def test_the_rooms_are_listed_in_the_order_of_their_layers():
    listed = re.findall(r"^\| `(\w+)/` \|", PAGE, flags=re.MULTILINE)
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert listed == [layer for layer in LAYERS if layer in rooms]


def test_a_folder_that_is_not_named_is_seen(tmp_path):
    for name in ("run.py", "view/new/a.js", "bundled/news/run.json", "cli/__pycache__/fit.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "left").mkdir()
    assert folders(tmp_path) == {"view/new/"}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_page_are_names_of_the_code(name):
    word = name.partition("(")[0].rpartition(".")[2]
    assert re.search(rf"\b{re.escape(word)}\b", CODE)


def test_a_key_passes_through_the_files_that_are_listed(formula):
    section = PAGE.split("## A key, from the field to the painted row\n")[1]
    listed = re.findall(r"^\d+\. \[[\w.]+\]\(\.\./src/rnnlens/([^)]+)\)", section, re.MULTILINE)
    assert 10 < len(listed) == len(set(listed)) <= 20
    client = TestClient(application({"formula": formula.subject}), base_url="http://127.0.0.1")
    text = "the old dogs see"
    first = client.post("/api/grid", json={"text": text}).json()
    seen: set[str] = set()

    def look(frame, event, _):
        if event == "call":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(look)  # of threads that begin from now on, as the server's do
    sys.setprofile(look)
    try:
        client.post("/api/grid", json={"text": f"{text} a", "previous": text, "have": 4})
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert len(first["rows"]) == 4
    assert [
        name for name in listed if name.endswith(".py") and str(PACKAGE / name) not in seen
    ] == []
