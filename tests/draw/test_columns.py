"""The names of columns: the same in Python and in the page (tests/web/base/columns.test.js)."""

import json
from pathlib import Path

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.columns import MANY, chosen_columns, column_names

CASES = json.loads((Path(__file__).parents[1] / "golden/columns.json").read_text())
LSTM = CASES[0]["columns"]


@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_names_stand_for_columns_as_in_the_page(case):
    known = column_names(case["columns"])
    for name, ids in case["names"].items():
        found = known.get(name)
        assert (found and [case["columns"][k]["id"] for k in found]) == ids, name


def test_several_names_are_one_choice_in_the_grids_order():
    def ids(kinds):
        return [LSTM[k]["id"] for k in chosen_columns(LSTM, kinds)]

    assert ids("h, layer1,y") == ["f1", "c1@-1", "c1", "h1", "h2", "y"]
    assert ids(["outputs", "c2", "c2"]) == ["x", "h1", "c2", "h2", "y"]
    assert ids(None) == ids("default") == ["x", "c1", "h1", "c2", "h2", "y"]
    empty: tuple[str | list[str], ...] = (",", [])
    for nothing in empty:
        with pytest.raises(RnnlensError, match=r"no kinds are named; the run has x, f1"):
            chosen_columns(LSTM, nothing)


def test_of_many_columns_a_refusal_lists_what_they_are_called_together():
    many = [{**LSTM[1], "id": f"f{n}", "kind": f"f{n}", "layer": n} for n in range(1, MANY + 2)]
    with pytest.raises(RnnlensError, match=f"no kind 'q9'; it has {MANY + 1} columns; give ") as no:
        chosen_columns(many, "f,q9")
    assert "layer41, f, or one, such as f41" in str(no.value)
    assert "f7," not in str(no.value)
