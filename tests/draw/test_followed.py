"""Followed labels, drawn."""

import math

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.draw import figure, terminal
from rnnlens.draw.followed import AGAINST, FOR, FollowedScale
from rnnlens.draw.look import Look
from rnnlens.draw.pen import Pen


def scale(*values, against=()):
    followed = {"labels": ["a"], "against": list(against), "from": 0, "rows": [list(values)]}
    return FollowedScale.of(followed, range(len(values)))


@pytest.mark.parametrize(
    ("most", "full"), [(0.0, 0.01), (0.011, 0.02), (0.3, 0.5), (0.2, 0.2), (0.7, 1.0), (1.0, 1.0)]
)
def test_a_full_bar_is_a_round_probability_that_holds_all(most, full):
    assert scale(0.0, most).full == pytest.approx(full)


@pytest.mark.parametrize(("ratio", "full"), [(1, 2), (3, 5), (1 / 18, 20), (400, 500), (1e6, 1000)])
def test_a_full_bar_is_round_odds_either_way(ratio, full):
    made = scale(0.0, math.log(ratio), against=["b"])
    assert math.exp(made.full) == pytest.approx(full)
    assert made.title == f"the odds of a against b; a full bar is {full}:1"


def test_columns_that_are_not_drawn_have_no_part_in_the_scale():
    followed = {"labels": ["a"], "against": [], "from": 0, "rows": [[0.9, 0.04]]}
    assert FollowedScale.of(followed, [1]).full == pytest.approx(0.05)


def test_odds_grow_from_the_middle():
    made, pen = scale(math.log(10), -math.log(10), against=["b"]), Pen(["DejaVu Sans"])
    made.write(pen, (0, 0), 20, math.log(10))
    made.write(pen, (0, 0), 20, -math.log(10))
    bars = pen.boxes[1::2]
    assert [(x, width) for x, _, width, *_ in bars] == [
        pytest.approx((10, 10)),
        pytest.approx((0, 10)),
    ]
    assert [colour for *_, colour, _ in bars] == [FOR, AGAINST]
    assert [text for _, _, text, _ in pen.texts] == ["10:1", "1:10"]


def test_figures_show_the_numbers_instead_of_labels(formula):
    grid = formula("the dog sees")
    followed = grid.follow("bird", against=("dogs",))
    shown = [text.get_text() for text in grid.figure(followed=followed).axes[0].texts]
    assert "the odds of bird against dogs" in " ".join(shown)
    assert sum(":" in text for text in shown) == 3 * 10 + 1  # and the title
    assert "unread" not in shown
    every = grid.figure(followed=followed, kinds="all").axes[0].texts
    assert [text.get_text() for text in every].count(
        "unread"
    ) == 2  # the cells before the first word
    usual = [text.get_text() for text in grid.figure().axes[0].texts]
    assert not any(":1" in text for text in usual)
    compact = Look(density="compact")
    assert figure.draw(grid.json, compact, ".svg", followed.to_json()) != figure.draw(
        grid.json, compact, ".svg"
    )


def test_terminals_show_the_numbers_instead_of_labels(formula):
    grid = formula("the dog sees")
    followed = grid.follow("bird")
    columns = [grid.json["columns"][k]["id"] for k in (0, 19)]
    look = Look(kinds=columns)
    drawn = terminal.draw(grid.json, look, width=80, followed=followed.to_json())
    lines = drawn.split("\n")
    assert lines[1].startswith("the probability of bird; a full bar is ")
    first = next(line for line in lines if line.split()[:1] == ["the"] and "bird;" not in line)
    assert first.count("%") == 2


@pytest.mark.slow
def test_a_saved_figure_has_them_too(formula, tmp_path):
    grid = formula("the dog sees")
    plain, followed = tmp_path / "a.svg", tmp_path / "b.svg"
    grid.save(plain)
    grid.save(followed, followed=grid.follow("bird"))
    assert plain.read_bytes() != followed.read_bytes()
    with pytest.raises(RnnlensError, match="a look has no field"):
        grid.figure(follow="bird")
