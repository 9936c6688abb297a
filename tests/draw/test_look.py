"""One Look: what `rnnlens show` is told, what figures are drawn with, what files are refused by."""

import argparse
from dataclasses import fields

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.cli import show_command
from rnnlens.draw.look import Look, changed_look, joins


def test_every_field_is_a_flag_of_show_with_the_same_default():
    parser = argparse.ArgumentParser()
    show_command.add_to(parser.add_subparsers())
    args = parser.parse_args(["show", "english-news", "we"])
    assert Look(**{one.name: getattr(args, one.name) for one in fields(Look)}) == Look()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bars": 0}, "0 bars: give a number from 1 to 20"),
        ({"density": "dense"}, "no density is called 'dense'; give bars or compact"),
        ({"colour": "red"}, "a look has no field 'colour'; it has kinds, rows, bars"),
    ],
)
def test_what_means_nothing_is_refused(changes, message):
    with pytest.raises(RnnlensError, match=message):
        changed_look(None, changes)


def test_fields_are_changed_one_by_one():
    assert changed_look(Look(bars=2), {"density": "compact"}) == Look(bars=2, density="compact")
    with pytest.raises(RnnlensError, match=r"a width of 0\.5: give 1 to 100 inches"):
        Look(width=0.5).check_width()


def test_brackets_of_pieces_go_past_the_rows_of_the_other_text():
    rows = [
        ("both", 0, "first"), ("both", 1, "last"), ("both", 2, "first"), ("first", 3, "inner"),
        ("second", 3, "last"), ("first", 4, "last"), ("second", None, ""), ("second", 4, "mark"),
    ]  # fmt: skip
    grid = {
        "lines": [{"side": side, "row": row} for side, row, _ in rows],
        "words": [{"piece": piece} for *_, piece in rows],
    }
    wanted = [
        ("first", ""), ("last", ""), ("first", "first"), ("inner", "inner"), ("inner", "last"),
        ("last", ""), ("", ""), ("", ""),
    ]  # fmt: skip
    assert joins(grid) == wanted, "as tests/web/base/lines.test.js has it"
    assert joins({"words": grid["words"]})[3] == ("inner",)
