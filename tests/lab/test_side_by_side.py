"""Two models and one suite, item by item."""

import numpy as np
import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.lab.encoded import encoded
from rnnlens.lab.laboratory import Lab
from rnnlens.lab.scoring import Scored
from rnnlens.lab.side_by_side import side_by_side
from rnnlens.lab.suite import BAD, GOOD, Item, Suite


def suite(name="s", count=40):
    pair = {GOOD: ("the dog sees",), BAD: ("the dog see",)}
    strange = {GOOD: ("the cat sees",), BAD: ("the cat see",)}
    items = [Item("p", k, strange if k == 0 else pair, condition="a" if k < 20 else "b")
             for k in range(count)]  # fmt: skip
    return Suite(name, tuple(items))


def asked(lens, given, right, unknown="leave"):
    made = Lab(lens.subject, encoded(given, lens.subject.session.text, unknown), {})
    made.__dict__["scored"] = Scored(np.array(right, float), np.zeros(len(right)))
    return made


@pytest.mark.parametrize("same", [True, False])
def test_the_difference_is_paired_and_over_items_that_both_were_asked(formula, formulas, same):
    one = suite()
    other = one if same else suite()
    first = asked(formula, one, [1] * 10 + [0] * 29)  # the first item is unknown to it
    second = asked(formulas["gru"], other, [1] * 30 + [0] * 10, "keep")
    found = side_by_side(first, second)
    rows = {row.condition: row for row in found.rows}
    whole = rows[""]
    assert (whole.items, rows["a"].items, rows["b"].items) == (39, 19, 20)
    assert whole.first == pytest.approx(10 / 39)
    assert whole.second == pytest.approx(29 / 39)
    assert whole.difference == pytest.approx(19 / 39)
    assert whole.low is not None
    assert whole.high is not None
    assert 0 < whole.low < whole.difference < whole.high < 1
    assert rows["a"].low is None  # too few items
    assert (found.first, found.second) == ("formula", "gru")
    assert found.to_csv().startswith("paradigm,condition,items,first,second,difference,low,high\n")


def test_two_suites_are_refused(formula):
    first, second = asked(formula, suite(), [1] * 39), asked(formula, suite("t", 41), [1] * 40)
    with pytest.raises(RnnlensError, match="s and t are two suites"):
        side_by_side(first, second)
