"""Where predictions turn: how far each state lies from those that feed it and from the row above,
and how surprising the words were that came.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import torch
from pydantic.dataclasses import dataclass as question
from torch import Tensor
from typing_extensions import TypedDict

from rnnlens.ask.grids import Steps, edge_names, showing
from rnnlens.ask.json_types import Bits, Count, DivergenceBits, about, whole
from rnnlens.ask.questions import STRICT, OfRows, Subjects
from rnnlens.ask.results import Values
from rnnlens.base.rules import count
from rnnlens.base.schema import sent, to_json, unsent
from rnnlens.base.tables import data_frame
from rnnlens.model.kinds import PREDICTION
from rnnlens.reading.divergence import Distributions, divergences
from rnnlens.reading.lines import Lines
from rnnlens.reading.reading import Reading
from rnnlens.reading.rows import Place, each_state, labels_that_came, places_of
from rnnlens.reading.subject import edges_of

if TYPE_CHECKING:
    import pandas as pd

_Pair = tuple[Place, Place]
_ROWS = 4  # at once: all their distributions are held, and whoever types has a turn soon
_PAIRS = 16  # compared at once: their distributions stay in the processor's cache


@question(frozen=True, kw_only=True, config=STRICT)
class TurnsQuestion(OfRows):
    """Rows of a text's grid whose turns are wanted."""


@whole
class TurnRow(TypedDict):
    """How far the states of a row lie from others; null where there is nothing to compare with."""

    edges: Annotated[list[DivergenceBits | None], about("between the ends of each edge")]
    above: Annotated[list[DivergenceBits | None], about("of each column from the row above")]
    surprisal: Annotated[Bits | None, about("of the word that came next, by y")]


class Turn(NamedTuple):
    """A divergence across an edge, or from the row above: `h2@-1` is `h2` one step back."""

    source: str
    target: str
    step: int
    word: str
    bits: float


@dataclass(frozen=True, eq=False)
class Turns:
    """How far every state of a grid lies from those that feed it and from the row above, in bits.

    `edges` are pairs of kinds, the one feeding the other, `kinds` those of the grid. `rows` has
    for each word what there is across each edge and above each kind, and the surprisal of the word
    that came after it by the model's own prediction; None where there is nothing to compare with.
    `across`, `above` and `surprisal` are the same numbers as arrays, with NaN for None.
    """

    words: tuple[str, ...] = unsent()
    kinds: tuple[str, ...] = unsent()
    edges: tuple[tuple[str, str], ...] = unsent()
    rows: list[TurnRow] = sent(write=lambda rows: [_rounded(row) for row in rows])
    first: Count = sent("rows[0] is this row of the grid", name="from", default=0)

    @property
    def across(self) -> Values:
        """The divergence across each edge, (T, E)."""
        return np.array([row["edges"] for row in self.rows], np.float64).reshape(
            len(self.rows), len(self.edges)
        )

    @property
    def above(self) -> Values:
        """The divergence of each kind from the row above, (T, K)."""
        return np.array([row["above"] for row in self.rows], np.float64).reshape(
            len(self.rows), len(self.kinds)
        )

    @property
    def surprisal(self) -> Values:
        """Of the word that came after each, (T,)."""
        return np.array([row["surprisal"] for row in self.rows], np.float64)

    def ranked(self, count: int | None = None) -> list[Turn]:
        """The divergences across edges, largest first."""
        turns = [
            Turn(*edge, step, word, bits)
            for step, (word, row) in enumerate(zip(self.words, self.rows, strict=True))
            for edge, bits in zip(self.edges, row["edges"], strict=True)
            if bits is not None
        ]
        return sorted(turns, key=lambda turn: -turn.bits)[:count]

    def mean(self) -> list[tuple[str, str, float]]:
        """Every edge with its mean divergence over the text, largest first."""
        across = self.across
        known = ~np.isnan(across)
        means = np.where(known, across, 0).sum(0) / np.maximum(known.sum(0), 1)
        order = np.argsort(-means, kind="stable").tolist()
        return [(*self.edges[k], float(means[k])) for k in order if known[:, k].any()]

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every edge at every step: step, word, source, target, bits."""
        return data_frame(
            turn._asdict() for turn in sorted(self.ranked(), key=lambda turn: turn.step)
        )

    def __repr__(self) -> str:
        lines = [f"turns of {len(self.words)} words across {len(self.edges)} edges; the largest:"]
        lines += [
            f"  {turn.bits:.2f} bits  {turn.source} to {turn.target} after {turn.word!r}"
            for turn in self.ranked(10)
        ]
        return "\n".join(lines)


def _rounded(row: TurnRow) -> dict[str, Any]:
    def short(bits: float | None) -> float | None:
        return None if bits is None else round(bits, count("bits_decimals"))

    return {
        "edges": [short(bits) for bits in row["edges"]],
        "above": [short(bits) for bits in row["above"]],
        "surprisal": short(row["surprisal"]),
    }


def turn_steps(subjects: Subjects, asked: TurnsQuestion) -> Steps:
    """Where predictions turn in rows or lines, a few at a time."""
    lines = showing(subjects.read(asked), asked.columns)
    for part, more in _parts(lines, lines.spans(asked.first, asked.limit, _ROWS)):
        yield to_json(part), more


def all_turns(lines: Lines) -> Turns:
    """Where predictions turn, in every row or line."""
    parts = [part for part, _ in _parts(lines, lines.spans(size=_ROWS))]
    rows = [row for part in parts for row in part.rows]
    return replace(parts[0], words=tuple(lines.words), rows=rows)


def _parts(lines: Lines, spans: Iterator[tuple[int, int, bool]]) -> Iterator[tuple[Turns, bool]]:
    ids = tuple(column.id for column in lines.columns)
    edges = tuple(edge_names(lines.columns))
    gap: TurnRow = {
        "edges": [None] * len(edges), "above": [None] * len(ids), "surprisal": None,
    }  # fmt: skip

    def each(reading: Reading, first: int, last: int) -> list[TurnRow]:
        there = [column.id for column in reading.columns]
        named = edge_names(reading.columns)
        return [
            {
                "edges": _chosen(row["edges"], named, edges),
                "above": _chosen(row["above"], there, ids),
                "surprisal": row["surprisal"],
            }
            for row in _turns(reading, first, last)
        ]

    words = lines.words
    for first, last, more in spans:
        rows = [row or gap for row in lines.by_line(first, last, each)]
        yield Turns(tuple(words[first:last]), ids, edges, rows, first), more


def _chosen(values: Sequence[Any], names: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    """The values of what is wanted, None where there is no such."""
    at = dict(zip(names, values, strict=True))
    return [at.get(name) for name in wanted]


def _turns(reading: Reading, first: int, last: int) -> list[TurnRow]:
    """The turns of the rows first..last-1 of a text."""
    columns, length = reading.columns, len(reading.ids)
    fed = edges_of(columns)
    ahead = any(back < 0 for _, back, _ in fed)
    begin, end = max(0, first - 2), min(length, last + 1) if ahead else last
    states = _States(reading, begin, end)
    steps = range(first, last)

    def there(place: Place) -> bool:
        return place in states.number and place[1] in reading.rows_of(place[0], 0, length)

    def pair(a: Place, b: Place) -> _Pair | None:
        return (a, b) if there(a) and there(b) else None

    edges = [[pair((source, t - back), (target, t)) for source, back, target in fed] for t in steps]
    above = [
        [pair((c.kind.id, t - c.back - 1), (c.kind.id, t - c.back)) for c in columns] for t in steps
    ]
    own = columns[-1].kind.id
    came = labels_that_came(reading, [(PREDICTION, t) for t in steps]).tolist()
    bits = states.divergences({p for row in (*edges, *above) for p in row if p})
    return [
        {
            "edges": [bits[p] if p else None for p in edges[k]],
            "above": [bits[p] if p else None for p in above[k]],
            "surprisal": None
            if came[k] < 0 or own != PREDICTION or not there((own, t))
            else states.surprisal((own, t), came[k]),
        }
        for k, t in enumerate(steps)
    ]


class _States:
    """What the states of some rows predict, all at once, in double precision."""

    def __init__(self, reading: Reading, first: int, last: int) -> None:
        self.parallel = reading.subject.parallel
        self.number = {place: k for k, place in enumerate(places_of(reading, first, last))}
        pooled = reading.answers.pooled

        def work(_: int, logits: Tensor) -> Distributions:
            return Distributions.of(pooled(logits).double())

        parts = each_state(reading, first, last, work)
        self.distributions = Distributions(*(torch.cat(some) for some in zip(*parts, strict=True)))

    def surprisal(self, place: Place, label: int) -> float:
        """How many bits a label is worth to a state."""
        return -math.log2(max(float(self.distributions.p[self.number[place], label]), 5e-324))

    def divergences(self, pairs: set[_Pair]) -> dict[_Pair, float]:
        """The divergence of each pair, in bits."""
        ordered = sorted(pairs)
        chunks = [ordered[k : k + _PAIRS] for k in range(0, len(ordered), _PAIRS)]
        bits = [each for part in self.parallel(self._compared, chunks) for each in part]
        return dict(zip(ordered, bits, strict=True))

    def _compared(self, pairs: Sequence[_Pair]) -> list[float]:
        a, b = (
            self.distributions.of_rows([self.number[ends[k]] for ends in pairs]) for k in (0, 1)
        )
        bits: list[float] = divergences(a, b).tolist()
        return bits
