"""Where predictions turn: how far each state lies from those that feed it and from the row above,
and how surprising the words were that came.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.tables import data_frame
from rnnlens.model.kinds import PREDICTION
from rnnlens.reading.payload import Column

if TYPE_CHECKING:
    import pandas as pd

    from rnnlens.reading.rows import Place, Request
    from rnnlens.reading.source import GridSource

Values = NDArray[np.float64]
_Pair = tuple["Place", "Place"]
STEP = 4  # rows at once: all their distributions are held, and whoever types has a turn soon
_PAIRS = 16  # compared at once: their distributions stay in the processor's cache
_NOTHING = float("nan")
_TINY = 1e-300  # its logarithm is finite, and nothing times it is nothing


class Part(NamedTuple):
    """The turns of some rows, in bits; NaN where there is nothing to compare with."""

    edges: Values  # (rows, E) between the two ends of each edge of the grid
    above: Values  # (rows, K) between each column's state and the one above
    surprisal: Values  # (rows,) of the word that came after the row's, by `y`


def turns_of(lens: "GridSource", asked: "Request", first: int, last: int) -> Part:
    """The turns of the rows first..last-1 of a text."""
    columns, length = lens.columns_for(asked.semantic), len(asked.ids)
    fed = _edges(columns)
    ahead = any(back < 0 for _, back, _ in fed)
    begin, end = max(0, first - 2), min(length, last + 1) if ahead else last
    distributions = _Distributions(lens, asked, begin, end)
    steps = range(first, last)

    def pair(a: "Place", b: "Place") -> "_Pair | None":
        return (a, b) if min(a[1], b[1]) >= 0 and max(a[1], b[1]) < length else None

    edges = [[pair((source, t - back), (target, t)) for source, back, target in fed] for t in steps]
    above = [
        [pair((c.kind.id, t - c.back - 1), (c.kind.id, t - c.back)) for c in columns] for t in steps
    ]
    came = [asked.came[t + 1] if t + 1 < length else -1 for t in steps]
    own = columns[-1].kind.id
    surprisal = [
        _NOTHING if label < 0 or own != PREDICTION else distributions.surprisal((own, t), label)
        for t, label in zip(steps, came, strict=True)
    ]
    bits = distributions.divergences({p for row in (*edges, *above) for p in row if p})

    def table(rows: "list[list[_Pair | None]]") -> Values:
        values = [[bits[p] if p else _NOTHING for p in row] for row in rows]
        return np.array(values, np.float64).reshape(len(rows), len(rows[0]) if rows else 0)

    return Part(table(edges), table(above), np.array(surprisal, np.float64))


def _edges(columns: Sequence[Column]) -> list[tuple[str, int, str]]:
    """Source, timesteps back, and target of every edge, in the order of the grid's edges."""
    there = {column.kind.id for column in columns}
    return [
        (source.kind, source.back, column.kind.id)
        for column in columns
        for source in column.kind.sources
        if not column.back and source.kind in there
    ]


class _Distributions:
    """What the states of some rows predict, all at once."""

    def __init__(self, lens: "GridSource", asked: "Request", first: int, last: int) -> None:
        self.parallel = lens.rows.parallel
        places = lens.rows.places(asked, first, last)
        self.number = {place: k for k, place in enumerate(places)}
        pooled = asked.answers.pooled
        parts = lens.rows.each(asked, first, last, lambda _, logits: _prepared(pooled(logits)))
        self.log, self.p, self.entropy = (np.concatenate(some) for some in zip(*parts, strict=True))

    def surprisal(self, place: "Place", label: int) -> float:
        """How many bits a label is worth to a state."""
        return float(-self.log[self.number[place], label]) / math.log(2)

    def divergences(self, pairs: "set[_Pair]") -> "dict[_Pair, float]":
        """Jensen-Shannon of each pair, in bits."""
        ordered = sorted(pairs)
        chunks = [ordered[k : k + _PAIRS] for k in range(0, len(ordered), _PAIRS)]
        bits = [each for part in self.parallel(self._compared, chunks) for each in part]
        return dict(zip(ordered, bits, strict=True))

    def _compared(self, pairs: "Sequence[_Pair]") -> list[float]:
        a, b = ([self.number[ends[k]] for ends in pairs] for k in (0, 1))
        middle = self.p[a]
        middle += self.p[b]
        middle /= 2
        nats = _entropy(middle) - (self.entropy[a] + self.entropy[b]) / 2
        return list(np.clip(nats / math.log(2), 0, 1).tolist())


def _prepared(logits: Tensor) -> tuple[Values, Values, Values]:
    """Logarithms of the probabilities (N, V), the probabilities, and their entropy in nats."""
    log: Values = logits.double().log_softmax(1).numpy()
    p = np.exp(log)
    return log, p, -np.einsum("nv,nv->n", p, log)


def _entropy(p: Values) -> Values:
    """In nats, of each row."""
    entropy: Values = -np.einsum("nv,nv->n", p, np.log(np.maximum(p, _TINY)))
    return entropy


def turn_parts(lens: "GridSource", asked: "Request") -> list[Part]:
    """The turns of all rows, a few at a time so that memory stays bounded."""
    words = len(asked.ids)
    return [turns_of(lens, asked, k, min(k + STEP, words)) for k in range(0, words, STEP)]


def rows_json(part: Part) -> list[dict[str, Any]]:
    """Rounded, and null where there is nothing to compare with."""

    def sent(values: Values) -> list[float | None]:
        return [None if math.isnan(value) else round(value, 4) for value in values.tolist()]

    return [
        {"edges": sent(edges), "above": sent(above), "surprisal": sent(surprisal[None])[0]}
        for edges, above, surprisal in zip(*part, strict=True)
    ]


class Turn(NamedTuple):
    """A divergence across an edge, or from the row above: `h2@-1` is `h2` one step back."""

    source: str
    target: str
    step: int
    word: str
    bits: float


class Turns:
    """How far every state of a grid lies from those that feed it and from the row above, in bits.

    `edges` are pairs of kinds, the one feeding the other, `kinds` those of the grid. `across` has
    a row for each word and a column for each edge, `above` one for each kind; both hold NaN where
    there is nothing to compare with. `surprisal` is, for each word, that of the one that came
    after it by the model's own prediction.
    """

    def __init__(
        self, words: Sequence[str], kinds: Sequence[str], edges: Sequence[tuple[str, str]],
        parts: Sequence[Part],
    ) -> None:  # fmt: skip
        self.words, self.kinds = tuple(words), tuple(kinds)
        self.edges = tuple((source, target) for source, target in edges)
        empty = Part(np.empty((0, len(edges))), np.empty((0, len(kinds))), np.empty(0))
        self.across, self.above, self.surprisal = (
            np.concatenate(some) for some in zip(empty, *parts, strict=True)
        )

    def ranked(self, count: int | None = None) -> list[Turn]:
        """The divergences across edges, largest first."""
        turns = [
            Turn(source, target, step, word, float(self.across[step, k]))
            for step, word in enumerate(self.words)
            for k, (source, target) in enumerate(self.edges)
            if not math.isnan(self.across[step, k])
        ]
        return sorted(turns, key=lambda turn: -turn.bits)[:count]

    def mean(self) -> list[tuple[str, str, float]]:
        """Every edge with its mean divergence over the text, largest first."""
        known = ~np.isnan(self.across)
        sums = np.where(known, self.across, 0).sum(0)
        means = sums / np.maximum(known.sum(0), 1)
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
