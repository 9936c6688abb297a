"""What is read of rows of a text or of lines of two: labels that are followed, and turns."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rnnlens.view import follow, turns
from rnnlens.view.follow import Sides, rounded
from rnnlens.view.pair.blocks import by_lines
from rnnlens.view.pair.pairing import Pairing
from rnnlens.view.pair.source import SideBySide
from rnnlens.view.rows import Request
from rnnlens.view.source import Edits, GridSource

_Rows = Callable[[GridSource, Request, int, int], list[Any]]
_NOTHING: dict[str, Any] = {"edges": [], "above": [], "surprisal": None}  # the turns of a gap


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
    sides: dict[GridSource, Sides] = {
        one: Sides.of(labels, against, one.labels) for one in (lens, beside or lens)
    }

    def each(one: GridSource, asked: Request, start: int, end: int) -> list[Any]:
        return rounded(follow.follow(one, asked, sides[one], start, end), bool(against))

    head = {"labels": list(sides[lens].labels), "against": list(sides[lens].against)}
    asked = _asked(lens, text, semantic, edits, beside)
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

    def each(one: GridSource, asked: Request, start: int, end: int) -> list[Any]:
        return turns.rows_json(turns.turns_of(one, asked, start, end))

    asked = _asked(lens, text, semantic, edits, beside)
    for rows, start, more in _parts(lens, asked, first, limit, turns.STEP, each):
        yield {"from": start, "rows": [row or _NOTHING for row in rows]}, more


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
