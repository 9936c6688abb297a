"""The states of two readings and how far apart they are, some rows or lines at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from rnnlens.base.threads import one_thread
from rnnlens.labels.colours import OTHER
from rnnlens.reading.alignment import Beside
from rnnlens.reading.divergence import Difference
from rnnlens.reading.encoding import Encodings, encode
from rnnlens.reading.pairing import Line, Pairing
from rnnlens.reading.payload import Column, changes_json, labels_json, row_json, states_json
from rnnlens.reading.rows import Place, Request, wanted_labels
from rnnlens.reading.source import GridSource

_PIECE = 40  # pairs of states at once: their distributions stay in the processor's cache
_GAP = {  # no word was read, so that no state says anything
    "colour": "#ffffff", "group": OTHER, "share": 0.0, "entropy": 0.0, "top": [], "wanted": None,
    "unread": True, "number": None,
}  # fmt: skip
Row = TypeVar("Row")


@dataclass(frozen=True)
class _Said:
    """What the states of some rows of one reading say of every label."""

    lens: GridSource
    asked: Request
    places: list[Place]
    logits: Tensor  # (N, V)

    @classmethod
    def of(cls, pairing: Pairing, side: int, span: tuple[int, int]) -> "_Said":
        lens, asked = pairing.lenses[side], pairing.asked[side]
        parts = lens.rows.each(asked, *span, lambda _, logits: logits)
        return cls(lens, asked, lens.rows.places(asked, *span), torch.cat(parts))

    def numbers(self, columns: Sequence[Column], rows: Sequence[int]) -> Tensor:
        """Where the logits of some rows are, row by row and column by column."""
        at = {place: k for k, place in enumerate(self.places)}
        return torch.tensor([at[c.kind.id, row - c.back] for row in rows for c in columns])

    def drawn(self) -> tuple[dict[Place, dict[str, Any]], dict[str, str]]:
        """What is drawn of each state, and the groups of the labels that they name."""
        palette = self.lens.palettes_for(self.asked.semantic)[self.asked.palette]
        labels = self.asked.answers.names
        wanted = wanted_labels(self.asked, self.places)

        def work(start: int) -> Encodings:
            with one_thread(), torch.inference_mode():  # neither carries over to other threads
                end = start + _PIECE
                return encode(self.logits[start:end], palette, wanted[start:end])

        made = Encodings.join(
            list(self.lens.rows.parallel(work, range(0, len(self.places), _PIECE)))
        )
        states = states_json(made, wanted, labels, palette)
        named = labels_json(made, wanted, labels, palette)
        return dict(zip(self.places, states, strict=True)), named


@torch.inference_mode()
def block(pairing: Pairing, first: int, last: int) -> dict[str, Any]:
    """The lines first..last-1: their states, the labels these name, and of lines of the second text
    how far each state lies from the one beside it.
    """
    lines, columns = pairing.lines[first:last], pairing.common.columns
    said = [_Said.of(pairing, k, span) if (span := _span(lines, k)) else None for k in (0, 1)]
    drawn = [one.drawn() if one else ({}, {}) for one in said]
    pairs = [line.rows for line in lines if line.side == "second"]
    at = dict(zip(*_changes(pairing, said, pairs), strict=True))
    rows = [
        [_GAP] * len(columns)
        if line.row is None
        else row_json(drawn[line.number][0], columns, line.row)
        for line in lines
    ]
    return {
        "labels": drawn[1][1] | drawn[0][1],
        "changes": [at.get(line.rows, []) if line.side == "second" else [] for line in lines],
        "rows": rows,
    }


@torch.inference_mode()
def differences(pairing: Pairing, first: int, last: int) -> tuple[list[Beside], Difference | None]:
    """Which of the pairs of rows first..last-1 are no gaps, and how far apart their states are, row
    by row and column by column.
    """
    lines = [Line("second", rows) for rows in pairing.beside[first:last]]
    said = [_Said.of(pairing, k, span) if (span := _span(lines, k)) else None for k in (0, 1)]
    return _differences(pairing, said, [line.rows for line in lines])


def by_lines(
    pairing: Pairing,
    first: int,
    last: int,
    each: Callable[[GridSource, Request, int, int], Sequence[Row]],
) -> list[Row | None]:
    """What `each` says of rows of both readings, in the order of the lines; None for gaps."""
    lines = pairing.lines[first:last]
    found: list[dict[int, Row]] = [{}, {}]
    for side in (0, 1):
        if span := _span(lines, side):
            rows = each(pairing.lenses[side], pairing.asked[side], *span)
            found[side] = dict(zip(range(*span), rows, strict=True))
    return [None if line.row is None else found[line.number][line.row] for line in lines]


def _span(lines: Sequence[Line], side: int) -> tuple[int, int] | None:
    """From which to which row one of the texts is wanted for these lines."""
    rows = [line.rows[side] for line in lines if not (side and line.side == "both")]
    there = [row for row in rows if row is not None]
    return (min(there), max(there) + 1) if there else None


def _changes(
    pairing: Pairing, said: Sequence[_Said | None], pairs: Sequence[Beside]
) -> tuple[list[Beside], list[list[dict[str, Any]]]]:
    """The pairs of rows that are no gaps, and of each a change for every column."""
    whole, apart = _differences(pairing, said, pairs)
    sent = changes_json(apart, pairing.common.answers.names) if apart else []
    width = len(pairing.common.columns)
    return whole, [sent[k : k + width] for k in range(0, len(sent), width)]


def _differences(
    pairing: Pairing, said: Sequence[_Said | None], pairs: Sequence[Beside]
) -> tuple[list[Beside], Difference | None]:
    first, second = said
    rows = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not rows or first is None or second is None:
        return [], None
    columns, common = pairing.common.columns, pairing.common
    numbers = [one.numbers(columns, [pair[k] for pair in rows])
               for k, one in enumerate((first, second))]  # fmt: skip

    def work(piece: tuple[Tensor, Tensor]) -> Difference:
        with one_thread(), torch.inference_mode():
            before, after = first.logits[piece[0]], second.logits[piece[1]]
            return common.difference(after, before)

    pieces = zip(*(some.split(_PIECE) for some in numbers), strict=True)
    parts = list(pairing.lenses[0].rows.parallel(work, pieces))
    return list(rows), Difference.join(parts)
