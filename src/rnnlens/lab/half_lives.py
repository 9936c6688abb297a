"""How long memory lasts: the half-life of every unit from its gates, and of every kind from what
can still be read of a word some words later.

A unit of an additive memory keeps, at each word, the share that its decay says; over many words
that is an exponential with the mean of the logarithm, and its half-life is the number of words
after which half is left. A kind is read by a linear map, in closed form, from its state to the
embedding of the word so many words before: how well that is told, as a correlation on texts held
out, falls with the distance, and its half-life is that of the exponential through it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats
from rnnlens.base.schema import rounded, sent, to_json
from rnnlens.base.tables import csv_text
from rnnlens.lab.prefixes import Reader
from rnnlens.model.kinds import EMBEDDING
from rnnlens.model.transition import LARGEST

HORIZON = 8  # words back that kinds are asked about
LEAST_WORDS = 200
MOST_TEXTS = 2_000
FIRST = -1  # in the place of a distance: from the last word back to the first
LEAST_ROWS = 50  # words, or texts' ends, in each half, of which a correlation is told
_TEXTS = 50  # that are read before what they tell is added up
_RIDGE = 1e-3  # of the mean variance
_STILL = 1e-9  # share of the mean square of embeddings that is rounding
_NOISE = 0.02  # correlation below which nothing is told
_number = rounded(4)


@dataclass(frozen=True)
class UnitLives:
    """The half-lives of the units of a memory, in words; one that loses nothing is told as about
    7e8, the most there is.
    """

    kind: str
    median: float = sent(write=_number)
    low: float = sent(write=_number)  #: A tenth of the units have less.
    high: float = sent(write=_number)  #: A tenth have more.
    units: tuple[float, ...] = sent(write=_number, default=())


@dataclass(frozen=True)
class KindLife:
    """How well a kind's state tells the word so many words before."""

    kind: str
    half_life: float | None = sent(write=_number)  #: Words; None: it tells too little to say.
    #: From the word itself backwards; None: too few words are so far from their text's first.
    told: tuple[float | None, ...] = sent(write=_number, default=())
    #: How well a text's first word at its end; None: too few texts.
    first: float | None = sent(write=_number, default=None)


@dataclass(frozen=True)
class HalfLives:
    """How long memory lasts."""

    words: int  #: That were read.
    texts: int  #: In so many texts.
    memories: tuple[UnitLives, ...]
    kinds: tuple[KindLife, ...]
    rows: int = 0  #: Words that kinds are measured on, those of every other text.
    ends: int = 0  #: Texts that first words are measured on.
    left_out: tuple[str, ...] = ()  #: Kinds that are too large for a linear map.

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON."""
        found: dict[str, Any] = to_json(self)
        return found

    def to_csv(self) -> str:
        """A line for each kind."""
        lives = {one.kind: one.median for one in self.memories}
        rows = [[one.kind, one.half_life, lives.get(one.kind), one.first, *one.told]
                for one in self.kinds]  # fmt: skip
        heads = [f"told {back} back" for back in range(len(self.kinds[0].told))]
        return csv_text(["kind", "half_life", "units_median", "first_word", *heads], rows)


def half_lives(
    reader: Reader,
    texts: Sequence[Sequence[int]],
    horizon: int = HORIZON,
    advance: Callable[[int], object] = int,
) -> HalfLives:
    """How long every memory's units and every kind hold what they have read."""
    model = reader.model
    words = sum(map(len, texts))
    if words < LEAST_WORDS:
        raise RnnlensError(f"{words} words are too few to tell how long memory lasts; give "
                           f"{LEAST_WORDS} or more")  # fmt: skip
    if not 1 <= horizon <= 100:
        raise RnnlensError(f"horizon={horizon}: give 1 to 100 words")
    horizon = min(horizon, max(map(len, texts)) - 1)
    asked = [kind for kind, matrix in model.matrices.items() if matrix.numbers > LARGEST]
    large = dict.fromkeys([*model.unprobed, *asked])
    kinds = [kind.id for kind in model.kinds if kind.id not in large]
    memories_of = {kind: kind.memory for kind in model.kinds if kind.memory}
    logs = {kind: _Mean() for kind in memories_of}
    # To learn from, and to measure on: by kind, all distances at once, and from the last word back.
    halves: list[dict[tuple[str, int], _Told]] = [{}, {}]
    used = [ids for ids in texts if ids]
    decays = [memory.decay for memory in memories_of.values()]
    needed = dict.fromkeys([*kinds, *decays, EMBEDDING.id])
    for at in range(0, len(used), _TEXTS):
        some = used[at : at + _TEXTS]
        states = _read(reader, some, list(needed))
        where = states[EMBEDDING.id].device
        places = torch.cat([torch.arange(len(ids)) for ids in some]).to(where)
        for memory, mean in logs.items():
            decay = model.decay(memory, states.__getitem__)
            if decay is not None:  # at a first word there is nothing yet that could be kept
                mean.add(decay.expand(len(places), -1)[places > 0].clamp_min(1e-12).log())
        lengths = torch.tensor([len(ids) for ids in some], device=where)
        ends = lengths.cumsum(0) - 1
        number = torch.arange(at, at + len(some), device=where)
        owner = number.repeat_interleave(lengths)
        for half, sums in enumerate(halves):  # text by text
            # The same words for every distance: a memory has more in it the more it has read.
            rows = ((places >= horizon) & (owner % 2 == half)).nonzero()[:, 0]
            last = ends[number % 2 == half]
            back = torch.arange(horizon + 1, device=where)[:, None]
            before = states[EMBEDDING.id][rows - back]  # (D, N, I)
            first = states[EMBEDDING.id][last - places[last]][None]
            for kind in kinds:
                sums.setdefault((kind, 0), _Told()).add(states[kind][rows], before)
                sums.setdefault((kind, FIRST), _Told()).add(states[kind][last], first)
        advance(len(places))
    memories = [_units(kind.id, mean.value()) for kind, mean in logs.items() if mean.count]
    return HalfLives(
        words, len(used), tuple(memories), tuple(_kind(kind, halves, horizon) for kind in kinds),
        halves[1][kinds[0], 0].count, halves[1][kinds[0], FIRST].count, tuple(large),
    )  # fmt: skip


@torch.no_grad()
def _read(
    reader: Reader, texts: Sequence[Sequence[int]], kinds: Sequence[str]
) -> dict[str, Tensor]:
    """The states of kinds after every word of some texts, one after the other, (N, H)."""
    traces = [reader.model.trace(reader.batch(ids)) for ids in texts]
    joined = {kind: torch.cat([trace.states[kind][:, 0] for trace in traces]) for kind in kinds}
    # Double precision: CUDA has it, not every other device.
    return {kind: (v if v.is_cuda else v.cpu()).double() for kind, v in joined.items()}


def _units(kind: str, mean: Tensor) -> UnitLives:
    """From the mean logarithm of what stays, (H,)."""
    lives = np.log(2) / np.maximum(-mean.cpu().numpy(), 1e-9)
    low, median, high = np.quantile(lives, (0.1, 0.5, 0.9))
    return UnitLives(kind, float(median), float(low), float(high), tuple(map(float, lives)))


def _kind(kind: str, halves: Sequence[dict[tuple[str, int], "_Told"]], horizon: int) -> KindLife:
    def correlations(back: int, count: int) -> list[float | None]:
        learnt, asked = (half[kind, back] for half in halves)
        enough = min(learnt.count, asked.count) >= LEAST_ROWS
        return [*learnt.correlations(asked)] if enough else [None] * count

    told = tuple(correlations(0, horizon + 1))
    there = np.array([one or 0.0 for one in told])
    return KindLife(kind, _life(there), told, correlations(FIRST, 1)[0])


def _life(told: Floats) -> float | None:
    """The half-life of the exponential through what is told at each distance, near ones weighing
    more, since they are surer.
    """
    steps = np.flatnonzero(told > _NOISE)
    if len(steps) < 2:
        return None
    weights = told[steps] ** 2
    x, y = steps - np.average(steps, weights=weights), np.log(told[steps])
    slope = float(np.average(x * (y - np.average(y, weights=weights)), weights=weights)
                  / np.average(x * x, weights=weights))  # fmt: skip
    return float(np.log(2) / -slope) if slope < -1e-6 else None


class _Mean:
    """A mean over rows, as they come."""

    def __init__(self) -> None:
        self.total: Tensor | None = None
        self.count = 0

    def add(self, rows: Tensor) -> None:
        """Take in rows (N, H)."""
        self.total = rows.sum(0) if self.total is None else self.total + rows.sum(0)
        self.count += len(rows)

    def value(self) -> Tensor:
        """(H,)"""
        return torch.zeros(1) if self.total is None else self.total / self.count


class _Told:
    """How well states tell embeddings of several words each, from sums of their products, as they
    come.
    """

    def __init__(self) -> None:
        self.count = 0
        self.sums: list[Tensor] = []  # of states, embeddings, and their products

    def add(self, states: Tensor, words: Tensor) -> None:
        """Take in states (N, H) and the embeddings (D, N, I) that they are to tell."""
        new = [states.sum(0), words.sum(1), states.T @ states, states.T @ words,
               words.square().sum((1, 2))]  # fmt: skip
        self.sums = [a + b for a, b in zip(self.sums, new, strict=True)] if self.sums else new
        self.count += len(states)

    def _moments(self) -> tuple[Tensor, Tensor, Tensor]:
        """Covariances of states (H, H), of these with embeddings (H, D, I), and how much the
        embeddings vary (D,).
        """
        x, e, xx, xe, ee = (one / self.count for one in self.sums)
        cross = xe.movedim(0, 1) - x[:, None, None] * e
        return xx - torch.outer(x, x), cross, ee - e.square().sum(-1)

    def correlations(self, asked: "_Told") -> list[float]:
        """Of what is told of the other's embeddings by a linear map learned here, with what they
        are, over all of their numbers together; nothing is 0.
        """
        own, cross, _ = self._moments()
        ridge = _RIDGE * own.diagonal().mean().clamp_min(1e-12)
        kept = own + ridge * torch.eye(len(own)).to(own)
        weights = torch.linalg.solve(kept, cross.flatten(1))  # (H, D * I)
        there, other, spread = asked._moments()  # noqa: SLF001 - its own class
        told = (weights * (there @ weights)).unflatten(1, cross.shape[1:]).sum((0, 2))
        agreed = (weights.unflatten(1, cross.shape[1:]) * other).sum((0, 2))
        found = (agreed / (told * spread).sqrt().clamp_min(1e-30)).clamp(-1, 1)
        # Where it is always the same word, nothing has to be told.
        return torch.where(spread < _STILL * asked.sums[4] / asked.count, 0.0, found).tolist()
