"""Labels that are followed through a grid, against distributions computed naively in float64."""

import math
import sys

import numpy as np
import pytest
import torch

from rnnlens.ask.follow import Sides
from rnnlens.base.errors import RnnlensError
from rnnlens.cli.show_command import listed
from rnnlens.draw.printable import odds_text, percent

TEXT = "the old dogs see a bird"


@pytest.fixture(scope="module")
def grid(formula):
    return formula(TEXT)


def distribution(grid, kind, step):
    """Softmax over all labels, written out."""
    x = grid.reading.logits(kind, step).numpy().astype(np.float64)
    return np.exp(x) / np.exp(x).sum()


def test_the_probability_of_a_set_is_that_of_its_labels_together(grid):
    followed = grid.follow("dog", "dogs", "dog")
    assert followed.labels == ("dog", "dogs")
    here = [grid.labels.index(label) for label in ("dog", "dogs")]
    for kind in grid:
        for step in range(len(grid)):
            expected = distribution(grid, kind, step)[here].sum()
            assert followed[kind][step] == pytest.approx(expected, rel=1e-5)
    assert followed.values.shape == (6, len(grid.kinds))
    everything = grid.follow(*grid.labels).values
    assert everything == pytest.approx(np.ones_like(everything))


def test_sets_against_each_other_give_the_logarithm_of_their_odds(grid):
    odds = grid.follow("see", against=("sees", "said"))
    for kind in ("x", "c1@-1", "l2", "y"):
        for step in range(len(grid)):
            p = distribution(grid, kind, step)
            ours, theirs = (
                p[grid.labels.index("see")],
                p[[grid.labels.index("sees"), grid.labels.index("said")]],
            )
            assert odds[kind][step] == pytest.approx(math.log(ours / theirs.sum()), abs=1e-5)
    turned = grid.follow("sees", "said", against="see")
    assert turned.values == pytest.approx(-odds.values, abs=1e-9)


def test_numbers_too_small_for_a_float_still_have_odds():
    logits = torch.tensor([[0.0, -800.0, -900.0]])
    assert Sides.of(["b"], [], "abc").values(logits) == [0.0]
    assert Sides.of(["b"], ["c"], "abc").values(logits) == pytest.approx([100.0])


def test_long_texts_are_followed_in_steps(formula):
    grid = formula("the old dogs see a bird , " * 9)
    followed = grid.follow("bird")
    steps = [0, 23, 24, 25, len(grid) - 1]
    assert followed["h2"][steps] == pytest.approx(
        [grid["h2"][t].probability("bird") for t in steps], rel=1e-4
    )


@pytest.mark.parametrize("run", ["linear", "gru", "bare"])
def test_every_sort_of_run_can_be_followed(formulas, run):
    grid = formulas[run](TEXT)
    followed = grid.follow("dogs")
    for kind in grid:
        expected = [state.probability("dogs") for state in grid[kind]]
        assert followed[kind] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("labels", "against", "message"),
    [
        (["dgos"], [], "there is no label 'dgos'; the nearest: 'dogs'"),
        (["dog"], ["zzzz"], "there is no label 'zzzz'; none is spelled like it"),
        ([], ["dog"], "no label is named to follow; name at least one"),
        (["dog", "see"], ["see"], "'see' is followed and stands against itself"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_one_line(grid, labels, against, message):
    with pytest.raises(RnnlensError, match=message) as told:
        grid.follow(*labels, against=against)
    assert "\n" not in str(told.value)


def test_it_reads_as_a_table(grid):
    lines = repr(grid.follow("see", against=("sees",))).split("\n")
    assert lines[0] == "the odds of see against sees"
    assert lines[1].split() == grid.kinds
    assert [line.split()[0] for line in lines[2:]] == grid.words
    assert all(":" in cell for cell in lines[2].split()[1:])
    assert len({len(line) for line in lines[1:]}) == 1
    with pytest.raises(RnnlensError, match="there is no kind 'q'"):
        grid.follow("see")["q"]


def test_pandas_has_a_row_for_every_state(grid, monkeypatch):
    pytest.importorskip("pandas")
    followed = grid.follow("see")
    table = followed.to_pandas()
    row = table[(table.kind == "l2") & (table.step == 3)].iloc[0]
    assert (row.word, row.probability) == ("see", followed["l2"][3])
    assert len(table) == followed.values.size
    assert "log_odds" in grid.follow("see", against="sees").to_pandas()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RnnlensError, match=r"pip install 'rnnlens\[pandas\]'"):
        followed.to_pandas()


@pytest.mark.parametrize(
    ("odds", "shown"),
    [(0.0, "1:1"), (-0.001, "1:1"), (math.log(2.5), "2.5:1"), (-math.log(3), "1:3"),
     (math.log(9.96), "10:1"), (-math.log(87.2), "1:87"), (50.0, ">999:1"), (-50.0, "1:>999")],
)  # fmt: skip
def test_odds_as_people_read_them(odds, shown):
    assert odds_text(odds) == shown


@pytest.mark.parametrize(
    ("p", "shown"),
    [(1.0, "100%"), (0.9999, ">99.9%"), (0.5, "50%"), (0.0994, "9.9%"), (0.0011, "0.1%"),
     (0.0009, "<0.1%")],
)  # fmt: skip
def test_probabilities_as_people_read_them(p, shown):
    assert percent(p) == shown


def test_labels_are_listed_with_commas_between_which_may_be_labels_too():
    known = ["are", "were", ","]
    assert listed("are,were", known) == ("are", "were")
    assert listed(",", known) == (",",)
    assert listed("", known) == ()
