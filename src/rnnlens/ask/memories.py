"""Memories in all rows of a grid: what each is without a probe, and what it would answer if a word
came next.
"""

from dataclasses import dataclass

from pydantic.dataclasses import dataclass as question

from rnnlens.ask.asked import MemoryTold, told_of_rows
from rnnlens.ask.grids import Steps
from rnnlens.ask.json_types import Count
from rnnlens.ask.questions import STRICT, Name, OfRows, Subjects, given
from rnnlens.base.schema import sent, to_json
from rnnlens.reading.lines import Lines
from rnnlens.reading.reading import Reading


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
