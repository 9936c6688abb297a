"""Predictions about surprisals: parsed by hand, evaluated, refused in one line."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.base.errors import RnnlensError
from rnnlens.lab.formula import DEEPEST, LONGEST, parsed_formula

BITS = {(1, "a"): 1.0, (2, "a"): 2.0, (1, "b"): 4.0, (2, "b"): 8.0, (0, "b"): 12.0}


def holds(text):
    return parsed_formula(text).holds(lambda *region: BITS[region])


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("(1;%a%) < (1;%b%)", True),
        ("(1;%a%)>(1;%b%)", False),
        ("[ (1;%a%) + (2;%a%) ] < [ (1;%b%) - 0.5 ]", True),
        ("[(1;%a%) < (2;%a%)] & [(2;%b%) < (1;%b%)]", False),
        ("[(1;%a%) < (2;%a%)] | [(2;%b%) < (1;%b%)]", True),
        ("[[(2;%b%)-(1;%b%)]-[(2;%a%)-(1;%a%)]]>2", True),
        ("[[(2;%b%)-(1;%b%)]-[(2;%a%)-(1;%a%)]]>3", False),  # 4 - 1, from the left
        ("(2;%b%) - (1;%b%) - (2;%a%) = 2", True),  # from the left, too
        ("(*;%b%) = (1;%b%) + (2;%b%)", True),
        ("(1;%b%) / (2;%a%) * 2 = (1;%b%)", True),
        ("-(1;%a%) < 0", True),
    ],
)
def test_it_holds_or_not(text, truth):
    assert holds(text) is truth


def test_it_knows_its_regions_and_what_is_compared():
    formula = parsed_formula("[(6;%m s%) < (6;%x%)] & [(7;%n%) > (7;%m s%)] & [(1;%x%)+1 < 2]")
    assert formula.regions == {(6, "m s"), (6, "x"), (7, "n"), (7, "m s"), (1, "x")}
    assert sorted(formula.comparisons) == [(6, "m s", 6, "x"), (7, "m s", 7, "n")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "ends too early"),
        ("(1;%a%)", "compares nothing"),
        ("(1;%a%) <", "ends too early"),
        ("[(1;%a%) < (1;%b%)", "']' is missing"),
        ("(1;%a%) < (1;%b%)]", "']' is left over"),
        ("(1;%a%) < (1;%b%) < (2;%b%)", "stands between no numbers"),
        ("(1;%a%) & (1;%b%)", "joins no comparisons"),
        ("__import__('os')", "is nothing it can have"),
        ("(1;a) < (2;b)", "is nothing it can have"),
        ("[" * (DEEPEST + 1) + "1<2" + "]" * (DEEPEST + 1), "brackets within"),
        ("1 < " + "1 + " * LONGEST + "1", "characters"),
    ],
)
def test_what_does_not_parse_is_refused_in_a_line(text, why):
    with pytest.raises(RnnlensError, match="does not parse") as error:
        parsed_formula(text)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


def test_long_chains_are_no_deep_ones():
    assert holds("0 < " + " + ".join(["(1;%a%)"] * 900))


@given(st.text(alphabet="(1;%a%)<>&|[]+-*/=0. b", max_size=60))
def test_nothing_but_an_error_of_ours(text):
    with suppress(RnnlensError):
        assert parsed_formula(text).holds(lambda *_: float(np.pi)) in (True, False)
