"""Rows at hand: the last one is not computed again when a word is added."""

from typing import Any

import pytest
import torch
from tests.asks import grid_json, grid_parts
from tests.models import fresh

from rnnlens.lens.lens import Lens
from rnnlens.reading import rows
from rnnlens.reading.encoding import encode
from rnnlens.reading.subject import RecentRows, Subject


@pytest.fixture
def lens(formula):
    return Lens(Subject("fresh", fresh(formula), formula.palettes, formula.subject.probes))


def computed(lens, text, **options):
    """How many rows a grid takes."""
    before = lens.subject.recent.computed
    grid_json(lens, text, **options)
    return lens.subject.recent.computed - before


def test_a_word_more_computes_a_row_more(lens):
    assert computed(lens, "the dog") == 2
    assert computed(lens, "the dog sees", previous="the dog", have=2) == 1
    assert (
        computed(lens, "the dog said", previous="the dog sees", have=3) == 1
    )  # the row of dog is at hand
    assert computed(lens, "the bird", previous="the dog", have=2) == 2


def test_rows_of_another_semantic_or_palette_are_others(lens):
    grid_json(lens, "the dog")
    assert computed(lens, "the dog sees", previous="the dog", have=2, semantic="input") == 2
    assert computed(lens, "the dog sees", previous="the dog", have=2, palette="universal") == 2
    assert computed(lens, "the dog said", previous="the dog", have=2) == 1


def test_a_row_at_hand_is_asked_about_the_new_word(lens, formula):
    grid_json(lens, "the dog")
    part = grid_json(lens, "the dog sees", previous="the dog", have=2)
    formula.subject.forget()
    whole = grid_json(formula, "the dog sees")
    assert part["from"] == 1
    for ours, theirs in zip(part["rows"][0], whole["rows"][1], strict=True):
        assert [label for label, _ in ours["top"]] == [label for label, _ in theirs["top"]]
        assert [p for _, p in ours["top"]] == pytest.approx([p for _, p in theirs["top"]], rel=1e-4)
        assert (ours["wanted"] and ours["wanted"][0]) == (theirs["wanted"] and theirs["wanted"][0])
        if ours["wanted"]:
            assert ours["wanted"][1:] == pytest.approx(theirs["wanted"][1:], rel=1e-4)


def test_rows_that_are_typed_one_by_one_are_those_of_the_whole_text(lens, formula):
    words, rows, read = "the old dog sees a bird .".split(), list[Any](), ""
    for count in range(1, len(words) + 1):
        text = " ".join(words[:count])
        part = grid_json(lens, text, previous=read, have=count - 1)
        rows, read = rows[: part["from"]] + part["rows"], text
    assert lens.subject.recent.computed == len(words)
    formula.subject.forget()
    for ours, theirs in zip(rows, grid_json(formula, read)["rows"], strict=True):
        assert [state["unread"] for state in ours] == [state["unread"] for state in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert [label for label, _ in one["top"]] == [label for label, _ in other["top"]]
            assert one["entropy"] == pytest.approx(other["entropy"], rel=1e-4)
            assert (one["wanted"] or ())[:1] == (other["wanted"] or ())[:1]
            assert (one["wanted"] or ())[1:] == pytest.approx((other["wanted"] or ())[1:], rel=1e-4)


def test_states_of_columns_that_nobody_wants_are_not_computed(lens, formula, monkeypatch):
    whole, counts = grid_json(formula, "the old dog sees"), []

    def counted(logits, *more, **named):
        counts.append(len(logits))
        return encode(logits, *more, **named)

    monkeypatch.setattr(rows, "encode", counted)
    wanted, held = ["c1@-1", "h2", "y", "nothing"], list[Any]()
    for text, have in (("the old dog", 0), ("the old dog sees", 3)):
        ((part, _),) = grid_parts(lens, text, previous="the old dog", have=have, columns=wanted)
        held = held[: part["from"]] + part["rows"]
    assert counts == [3 * 3 + 1, 3]  # of c1, h2 and y, and c1 before the first row
    ids = [column["id"] for column in whole["columns"]]
    for ours, theirs in zip(held, whole["rows"], strict=True):
        there = [k for k, state in enumerate(ours) if state]
        assert [ids[k] for k in there] == ["c1@-1", "h2", "y"]
        for k in there:
            assert ours[k]["top"][0][0] == theirs[k]["top"][0][0]
            assert ours[k]["entropy"] == pytest.approx(theirs[k]["entropy"], rel=1e-4)
            assert (ours[k]["wanted"] or ())[:1] == (theirs[k]["wanted"] or ())[:1]
    for some in (["nothing"], []):
        assert all(next(grid_parts(lens, "the", columns=some))[0]["rows"][0])
    for one, states in (("y", 1), ("c1", 1), ("c1@-1", 2)):  # c1 and the one before the first row
        counts.clear()
        (only,) = next(grid_parts(lens, "a", columns=[one]))[0]["rows"]
        assert [ids[k] for k, state in enumerate(only) if state] == [one]
        assert counts == [states]


def test_what_is_at_hand_is_bounded(lens):
    lens.subject.recent = RecentRows(2)
    for text in ("the", "the dog", "a", "a dog"):
        grid_json(lens, text)
        assert len(lens.subject.recent) <= 2
    assert computed(lens, "a dog sees", previous="a dog", have=2) == 1
    assert computed(lens, "the dog sees", previous="the dog", have=2) == 2
    lens.subject.recent = RecentRows(0)
    assert computed(lens, "the dog") == 2
    assert computed(lens, "the dog sees", previous="the dog", have=2) == 2


def test_torch_shares_none_of_it_among_its_own_threads(lens, monkeypatch):
    before, seen = torch.get_num_threads(), []

    def noting(*given, **named):
        seen.append(torch.get_num_threads())
        return encode(*given, **named)

    monkeypatch.setattr(rows, "encode", noting)
    torch.set_num_threads(2)
    try:
        grid_json(lens, "the dog sees .")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}
