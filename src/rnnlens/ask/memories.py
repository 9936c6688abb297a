"""Memories in all rows of a grid: what each is without a probe, and what it would answer if a word
came next.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic.dataclasses import dataclass as question

from rnnlens.ask.asked import MemoryTold, told_of_rows
from rnnlens.ask.grids import Steps, drawn_columns
from rnnlens.ask.json_types import Count
from rnnlens.ask.questions import STRICT, Name, OfRows, Subjects, given
from rnnlens.base.errors import RnnlensError
from rnnlens.base.schema import sent, to_json
from rnnlens.draw.cells import Cell, cells_name, with_shares
from rnnlens.draw.look import Look
from rnnlens.reading.lines import Lines
from rnnlens.reading.reading import Reading

_NAMED = 3  # memories that a message names


@question(frozen=True, kw_only=True, config=STRICT)
class MemoriesQuestion(OfRows):
    """Memories in some rows of a text's grid; without `columns`, all that are matrices."""

    word: Name | None = given(None, "that comes next, by whose question they are asked")


@dataclass(frozen=True, eq=False)
class MemoriesTold:
    """What memories are in rows of a grid."""

    columns: tuple[str, ...]
    rows: list[list[MemoryTold | None]] = sent("of each column; null: there is none in this row")
    first: Count = sent("rows[0] is this row of the grid", name="from", default=0)


def memories_steps(subjects: Subjects, asked: MemoriesQuestion) -> Steps:
    """What memories are in rows or lines, a few at a time."""
    lines = subjects.read(asked)
    columns = _matrices(lines) if asked.columns is None else asked.columns

    def each(reading: Reading, first: int, last: int) -> list[list[MemoryTold | None]]:
        told = [column_told(reading, one, range(first, last), asked.word) for one in columns]
        return [[one[k] for one in told] for k in range(last - first)]

    for first, last, more in lines.spans(asked.first, asked.limit):
        rows = [row or [None] * len(columns) for row in lines.by_line(first, last, each)]
        yield to_json(MemoriesTold(tuple(columns), rows, first)), more


def with_cells(grid: dict[str, Any], lines: Lines, look: Look) -> dict[str, Any]:
    """A grid to be drawn with what the cells of memories are to show, as a look has it; rows are
    those that the grid has.
    """
    name = cells_name(look.memories, look.asked)
    if not name:
        return grid
    drawn, matrices = drawn_columns(lines, look.kinds), _matrices(lines)
    columns = [one for one in drawn if one in matrices]
    if not columns:
        now = {one.id for one in lines.columns if not one.back}
        some = ",".join([one for one in matrices if one in now][:_NAMED])
        known = f"draw them, kinds={some} or others" if some else "the network has none"
        raise RnnlensError(
            f"cells cannot show {name}: no memory that is a matrix is drawn; {known}"
        )
    first = grid.get("from", 0)
    last = first + len(grid["rows"])

    def each(reading: Reading, first: int, last: int) -> list[list[MemoryTold | None]]:
        told = [column_told(reading, one, range(first, last), look.asked) for one in columns]
        return [[one[k] for one in told] for k in range(last - first)]

    rows = [row or [None] * len(columns) for row in lines.by_line(first, last, each)]
    cells = dict[str, Sequence[Cell | None]]()
    for k, column in enumerate(columns):
        told = [row[k] for row in rows]
        cells[column] = (
            [_answer(one) for one in told]
            if look.asked
            else with_shares([_number(one, str(look.memories)) if one else None for one in told])
        )
    every = [[cells[one["id"]][row] if one["id"] in cells else None for one in grid["columns"]]
             for row in range(len(rows))]  # fmt: skip
    reading = lines.shown[0]
    names, palette = reading.answers.names, reading.palette
    named = {
        label for some in cells.values() for one in some if one for label, _ in one.get("top", ())
    }
    groups = {label: palette.groups[palette.group_of[names.index(label)]] for label in named}
    shown = {"name": name, "asked": bool(look.asked), "columns": columns, "rows": every}
    return {**grid, "labels": {**grid["labels"], **groups}, "cells": shown}


def _answer(told: MemoryTold | None) -> Cell | None:
    return {"top": list(told.asked.labels)} if told and told.asked else None


def _number(told: MemoryTold, which: str) -> float | None:
    """One number of all heads: the length of all, the mean of their ranks, the median half-life."""
    if which == "norm":
        return math.hypot(*told.norm)
    if which == "rank":
        return sum(told.rank) / len(told.rank) if told.rank else None
    return told.half_life[1] if told.half_life else None


def _matrices(lines: Lines) -> tuple[str, ...]:
    """The columns of memories that are matrices in every reading."""
    models = [one.subject.model for one in lines.shown]
    return tuple(
        one.id for one in lines.columns if all(one.kind.id in model.matrices for model in models)
    )


def column_told(
    reading: Reading, column: str, rows: range, word: str | None = None
) -> list[MemoryTold | None]:
    """What a memory is in some rows; None where a row has no state of it. What was before the first
    word is asked nothing: there is no word yet behind which another could stand.
    """
    place = reading.place(column, rows[-1])
    there = [row for row in rows if reading.shows(place, row)]
    early = [row for row in there if row < place.back]
    found: dict[int, MemoryTold] = {}
    for some, asked in ((early, None), (there[len(early) :], word)):
        if some:
            span = range(some[0], some[-1] + 1)
            found |= zip(span, told_of_rows(reading, column, span, asked), strict=True)
    return [found.get(row) for row in rows]
