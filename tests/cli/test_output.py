"""Whatever runs are called and hold, the terminal is given nothing to obey."""

import errno
import io
import json
import sys
import unicodedata
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.fixtures import formula_run
from tests.runfiles import contents, edit

from rnnlens.base.tensors import write_tensors
from rnnlens.cli import main
from rnnlens.cli.output import LONGEST, Plain, draw, plain_output

HOSTILE = "\x1b]0;mine\x07\x9b31m\u202e\u2028\r\x85\x00"


def obeyed(text: str) -> set[str]:
    """The characters that a terminal would obey."""
    return {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}} - {"\n"}


def written(text: str) -> str:
    stream = io.StringIO()
    Plain(stream).write(text)
    return stream.getvalue()


def test_what_a_terminal_would_obey_is_shown():
    assert obeyed(written(f"a{HOSTILE}b\nc\td")) == set()
    assert written("\x1b[31mred\nnext") == "␛[31mred\nnext"
    assert written("日本 é 🚀\n") == "日本 é 🚀\n"


def test_progress_may_begin_its_line_anew_and_nothing_else_may():
    assert written("\r 50%") == "\r 50%"
    assert written(" 50%\rmine") == " 50%␍mine"


def test_long_lines_are_cut():
    first, second = written("x" * 10**6 + "\nshort").split("\n")
    assert (len(first), first[-1], second) == (LONGEST, "…", "short")


def test_drawings_keep_their_colours_and_nothing_else():
    stream = io.StringIO()
    Plain(stream).draw("\x1b[38;5;9mred\x1b[0m \x1b]0;mine\x07\x1b[2J " + "x" * 10_000)
    assert stream.getvalue().startswith("\x1b[38;5;9mred\x1b[0m ␛]0;mine␇␛[2J xxx")
    assert stream.getvalue().endswith("x" * 10_000)


class Gone(io.StringIO):
    """A terminal that was closed, or a full disk."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def write(self, text: str) -> int:
        raise OSError(self.number, "no")


def test_a_closed_terminal_hinders_nothing_and_a_full_disk_is_told():
    Plain(Gone(errno.EIO)).write("saved")
    with pytest.raises(OSError, match="no"):
        Plain(Gone(errno.ENOSPC)).write("saved")


def test_all_that_is_written_meanwhile_is_plain(capsys):
    before = sys.stdout, sys.stderr
    with plain_output():
        print(HOSTILE)
        print(HOSTILE, file=sys.stderr)
        draw(HOSTILE)
    assert (sys.stdout, sys.stderr) == before
    assert obeyed("".join(capsys.readouterr())) == set()
    sys.excepthook(ValueError, ValueError(HOSTILE), None)
    said = capsys.readouterr().err
    assert "ValueError: ␛]0;mine" in said
    assert obeyed(said) == set()


def spoil_version(run: Path) -> None:
    edit(run / "run.json", format=99, version=HOSTILE)


def spoil_palette(run: Path) -> None:
    groupings = json.loads((run / "colours.json").read_text())["groupings"]
    edit(run / "colours.json", groupings={HOSTILE: next(iter(groupings.values()))})


def spoil_key(run: Path) -> None:
    edit(run / "model.json", **{HOSTILE: 1})


def spoil_tensor(run: Path) -> None:
    weights = load_file(run / "model.safetensors")
    sha = write_tensors(run / "model.safetensors", {**weights, HOSTILE: torch.ones(1)})
    edit(run / "model.json", sha256=sha)
    edit(run / "run.json", weights=sha)


@pytest.mark.parametrize("spoil", [spoil_version, spoil_palette, spoil_key, spoil_tensor])
def test_errors_that_name_what_a_run_holds_are_plain(tmp_path, capsys, spoil):
    run = formula_run(tmp_path / "run")
    spoil(run)
    assert main(["show", str(run), "the dog", "--palette", "none"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("rnnlens: ")
    assert "mine" in said
    assert said.count("\n") == 1
    assert obeyed(said) == set()


def test_groups_and_labels_are_drawn_plain(tmp_path, capsys):
    run = formula_run(tmp_path / "run")
    colours = contents(run / "colours.json")
    renamed = json.loads(json.dumps(colours).replace('"NOUN"', json.dumps(HOSTILE)))
    (run / "colours.json").write_text(json.dumps(renamed))
    for colour in ("never", "always"):
        assert main(["show", str(run), f"the dog{HOSTILE}", "--colour", colour]) == 0
        said = capsys.readouterr().out
        assert obeyed(said) == ({"\x1b"} if colour == "always" else set())
        assert "\x1b]" not in said


def test_the_line_a_server_begins_with_is_plain(tmp_path, capsys, monkeypatch):
    from rnnlens.page.serve import app

    run = formula_run(tmp_path / f"mine{HOSTILE.replace(chr(0), '')}")
    monkeypatch.setattr(app, "serve", lambda lenses, port, ready, *_: ready("http://127.0.0.1/"))
    assert main(["view", str(run), "--no-browser"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("mine␛]0;mine␇")
    assert obeyed(said) == set()
