"""How far apart two predictions are: the Jensen-Shannon divergence, 0 bits where they are the same
and 1 bit where they share nothing. Every divergence of rnnlens is computed here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.labels.sets import LabelSet

Floats = NDArray[np.float64]
_TINY = 1e-38  # whose logarithm is finite, and nothing times it is nothing
_NEAR = 1e-3  # bits below which rounding could tell apart what is the same


class Distributions(NamedTuple):
    """What some states predict, with the entropy of each."""

    p: Tensor  # (N, V)
    nats: Tensor  # (N,) the entropy, in double precision
    room: Tensor  # (N, V) for numbers, whatever they were

    @classmethod
    def of(cls, logits: Tensor) -> "Distributions":
        """Of states with these logits, (N, V).

        The logarithms of probabilities are the logits less one number a row, so that none is
        taken; with the largest at 0, sums lose few digits.
        """
        room = logits - logits.amax(1, keepdim=True)
        p = room.exp()
        total = p.sum(1, keepdim=True)
        p.div_(total)
        return cls(p, total[:, 0].double().log() - torch.linalg.vecdot(p, room).double(), room)

    @classmethod
    def of_probabilities(cls, p: Tensor) -> "Distributions":
        """These distributions, (N, V), as they are."""
        return cls(p, torch.special.entr(p).sum(1).double(), torch.empty_like(p))

    def of_rows(self, rows: Sequence[int] | Tensor) -> "Distributions":
        """Some of them, copied."""
        p = self.p[rows]
        return Distributions(p, self.nats[rows], torch.empty_like(p))


def divergences(a: Distributions, b: Distributions) -> Tensor:
    """Jensen-Shannon of each pair of rows in bits, (N,); the numbers in `a` are used up."""
    twice = a.p.add_(b.p).clamp_min_(_TINY)  # their middle
    middle = math.log(2) - torch.linalg.vecdot(twice, torch.log(twice, out=a.room)).double() / 2
    return from_entropies(middle, a.nats + b.nats)


def from_entropies(middle: Tensor, both: Tensor) -> Tensor:
    """Jensen-Shannon in bits by its definition: the entropy of the middle of two distributions,
    less the mean of theirs, whose sum is `both`; in nats.
    """
    return ((middle - both / 2) / math.log(2)).clamp(0, 1)


def bits_between(after: Tensor, before: Tensor) -> Floats:
    """The divergence of each pair of states with these logits, (N, V) each."""
    return _bits(Distributions.of(after), Distributions.of(before), after, before)


def _bits(a: Distributions, b: Distributions, after: Tensor, before: Tensor) -> Floats:
    bits = divergences(a, b)
    near = bits < _NEAR
    bits[near] = bits[near].where((after[near] != before[near]).any(1), 0)
    exact: Floats = bits.numpy()
    return exact


@dataclass(frozen=True)
class Difference:
    """Of each state, how far its prediction lies from another state's, or its own before."""

    bits: Floats  # (N,) Jensen-Shannon
    label: NDArray[np.int64]  # (N,) that was the most probable
    was: Floats  # (N,) its probability before
    now: Floats  # (N,) and after

    @classmethod
    def of(cls, after: Tensor, before: Tensor, answers: LabelSet | None = None) -> "Difference":
        """Of states with these logits, (N, V) each."""
        if answers and answers.several:
            return cls._of_several(after, before, answers)
        both = Distributions.of(after), Distributions.of(before)
        label = before.argmax(1)
        now, was = (d.p.gather(1, label[:, None])[:, 0].double().numpy() for d in both)
        return cls(_bits(*both, after, before), label.numpy(), was, now)

    @classmethod
    def _of_several(cls, after: Tensor, before: Tensor, answers: LabelSet) -> "Difference":
        """Where each label holds or not by itself, the mean over the labels."""
        bits = cls.of(answers.pooled(after), answers.pooled(before)).bits
        label = before.argmax(1)
        was, now = (
            v.sigmoid().gather(1, label[:, None])[:, 0].double().numpy() for v in (before, after)
        )
        return cls(bits, label.numpy(), was, now)

    def of_states(self, chosen: Sequence[int | None]) -> "Difference":
        """Those of some states, in this order; None: there is none, and NaN bits to another."""
        numbers = np.array([at or 0 for at in chosen], np.int64)
        names = self.__dataclass_fields__
        some = Difference(**{name: getattr(self, name)[numbers] for name in names})
        some.bits[[at is None for at in chosen]] = np.nan
        return some

    @classmethod
    def join(cls, parts: Sequence["Difference"]) -> "Difference":
        """Several, one after the other."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})
