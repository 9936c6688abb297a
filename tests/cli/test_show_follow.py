"""`rnnlens show --follow`: labels in every state, in the terminal and in figures."""

import pytest

SENTENCE = "the dogs see"


@pytest.fixture
def run(tmp_path):
    from tests.fixtures import formula_run

    return formula_run(tmp_path / "tiny")


def test_the_probability_stands_in_every_cell(command, run, tmp_path):
    code, shown, said = command("show", run, SENTENCE, "--follow", "dog,dogs", "--width", "400")
    assert (code, said) == (0, "")
    assert "the probability of dog + dogs; a full bar is " in shown
    assert shown.count("%") == 3 * 10 + 1  # and the title
    assert "nothing read" not in shown
    flags = ("--follow", "dog,dogs", "--width", "600", "--kinds", "all")
    every = command("show", run, SENTENCE, *flags).out
    assert every.count("%") == 3 * 20 - 2 + 1  # cells before the first word are empty
    assert every.count("nothing read") == 2
    path = tmp_path / "figure.svg"
    assert command("show", run, SENTENCE, "--follow", "dog", "-o", path)[0] == 0
    assert path.stat().st_size > 10_000


def test_sets_stand_against_each_other(command, run):
    flags = ("--follow", "see", "--against", "sees,said", "--width", "400", "--kinds", "l2,y")
    _, shown, _ = command("show", run, SENTENCE, *flags)
    assert "the odds of see against sees + said" in shown
    assert shown.count(":1") + shown.count("1:") >= 6


def test_a_comma_can_be_followed(command, run):
    assert "the probability of ,;" in command("show", run, SENTENCE, "--follow", ",")[1]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--follow", "dgos"], "there is no label 'dgos'; the nearest: 'dogs'"),
        (["--follow", "see", "--against", "see"], "'see' is followed and stands against itself"),
        (["--against", "see"], "--against names labels, and --follow none"),
        (["--follow", ""], "no label is named to follow"),
    ],
)
def test_what_cannot_be_followed_is_said_in_one_line(command, run, flags, said):
    code, shown, told = command("show", run, SENTENCE, *flags)
    assert (code, shown) == (2, "")
    assert told.startswith(f"rnnlens: {said}")
    assert told.count("\n") == 1
