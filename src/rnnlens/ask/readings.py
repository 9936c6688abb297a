"""What is read of rows of a text or of lines of two: labels that are followed, and turns."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rnnlens.ask import follow, turns
from rnnlens.ask.follow import Sides, rounded
from rnnlens.reading.blocks import by_lines
from rnnlens.reading.pairing import Pairing
from rnnlens.reading.payload import Column, edges_of
from rnnlens.reading.rows import Request
from rnnlens.reading.side_by_side import SideBySide
from rnnlens.reading.source import Edits, GridSource

_Rows = Callable[[GridSource, Request, int, int], list[Any]]


def following(
    lens: SideBySide,
    text: str,
    semantic: str | None,
    labels: Sequence[str],
    against: Sequence[str] = (),
    first: int = 0,
    limit: int | None = None,
    edits: Edits = (),
    beside: SideBySide | None = None,
) -> Iterator[tuple[dict[str, Any], bool]]:
    """How probable labels are in rows or lines, a few at a time, and whether there are more."""
    asked = _asked(lens, text, semantic, edits, beside)
    chosen = (asked.asked[0] if isinstance(asked, Pairing) else asked).semantic
    sides: dict[GridSource, Sides] = {
        one: Sides.of(labels, against, one.answers(chosen).names) for one in (lens, beside or lens)
    }

    def each(one: GridSource, request: Request, start: int, end: int) -> list[Any]:
        values = follow.follow(one, request, sides[one], start, end)
        ids = [column.id for column in one.columns_for(chosen)]
        shown = [ids.index(column.id) for column in _columns(asked, one)]
        return rounded(values[:, shown], bool(against))

    head = {"labels": list(sides[lens].labels), "against": list(sides[lens].against)}
    for rows, start, more in _parts(lens, asked, first, limit, follow.STEP, each):
        yield {**head, "from": start, "rows": [row or [] for row in rows]}, more


def turning(
    lens: SideBySide,
    text: str,
    semantic: str | None,
    first: int = 0,
    limit: int | None = None,
    edits: Edits = (),
    beside: SideBySide | None = None,
) -> Iterator[tuple[dict[str, Any], bool]]:
    """Where predictions turn in rows or lines, a few at a time, and whether there are more."""
    asked = _asked(lens, text, semantic, edits, beside)
    columns = _columns(asked, lens)
    ids, edges = [column.id for column in columns], edges_of(columns)

    def each(one: GridSource, request: Request, start: int, end: int) -> list[Any]:
        rows = turns.rows_json(turns.turns_of(one, request, start, end))
        there = one.columns_for(request.semantic)
        names = [column.id for column in there]
        return [
            {
                **row,
                "edges": _chosen(row["edges"], edges_of(there), edges),
                "above": _chosen(row["above"], names, ids),
            }
            for row in rows
        ]

    gap = {"edges": [None] * len(edges), "above": [None] * len(ids), "surprisal": None}
    for rows, start, more in _parts(lens, asked, first, limit, turns.STEP, each):
        yield {"from": start, "rows": [row or gap for row in rows]}, more


def _chosen(values: Sequence[Any], names: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    """The values of what is wanted, None where there is no such."""
    at = dict(zip(names, values, strict=True))
    return [at.get(name) for name in wanted]


def _columns(asked: Pairing | Request, lens: GridSource) -> Sequence[Column]:
    """Those that the grid has: of two readings, the ones that both have."""
    if isinstance(asked, Pairing):
        return asked.common.columns
    return lens.columns_for(asked.semantic)


def _asked(
    lens: SideBySide, text: str, semantic: str | None, edits: Edits, beside: SideBySide | None
) -> Pairing | Request:
    """Two readings, or one."""
    pairing = lens.pairing(text, beside, semantic)
    return lens.request(text, semantic, None, edits) if pairing is None else pairing


def _parts(
    lens: SideBySide,
    asked: Pairing | Request,
    first: int,
    limit: int | None,
    size: int,
    each: _Rows,
) -> Iterator[tuple[list[Any], int, bool]]:
    """A few rows or lines at a time, the number of the first, and whether there are more."""
    count = len(asked.lines) if isinstance(asked, Pairing) else len(asked.ids)
    last = min(count, first + limit) if limit else count
    for start in range(first, max(last, first + 1), size):
        end = max(start, min(start + size, last))
        if end == start:
            yield [], start, False
        elif isinstance(asked, Pairing):
            yield by_lines(asked, start, end, each), start, end < last
        else:
            yield each(lens, asked, start, end), start, end < last
