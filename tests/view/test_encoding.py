"""The encoding, worked by hand."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.errors import RnnlensError
from rnnlens.view.encoding import Palette, encode, fade

GREEN, PURPLE, YELLOW = "#00ff00", "#800080", "#ffff00"
GROUPING = {
    "colours": {"N": GREEN, "V": PURPLE, "OTHER": YELLOW},
    "groups": {"a": "N", "b": "V", "c": "N"},
}


def palette(labels):
    return Palette.of(labels, GROUPING)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(1.0, "#00ff00"), (0.9, "#19ff19"), (0.5, "#80ff80"), (1 / 3, "#aaffaa"), (0.0, "#ffffff")],
)
def test_the_papers_examples_fade_towards_white(share, expected):
    assert fade(GREEN, share) == expected


def test_the_dominant_group_is_the_largest_sum_not_the_largest_label():
    # Ten labels: the rectangle looks at one only, so use thirty and look at three.
    labels = ["a", "b", "c", *"defghijklmnopqrstuvwxyzABCD"]
    p = torch.full((30,), 0.05 / 27)
    p[0], p[1], p[2] = 0.3, 0.4, 0.25
    made = encode(p.log()[None], palette(labels), bars=2)
    assert made.labels.tolist() == [[1, 0]]
    assert made.probabilities[0].tolist() == pytest.approx([0.4, 0.3])
    assert made.share.tolist() == pytest.approx([0.55 / 0.95])
    assert made.rectangles == [fade(GREEN, 0.55 / 0.95)]


def test_one_label_in_ten_takes_part_and_at_least_one():
    made = encode(torch.tensor([[1.0, 3.0, 2.0]]), palette(["a", "b", "c"]), bars=3)
    assert made.rectangles == [PURPLE]
    assert made.labels.tolist() == [[1, 2, 0]]


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=40), st.integers(1, 5))
def test_shares_and_bars_are_probabilities(logits, bars):
    labels = [chr(97 + k) for k in range(len(logits))]
    made = encode(torch.tensor([logits]), palette(labels), bars)
    assert 0 < made.share.item() <= 1 + 1e-6
    values = made.probabilities[0].tolist()
    assert values == sorted(values, reverse=True)
    assert sum(values) <= 1 + 1e-5
    assert len(values) == min(bars, len(logits))


def test_a_grouping_without_other_is_refused():
    with pytest.raises(RnnlensError, match="OTHER"):
        Palette.of(["a"], {"colours": {"N": GREEN}, "groups": {}})
