"""`rnnlens show` with edits, with the words behind a state, and with the model going on."""

import pytest
from tests.fixtures import formula_run

from rnnlens.lens.open import opened
from rnnlens.run.folder import Run

TEXT = "the old dog sees"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return formula_run(tmp_path_factory.mktemp("why") / "formula")


def test_what_an_edit_changes_is_told_below_the_grid(command, run):
    code, out, err = command("show", run, TEXT, "--kinds", "y", "--edit", "c2@2=0",
                             "--edit", "l1@3*2", "--continue", 3)  # fmt: skip
    assert (code, err) == (0, "")
    lens = opened(Run(run))
    edits = ["c2@2=0", "l1@3*2"]
    grid, lines = lens(TEXT, edits=edits), out.splitlines()
    start = lines.index("edited: c2@2=0, l1@3*2.0")
    rows = [line.split() for line in lines[start + 2 : start + 6]]
    assert [row[0] for row in rows] == TEXT.split()
    assert [float(row[1]) for row in rows] == pytest.approx(
        [changes[-1]["bits"] for changes in grid.json["changes"]], abs=6e-4
    )
    goes = grid.continuation(3)
    assert lines[-2:] == [f"goes on before: {' '.join(goes.before)}",
                          f"goes on after:  {' '.join(goes.words)}"]  # fmt: skip


def test_edits_of_one_of_two_texts_are_told_below_their_lines(command, run):
    code, out, err = command("show", run, "the {old|} dog sees", "--edit", "c2@2:2=0")
    assert (code, err) == (0, "")
    assert out.endswith("\nedited: c2@2:2=0\n")


def test_a_figure_says_that_it_is_edited(command, run, tmp_path):
    path = tmp_path / "edited.svg"
    flags = ("--edit", "c2@2=0", "--rows", "2-3", "-o", path)
    assert command("show", run, TEXT, *flags) == (0, "", "")
    assert "edited: c2@2=0" in path.read_text()


def test_the_words_behind_a_state_are_a_table(command, run):
    asked = ("show", run, TEXT, "--kinds", "y", "--written-by", "c2@4")
    code, out, _ = command(*asked, "--follow", "dog", "--against", "old,a")
    written = opened(Run(run))(TEXT)["c2"][3].written_by("dog", against=("old", "a"))
    assert code == 0
    assert out.endswith("\n".join(written.lines()) + "\n")
    top = opened(Run(run))(TEXT)["c2"][3].written_by()
    assert top.title in command(*asked)[1]
    state = opened(Run(run))(TEXT)["c2"][3]
    drawn = command(*asked, "--stand-in", "model", "--seed", 4)[1]
    assert drawn.endswith("\n".join(state.written_by(stand_in="model", seed=4).lines()) + "\n")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--edit", "c2@9=0"), "c2@9=0 is about word 9, and the text has 4 words"),
        (("--edit", "c2=0"), "'c2=0' is no edit; write it like"),
        (("--written-by", "c2"), "--written-by c2: give a column and a row from 1 to 4"),
        (("--written-by", "c2@5"), "give a column and a row from 1 to 4, such as c2@4"),
        (("--written-by", "q2@1"), "formula has no column 'q2'; it has x"),
        (("--continue", "0"), "0 words to go on with"),
        (("--stand-in", "tag"), "--stand-in says what is read in a word's place, and nothing is"),
        (("--written-by", "c2@4", "--stand-in", "tea"), "invalid choice: 'tea'"),
    ],
)
def test_what_cannot_be_is_one_line(command, run, flags, said):
    code, out, err = command("show", run, TEXT, *flags)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
