"""Sums over the states of one kind, kept apart by sentence: what scores and their intervals are of.

Beside the sums stands the reliability curve: of states whose most probable label has about the same
probability, how often that label is right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.intervals import UNITS, Floats, Interval, Resamples, below, exponential
from rnnlens.labels.sets import LabelSet
from rnnlens.probe.dataset import Chunk
from rnnlens.probe.measures import Errors, Measure, Precision

_BINS = 15  # of confidence, for the calibration error
CURVE = 10  # bins of confidence of the reliability curve
#: How often a label was seen in training: names of the bands, and from how many times on.
BANDS = (("seen under 50 times", 0), ("seen 50 to 499 times", 50), ("seen 500 times or more", 500))
ALL = "all"  # labels, as a band
_FEW = 30  # states of a bin, of which nothing is said


@dataclass(frozen=True)
class Bin:
    """States whose most probable label has a probability of about the same size."""

    start: float  #: The least probability of the bin.
    confidence: float  #: What the states say on average.
    accuracy: float  #: How often they are right.
    low: float | None  #: Of the accuracy, by 95%; None: too few sentences.
    high: float | None
    states: int  #: How many they are.


class Units:
    """Which of the units that are resampled each state belongs to: its sentence or, where sentences
    are many, one of some that are taken together.
    """

    def __init__(self) -> None:
        self.sentences = 0

    def of(self, chunk: Chunk) -> Tensor:
        """Of the states of the next chunk, (N,)."""
        present, place = chunk.sequences.unique(return_inverse=True)
        units: Tensor = (self.sentences + place) % UNITS
        self.sentences += len(present)
        return units

    @property
    def count(self) -> int:
        """How many units there are."""
        return min(self.sentences, UNITS)

    def resamples(self) -> Resamples:
        """Draws of the units."""
        return Resamples(self.count)


def by_unit(units: Tensor, values: Tensor) -> Tensor:
    """The sums of values (N, ...) of each unit, (UNITS, ...)."""
    sums = torch.zeros(UNITS, *values.shape[1:], dtype=torch.float64, device=values.device)
    return sums.index_add_(0, units, values.double())


class Own(NamedTuple):
    """What a model itself says of each question of a chunk, (Q, V), for all kinds at once."""

    log_p: Tensor
    p: Tensor

    @classmethod
    def of(cls, logits: Tensor, answers: LabelSet, chunk: Chunk) -> "Own":
        """Of its logits (N, V)."""
        log_p = answers.questions(logits, chunk.labels)[0].log_softmax(-1)
        return cls(log_p, log_p.exp())


class Tally:
    """What is summed over the states of one kind."""

    def __init__(
        self, answers: LabelSet, device: torch.device, frequencies: Tensor | None = None
    ) -> None:
        """`frequencies` (V,) of labels in training, for the curve."""
        self.answers = answers
        self.more: Measure | None = None
        if answers.several or answers.scale:
            self.more = Precision(answers) if answers.several else Errors(answers)
        self.pairs, self.nll, self.right, self.kl = torch.zeros(
            4, UNITS, dtype=torch.float64, device=device
        )
        self._bins = torch.zeros(3, _BINS, dtype=torch.float64, device=device)
        self._bands = torch.zeros(len(answers), dtype=torch.int64, device=device)
        if frequencies is not None and not answers.several:
            starts = torch.tensor([start for _, start in BANDS][1:])
            self._bands = torch.bucketize(frequencies.cpu(), starts, right=True).to(device)
        self._size = len(BANDS) * CURVE
        # Sums of right answers and of states, by unit; and of what they say, all together.
        self._curve = torch.zeros(2, UNITS * self._size, dtype=torch.float32, device=device)
        self._said = torch.zeros(self._size, dtype=torch.float64, device=device)

    def add(
        self, logits: Tensor, chunk: Chunk, units: Tensor, own: Own | None = None,
        y: Tensor | None = None,
    ) -> None:  # fmt: skip
        """Take in logits (N, V) of the states of some units; `own` is what the model itself says.
        `y`: they are the model's own, made of this.
        """
        if isinstance(self.more, Errors) and y is not None:  # the number itself, without bins
            self.more.add_numbers(y[:, 0], chunk)
        elif self.more:
            self.more.add(self.answers.probabilities(logits), chunk)
        rows, labels = self.answers.questions(logits, chunk.labels)
        each = rows.shape[0] // max(1, len(units))  # where several labels hold, each is a question
        units = units.repeat_interleave(each) if each > 1 else units
        log_p = rows.log_softmax(-1)
        confidence, guess = log_p.max(-1)
        confidence, right = confidence.exp(), (guess == labels).float()
        self.nll.index_add_(0, units, -log_p.gather(1, labels[:, None])[:, 0].double())
        self.right.index_add_(0, units, right.double())
        self.pairs.index_add_(0, units, torch.ones_like(right).double())
        place = (confidence * _BINS).long().clamp_max(_BINS - 1)
        for row, values in enumerate((confidence, right, torch.ones_like(right))):
            self._bins[row] += torch.bincount(place, values, _BINS)
        self._add_to_curve(units, confidence, guess, right)
        if own is not None:
            apart = (own.p * (own.log_p - log_p)).sum(-1)
            self.kl.index_add_(0, units, apart.double() / np.log(2))

    def _add_to_curve(
        self, units: Tensor, confidence: Tensor, guess: Tensor, right: Tensor
    ) -> None:
        at = (confidence * CURVE).long().clamp_max(CURVE - 1)
        band = torch.zeros_like(guess) if self.answers.several else self._bands[guess]
        at = band * CURVE + at
        self._said += torch.bincount(at, confidence.double(), self._size)
        for row, values in zip(self._curve, (right, torch.ones_like(right)), strict=True):
            row.index_add_(0, units * self._size + at, values)

    def calibration(self) -> float:
        """The expected calibration error: the mean gap of confidence and accuracy."""
        confidence, right, count = self._bins
        return float((confidence - right).abs().sum() / count.sum())

    def sums(self, count: int) -> Floats:
        """Of each unit its pairs, -log p, right answers and divergence, (units, 4)."""
        columns = torch.stack([self.pairs, self.nll, self.right, self.kl], 1)
        return columns[:count].cpu().numpy()

    def reliability(self, resamples: Resamples) -> dict[str, list[Bin]]:
        """The curve of all states and of each band of labels that there is
        more than one of; bins of very few states are left out.
        """
        shape = (UNITS, len(BANDS), CURVE)
        right, count = (
            row.view(shape)[: resamples.sentences].double().cpu().numpy() for row in self._curve
        )
        said = self._said.view(shape[1:]).cpu().numpy()
        curves = {ALL: _curve(right.sum(1), count.sum(1), said.sum(0), resamples)}
        there = [k for k in range(len(BANDS)) if count[:, k].sum()]
        for k in there if len(there) > 1 else ():
            curves[BANDS[k][0]] = _curve(right[:, k], count[:, k], said[k], resamples)
        return curves


def _curve(right: Floats, count: Floats, said: Floats, resamples: Resamples) -> list[Bin]:
    """The bins of a curve from sums by unit, (units, bins), and all together, (bins,)."""
    states, bins = count.sum(0), []
    draws = resamples.sums(np.stack([right, count], 2)) if resamples.enough else None
    for k in np.flatnonzero(states >= _FEW):
        sure = None
        if draws is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                sure = resamples.interval(draws[:, k, 0] / draws[:, k, 1])
        low, high = (None, None) if sure is None else (sure.low, sure.high)
        accuracy = float(right[:, k].sum() / states[k])
        bins.append(Bin(k / CURVE, float(said[k] / states[k]), accuracy, low, high, int(states[k])))
    return bins


@dataclass(frozen=True)
class Sure:
    """How sure the numbers of some kinds are, which were measured on the same sentences."""

    intervals: Mapping[str, Mapping[str, Interval]]  # by kind and number
    below: Mapping[str, Mapping[str, float]]  # by kind and other kind


_MOST_COMPARED = 64  # kinds: more pairs are not kept


def sure(sums: Mapping[str, Floats], model: Floats | None, resamples: Resamples) -> Sure:
    """Intervals of perplexity, accuracy and, beside the sums of the model itself, of the ratio and
    the divergence; and in which share of draws each kind's perplexity lies below each other's.
    """
    if not resamples.enough:
        return Sure({}, {})
    intervals: dict[str, dict[str, Interval]] = {}
    losses: dict[str, Floats] = {}
    own = None if model is None else _rates(resamples, model)[:, 0]
    for kind, columns in sums.items():
        loss, right, kl = _rates(resamples, columns).T
        losses[kind] = loss
        found = {"perplexity": exponential(loss), "accuracy": right}
        if own is not None:
            found |= {"ratio": exponential(loss - own), "kl": kl}
        ends = {name: resamples.interval(draws) for name, draws in found.items()}
        intervals[kind] = {name: one for name, one in ends.items() if one is not None}
    kinds: Sequence[str] = list(losses) if len(losses) <= _MOST_COMPARED else ()
    pairs = {
        kind: {o: round(below(losses[kind], losses[o]), 4) for o in kinds if o != kind}
        for kind in kinds
    }
    return Sure(intervals, pairs)


def _rates(resamples: Resamples, columns: Floats) -> Floats:
    """-log p, accuracy and divergence of each draw, (draws, 3), from sums by unit."""
    drawn = resamples.sums(columns)
    rates: Floats = drawn[:, 1:] / drawn[:, :1]
    return rates
