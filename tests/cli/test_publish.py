"""`rnnlens publish`: the live page of a run as one file."""

import pytest


@pytest.mark.slow
def test_a_run_is_published_and_its_size_said(command, tmp_path):
    path = tmp_path / "lens.html"
    flags = ["--semantic", "output", "--title", "Brackets", "--note", "Ours.", "--text", "( [ ] )"]
    answer = command("publish", "brackets", "-o", path, *flags)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{path}: 0.")
    assert "MB; before packing: " in answer.out
    assert '"text":"( [ ] )"' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere", "-o", "lens.html"], "no run at nowhere"),
        (["brackets", "-o", "lens.pdf"], "cannot write lens.pdf; give a name ending in .html"),
        (["brackets", "-o", "x/lens.html"], "there is no folder x; make it first"),
        (
            ["brackets", "-o", "lens.html", "--semantic", "mood"],
            "no probes for the semantic 'mood'",
        ),
        (["brackets", "-o", "lens.html", "--precision", "int4"], "invalid choice: 'int4'"),
        (["brackets", "-o", "lens.html", "--text", " "], "the sentence is empty"),
        (["brackets"], "required: -o/--output"),
    ],
)
def test_bad_input_is_one_line(command, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    answer = command("publish", *words)
    assert answer.code == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
