"""Sets of labels, scales of numbers, and the marks that stand for words a model does not know."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le, Len

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Name, Strict
from rnnlens.base.later import Later
from rnnlens.base.rules import count, message, number, steps, text, texts

if TYPE_CHECKING:
    import torch
    import torch.nn.functional as F
    from torch import Tensor
else:  # names of labels are read by commands that compute nothing
    torch, F = Later("torch"), Later("torch.nn.functional")

NUM = text("number_word")  # any number
UNK = text("unknown_word")  # any unknown word
UNKNOWN = texts("unknown_words")  # what a model may call unknown words
BLANK = text("piece_blank")  # in front of pieces that begin a word, where models read pieces
_SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")  # <eos>, [CLS]


def is_special(label: str) -> bool:
    """Whether a label is no word, but a mark such as <eos> or [PAD]; unknown words are words."""
    return label not in UNKNOWN and _SPECIAL.fullmatch(label) is not None


MOST_LABELS = 5_000_000
BINS = 16  # of a scale: few enough for all to be shown of a state, and for a colour each
SURE = number("interval")  # the probability that an interval holds
_DEVIATIONS = number("interval_deviations")  # of a normal distribution, that hold it
_WIDTHS_END = steps("interval_steps")  # the last steps for which an interval has the same factor
MOST_BINS = 1000
_LEAST_PROBABILITY = number("least_bin")  # a probability whose logarithm is finite
_EDGE_DIGITS = range(2, 18)  # of the edges in the bins' names: as few as tell them apart
_LONGEST_EDGE = 8  # characters of an edge that is written with decimals
_EDGE_ERROR = 0.05  # of the smallest bin

_LEAST_PART = 1e-9  # of an axis, that one side of an interval has

Number = Annotated[float, Ge(-1e300), Le(1e300)]
#: What the intervals of a kind are widened by, for each group of steps; the last holds for all
#: later ones.
Widths = Annotated[tuple[Annotated[float, Ge(0), Le(1e12)], ...], Len(1, 1 + len(_WIDTHS_END))]


def step_group(steps: Tensor) -> Tensor:
    """Which group each step belongs to, from 0 on, of those whose intervals are widened alike."""
    return torch.bucketize(steps.clamp_min(0) + 1, torch.tensor(_WIDTHS_END, device=steps.device))


def width_at(widths: Sequence[float], steps: Tensor) -> Tensor:
    """What the intervals of a kind are widened by at each step."""
    known = torch.tensor(widths, dtype=torch.float64)
    return known[step_group(steps).clamp_max(len(widths) - 1)]


@dataclass(frozen=True)
class Scale(Strict):
    """An axis of numbers in bins that were about equally full in training."""

    edges: Annotated[tuple[Number, ...], Len(3, MOST_BINS + 1)]  # from the least to the largest
    middles: Annotated[tuple[Number, ...], Len(2, MOST_BINS)]  # the mean of each bin in training
    #: The deviation of the model's own numbers from the right ones; 0: it gives none.
    error: Annotated[float, Ge(0), Le(1e300)] = 0.0

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.middles) + 1:
            raise ValueError("there are not as many bins as middles")
        ends_out = self.edges[0] > self.edges[1] or self.edges[-2] > self.edges[-1]
        if ends_out or any(a >= b for a, b in pairwise(self.edges[1:-1])):
            raise ValueError("the edges of bins are not in order")

    @classmethod
    def of(cls, values: Tensor, bins: int = BINS) -> Scale:
        """The bins of training values (N,), as many as these can tell apart."""
        ordered = values.double().sort().values
        least, largest = float(ordered[0]), float(ordered[-1])
        if least == largest:
            raise RnnlensError(
                f"every target is {least:g}, so that there is nothing to ask for; give targets "
                "that differ"
            )
        places = torch.arange(1, bins) * len(ordered) // bins
        inner = [v for v in ordered[places].unique().tolist() if least < v]
        edges = (least, *(inner or [largest]), largest)
        number = torch.bucketize(
            ordered, torch.tensor(edges[1:-1], dtype=torch.float64), right=True
        )
        sums = torch.zeros(len(edges) - 1).double().index_add_(0, number, ordered)
        counts = torch.bincount(number, minlength=len(sums)).clamp_min(1)
        return cls(edges, tuple((sums / counts).tolist()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The bins by their edges; the outer ones have no end."""
        short = _short(self.edges[1:-1])
        between = [f"{a} to {b}" for a, b in pairwise(short)]
        return (f"below {short[0]}", *between, f"{short[-1]} or more")

    def bins(self, values: Tensor) -> Tensor:
        """The bin of each number."""
        edges = torch.tensor(self.edges[1:-1], dtype=torch.float64, device=values.device)
        return torch.bucketize(values.double(), edges, right=True)

    def logits(self, numbers: Tensor) -> Tensor:
        """A model's own numbers (..., 1) as logits of the bins: a normal distribution around each,
        as wide as the model's errors are.
        """
        edges = torch.tensor(self.edges[1:-1], dtype=torch.float64, device=numbers.device)
        below = torch.special.ndtr((edges - numbers.double()) / self.error)
        ends = torch.zeros_like(below[..., :1]), torch.ones_like(below[..., :1])
        shares = torch.cat([ends[0], below, ends[1]], -1).diff(dim=-1)
        return shares.clamp_min(_LEAST_PROBABILITY).log().float()

    def linear(self, weight: Tensor, bias: Tensor, more: float) -> tuple[Tensor, Tensor]:
        """A map (1, H) with bias (1,) to a number as one to the bins' logits, (V, H) and (V,).

        A normal distribution, in each bin its density at the middle times the bin's width, is
        linear in its mean. `more` is the variance that comes on top of the model's errors.
        """
        both = (torch.tensor(t, dtype=torch.float64) for t in (self.middles, self.edges))
        middles, edges = (t.to(weight) for t in both)
        variance = self.error**2 + more
        constants = edges.diff().clamp_min(_LEAST_PROBABILITY).log() - middles.square() / (
            2 * variance
        )
        slopes = middles / variance
        return slopes[:, None] * weight, slopes * bias + constants

    def mean(self, p: Tensor) -> Tensor:
        """The mean of each distribution (..., V) over the bins."""
        return p.double() @ torch.tensor(self.middles, dtype=torch.float64, device=p.device)

    def numbers(self, p: Tensor, own: Tensor | None = None, widths: Tensor | None = None) -> Tensor:
        """The number that each distribution (N, V) stands for and the ends of its interval, (N, 3).

        `own` (N,) are the model's own numbers, NaN where a distribution is no model's; without one
        the number is the mean. `widths` (N,) is what intervals are widened by on each side.
        """
        mean, (low, median, high) = self.mean(p), self.spread(p, own).unbind(1)
        if own is not None:
            mean = torch.where(own.isnan(), mean, own.double())
        if widths is not None:
            low, high = median - widths * (median - low), median + widths * (high - median)
        return torch.stack([mean, low, high], 1)

    def spread(self, p: Tensor, own: Tensor | None = None) -> Tensor:
        """The numbers (N, 3) between which each distribution (N, V) holds most, as much left out
        below as above, and in the middle the median; within a bin every number is as probable.
        Around a model's own number they are those of a normal distribution, in no bins.
        """
        edges = torch.tensor(self.edges, dtype=torch.float64, device=p.device)
        up_to = F.pad(p.double().cumsum(-1), (1, 0))  # (N, V + 1), of each edge
        shares = torch.tensor([(1 - SURE) / 2, 0.5, (1 + SURE) / 2], dtype=torch.float64)
        wanted = (shares.to(p.device) * up_to[:, -1:]).contiguous()
        at = torch.searchsorted(up_to.contiguous(), wanted).clamp(1, len(edges) - 1)
        low, high = up_to.gather(1, at - 1), up_to.gather(1, at)
        part = ((wanted - low) / (high - low).clamp_min(_LEAST_PROBABILITY)).clamp(0, 1)
        found = edges[at - 1] + part * (edges[at] - edges[at - 1])
        if own is None:
            return found
        normal = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64, device=p.device) * _DEVIATIONS
        around = own.double()[:, None] + self.error * normal
        return torch.where(around.isnan(), found, around)

    def beyond(self, spread: Tensor, values: Tensor) -> Tensor:
        """What intervals would have to be widened by to reach the right numbers, (N,)."""
        low, median, high = spread.unbind(1)
        least = _LEAST_PART * (self.edges[-1] - self.edges[0])
        side = torch.where(values < median, median - low, high - median).clamp_min(least)
        return (values - median).abs() / side


def _short(edges: Sequence[float]) -> list[str]:
    """Numbers in order with as few digits as are exact to a part of the smallest bin, all with as
    many decimals where that is not too long.
    """
    step = min((b - a for a, b in pairwise(edges)), default=abs(edges[0]) or 1.0)
    for decimals in range(_LONGEST_EDGE):
        near = [round(edge, decimals) + 0.0 for edge in edges]  # no negative zero
        if all(abs(a - b) <= _EDGE_ERROR * step for a, b in zip(near, edges, strict=True)):
            written = [f"{edge:.{decimals}f}" for edge in near]
            if max(map(len, written)) <= _LONGEST_EDGE and len(set(written)) == len(written):
                return written
            break
    for digits in _EDGE_DIGITS:
        written = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(written)) == len(written):
            break
    return written


@dataclass(frozen=True)
class LabelSet(Strict):
    """The answers to one question, by their names."""

    names: Annotated[tuple[Name, ...], Len(1, MOST_LABELS)]
    several: bool = False  # whether each label holds or not by itself, so that many may at once
    scale: Scale | None = field(default=None)  # where the labels are the bins of an axis

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise ValueError("two names are the same")
        if self.scale and len(self.scale.middles) != len(self.names):
            raise ValueError("there are not as many names as bins")

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def numbered(cls, count: int) -> LabelSet:
        """One of so many labels, whose names do not matter."""
        return cls(tuple(map(str, range(count))))

    def of(self, rows: Tensor) -> Tensor:
        """The labels of states (N,), or (N, V) where several hold, from what their targets are."""
        return self.scale.bins(rows) if self.scale else rows

    def counts(self, labels: Tensor) -> Tensor:
        """How often each label occurs, (V,); where several hold, how often it does not and does,
        (2, V).
        """
        if not self.several:
            return torch.bincount(labels, minlength=len(self))
        holds = labels.long().sum(0)
        return torch.stack([len(labels) - holds, holds])

    def no_counts(self) -> Tensor:
        """The counts of nothing."""
        return torch.zeros((2, len(self)) if self.several else len(self), dtype=torch.int64)

    def prior(self, counts: Tensor) -> Tensor:
        """The logits (V,) of the frequencies, each counted once more than it occurs."""
        smoothed = counts.double() + 1
        if self.several:
            return (smoothed[1] / smoothed[0]).log()
        return (smoothed / smoothed.sum()).log()

    def probabilities(self, logits: Tensor) -> Tensor:
        """Of each label, (..., V); where several hold they need not sum to 1."""
        return logits.sigmoid() if self.several else logits.softmax(-1)

    def pooled(self, logits: Tensor) -> Tensor:
        """Logits whose softmax is what is compared of two states.

        Where several labels hold, that is every label's yes and no, (N, 2V), so that a divergence
        is the mean over the labels.
        """
        if not self.several:
            return logits
        return torch.cat([F.logsigmoid(logits), F.logsigmoid(-logits)], -1)

    def questions(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (N, V) and labels as questions with one answer each: where several labels hold, a
        yes or no, (N * V, 2), for every label.
        """
        if not self.several:
            return logits, labels
        return F.pad(logits.flatten()[:, None], (1, 0)), labels.flatten().long()


def nearest(label: str, known: Sequence[str]) -> list[str]:
    """The labels that are spelled most like one."""
    return get_close_matches(label, known, count("alike_labels"))


def number_of(label: str, known: Sequence[str]) -> int:
    """A label's place among all; one that is not there is refused with those most like it."""
    if not isinstance(label, str):
        raise RnnlensError(f"{label!r} is no label; give the name of one")
    for name in (label, BLANK + label):  # a piece of words, or else the one that begins one so
        if name in known:
            return known.index(name)
    raise RnnlensError(message("no_label", label=repr(label), like=_like(label, known)))


def beginning(word: str, known: Collection[str]) -> list[str]:
    """The longest pieces that a word of several may begin with, longest first; none where labels
    are no pieces of words.
    """
    typed = word.removeprefix(BLANK)
    starts = (BLANK + typed[:length] for length in range(len(typed) - 1, 0, -1))
    return [start for start in starts if start in known][: count("alike_labels")]


def _like(label: str, known: Sequence[str]) -> str:
    """What to name in place of a label that is not there."""
    if begun := beginning(label, known):
        return message("several_pieces", pieces=", ".join(map(repr, begun)))
    near = nearest(label, known)
    alike = message("alike_labels", labels=", ".join(map(repr, near)))
    return alike if near else message("no_alike_label")
