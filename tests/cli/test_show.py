"""`rnnlens show`: a sentence to every kind of file and to the terminal."""

import io
import json
import re
import shutil
import struct
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from tests.asks import grid_json
from tests.sampling import sampled

from rnnlens.cli import main
from rnnlens.cli.show_command import colours
from rnnlens.draw import terminal
from rnnlens.draw.look import Look
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.page.bundle import WEB
from rnnlens.run.folder import Run

SENTENCE = "the old dog sees a zyzzyva ."
ENDINGS = ("svg", "png", "pdf", "html", "json")


@pytest.fixture(scope="module")
def run(trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with probes, to be read only."""
    path = Path(shutil.copytree(trained_run, tmp_path_factory.mktemp("show") / "tiny"))
    flags = ["--epochs", "0", "--semantic", "output,input", "--device", "cpu"]
    assert main(["fit", str(path), *flags]) == 0
    return path


@pytest.fixture(scope="module")
def lens(run: Path) -> Lens:
    return opened(Run(run))


@pytest.fixture
def show(command, run, tmp_path):
    """Show the sentence to a file of this ending, and return what was written."""

    def call(ending: str, *flags: object) -> bytes:
        path = tmp_path / f"made.{ending}"
        answer = command("show", run, SENTENCE, "-o", path, *flags)
        assert answer == (0, "", "")
        made = path.read_bytes()
        path.unlink()
        assert list(tmp_path.iterdir()) == []  # nothing beside it
        return bytes(made)

    return call


def shown_columns(grid: dict[str, Any]) -> list[int]:
    return [k for k, column in enumerate(grid["columns"]) if column["shown"]]


def embedded(page: bytes) -> dict[str, Any]:
    (text,) = re.findall(rb'<script type="application/json" id="embedded">(.*?)</script>', page)
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("ending", sampled(ENDINGS, "svg"))
def test_twice_the_same_bytes(show, ending):
    assert show(ending) == show(ending)


def test_json_is_the_lenss_grid(show, lens):
    made = show("json")
    assert json.loads(made) == json.loads(json.dumps(grid_json(lens, SENTENCE)))
    assert made.endswith(b"}\n")
    assert len(made.splitlines()) > len(SENTENCE.split())
    assert json.loads(show("json", "--semantic", "input", "--palette", "universal")) == json.loads(
        json.dumps(grid_json(lens, SENTENCE, "input", "universal"))
    )


@pytest.mark.slow
def test_svg_holds_every_label_and_rectangle_shown(show, lens):
    grid, text = grid_json(lens, SENTENCE), show("svg", "--bars", 2, "--width", 14).decode()
    assert ET.fromstring(text).attrib["width"] == "1008pt"
    for row in grid["rows"]:
        for k in shown_columns(grid):
            if row[k]["unread"]:
                continue  # hatched, without a colour or labels
            assert f"fill: {row[k]['colour']}" in text
            assert all(f"<!-- {label} -->" in text for label, _ in row[k]["top"][:2])
    assert "zyzzyva" in text


@pytest.mark.slow
def test_figures_take_their_flags(show, lens):
    grid = grid_json(lens, SENTENCE)
    plain, small = show("svg").decode(), show("svg", "--density", "compact").decode()
    labels = [label for row in grid["rows"] for label, _ in row[0]["top"][:3]]
    most = next(label for label in labels if label not in SENTENCE.split())
    assert f"<!-- {most} -->" in plain
    assert f"<!-- {most} -->" not in small
    assert "$h^{2}_{t}$" in show("svg", "--symbols").decode()
    assert "<!-- A title -->" in show("svg", "--title", "A title").decode()
    assert "<!-- forget gate -->" in show("svg", "--kinds", "f1,y", "--width", 9).decode()
    assert "<!-- forget -->" not in plain


@pytest.mark.slow
def test_png_and_pdf(show):
    assert struct.unpack(">I", show("png", "--width", 5)[16:20]) == (1000,)
    assert b"/FontFile2" in show("pdf")


def test_html_embeds_the_grid_and_the_view(show, lens):
    found = embedded(show("html"))
    assert found["grid"] == json.loads(json.dumps(grid_json(lens, SENTENCE)))
    assert found["bits"] == []
    assert found["view"].items() >= {
        "run": "tiny", "text": SENTENCE, "beside": None, "semantic": "output", "palette": "classes",
        "density": "bars", "kinds": None, "naming": "both", "bars": 3, "focus": None,
        "follow": None, "turns": False, "page": "grid", "find": None, "map": None,
    }.items()  # fmt: skip
    assert found["view"]["pins"] == found["view"]["edits"] == []
    flags = "--density compact --kinds h2,x,c1@-1 --bars 5 --symbols --semantic input".split()
    asked = embedded(show("html", *flags))["view"]
    assert asked["kinds"] == ["h2", "x", "c1@-1"]
    assert (asked["density"], asked["naming"], asked["bars"]) == ("compact", "symbols", 5)
    assert asked["semantic"] == "input"
    assert embedded(show("html", "--kinds", "all"))["view"]["kinds"] == "all"


def test_the_view_is_one_that_the_page_knows(show):
    """Its keys are those of net/address.js."""
    source = (WEB / "net/address.js").read_text(encoding="utf-8")
    (body,) = re.findall(r"function plainView\(\) \{\s*return \{(.*?)\};", source, re.DOTALL)
    assert set(embedded(show("html"))["view"]) == set(re.findall(r"(\w+):", body))


def test_own_colours(show, run, tmp_path, command):
    own = tmp_path.parent / "own-colours.json"
    own.write_text(json.dumps({"colours": {"A": "#123456"}, "groups": {"the": "A"}}))
    made = json.loads(show("json", "--colours", own))
    assert (made["palette"], made["groups"]["A"]) == ("own", "#123456")


def test_in_the_terminal(command, run, lens, monkeypatch):
    monkeypatch.setenv("COLUMNS", "220")
    answer = command("show", run, SENTENCE)
    assert (answer.code, answer.err) == (0, "")
    grid = grid_json(lens, SENTENCE)
    shown = [grid["columns"][k]["id"] for k in shown_columns(grid)]
    assert answer.out == terminal.draw(grid, Look(kinds=shown), width=220)
    assert "zyzzyva?" in answer.out
    assert "\x1b" not in answer.out  # it is no terminal
    monkeypatch.setenv("COLORTERM", "truecolor")
    flags = "--colour always --width 60 --kinds outputs --bars 2 --density bars --symbols".split()
    colourful = command("show", run, SENTENCE, *flags)
    look = Look(kinds="x,h1,h2,y", bars=2, density="bars", symbols=True)
    assert colourful.out == terminal.draw(grid, look, width=60, colours=terminal.TRUE)


def test_a_terminal_that_knows_no_unicode(command, run, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["show", str(run), SENTENCE]) == 0
    sys.stdout.flush()
    assert b"zyzzyva" in raw.getvalue()


@pytest.mark.parametrize(
    ("asked", "environment", "is_terminal", "count"),
    [
        ("auto", {"TERM": "xterm", "COLORTERM": "truecolor"}, True, terminal.TRUE),
        ("auto", {"TERM": "xterm", "COLORTERM": "24bit"}, True, terminal.TRUE),
        ("auto", {"TERM": "xterm-256color"}, True, terminal.INDEXED),
        ("auto", {"TERM": "xterm-256color", "NO_COLOR": "1"}, True, terminal.PLAIN),
        ("auto", {"TERM": "xterm-256color", "NO_COLOR": ""}, True, terminal.INDEXED),
        ("auto", {"TERM": "xterm-256color"}, False, terminal.PLAIN),
        ("auto", {"TERM": "dumb"}, True, terminal.PLAIN),
        ("auto", {}, True, terminal.PLAIN),
        ("always", {"NO_COLOR": "1"}, False, terminal.INDEXED),
        ("always", {"COLORTERM": "truecolor"}, False, terminal.TRUE),
        ("never", {"TERM": "xterm", "COLORTERM": "truecolor"}, True, terminal.PLAIN),
    ],
)
def test_how_many_colours(asked, environment, is_terminal, count):
    assert colours(asked, environment, is_terminal) == count


def test_the_sentence_from_standard_input(command, run, tmp_path, monkeypatch, lens):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{SENTENCE}\n"))
    assert command("show", run, "-", "-o", tmp_path / "a.json").code == 0
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["words"] == grid_json(lens, SENTENCE)["words"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("",), "the sentence is empty"),
        ((" \t\n ",), "the sentence is empty"),
        (("-",), "standard input is empty"),
        (("caf\udce9",), "the sentence is not UTF-8"),
        (("word " * 2001,), "2,001 words are too many"),
        (("x" * 20_001,), "20,001 characters are too many"),
        ((SENTENCE, "--kinds", "x,q9"), "the run has no kind 'q9'; it has x, f1"),
        ((SENTENCE, "--kinds", ","), "no kinds are named"),
        ((SENTENCE, "--semantic", "output+2"), "no probes for the semantic 'output+2'"),
        ((SENTENCE, "--palette", "mine"), "no palette 'mine'; it has classes, coarse, universal"),
        ((SENTENCE, "--colours", "nowhere.json"), "no colour mapping at nowhere.json"),
        ((SENTENCE, "--bars", "0"), "0 bars: give a number from 1 to 20"),
        ((SENTENCE, "--bars", "6", "-o", "a.html"), "6 bars: give a number from 1 to 5"),
        ((SENTENCE, "--width", "5"), "--width 5: give 20 to 10,000 columns"),
        ((SENTENCE, "--width", "nan"), "--width nan"),
        ((SENTENCE, "--width", "0", "-o", "a.svg"), "a width of 0: give 1 to 100 inches"),
        ((SENTENCE, "--density", "loose"), "invalid choice: 'loose'"),
        ((SENTENCE, "-o", "figure.gif"), "cannot write figure.gif; give a name ending in .svg"),
        ((SENTENCE, "-o", "figure"), "cannot write figure; give a name ending in"),
        ((SENTENCE, "-o", "no/such/figure.svg"), "there is no folder no/such"),
        ((SENTENCE, "-o", "folder.svg"), "folder.svg is a folder"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    command, run, tmp_path, monkeypatch, words, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    (tmp_path / "folder.svg").mkdir()
    answer = command("show", run, *words)
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert line.startswith("rnnlens: ")
    assert message in line
    assert [p.name for p in tmp_path.iterdir()] == ["folder.svg"]


@pytest.mark.parametrize("flags", ["-o a.gif", "-o no/a.svg", "--bars 0", "--width 1"])
def test_flags_are_checked_before_the_run_is_read(command, tmp_path, monkeypatch, flags):
    monkeypatch.chdir(tmp_path)
    answer = command("show", "no-such-run", SENTENCE, *flags.split())
    assert answer.code == 2
    assert "no-such-run" not in answer.err


def test_there_is_no_such_run(command, tmp_path):
    answer = command("show", tmp_path / "gone", SENTENCE)
    assert answer.code == 2
    assert "no run at" in answer.err


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_without_matplotlib_the_pip_line_is_told_at_once(command, tmp_path, monkeypatch, ending):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    answer = command("show", "no-such-run", SENTENCE, "-o", tmp_path / f"a.{ending}")
    assert answer.code == 2
    assert "pip install 'rnnlens[figure]'" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_everything_else_works(command, run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for words in ([], ["-o", tmp_path / "a.html"], ["-o", tmp_path / "a.json"]):
        assert command("show", run, SENTENCE, *words).code == 0


def test_without_probes_the_prediction_is_shown_and_said(command, trained_run, tmp_path):
    answer = command("show", trained_run, SENTENCE, "-o", tmp_path / "a.svg")
    assert answer.code == 0
    assert "has no probes, so only its own prediction is shown; fit them: rnnlens fit" in answer.err
    assert "<!-- prediction -->" in (tmp_path / "a.svg").read_text()


def test_a_disk_that_refuses_leaves_the_old_file(command, run, tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text("old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rnnlens.base.files.os.fsync", fail)
    answer = command("show", run, SENTENCE, "-o", tmp_path / "a.json")
    assert answer.code == 2
    assert "no space left" in answer.err
    assert (tmp_path / "a.json").read_text() == "old"


def test_help_teaches_by_examples(capsys):
    with pytest.raises(SystemExit):
        main(["show", "--help"])
    said = capsys.readouterr().out
    assert said.count("  rnnlens show runs/news") >= 5
    for word in (".svg", ".html", "--kinds", "--semantic", "--density", "NO_COLOR"):
        assert word in said
