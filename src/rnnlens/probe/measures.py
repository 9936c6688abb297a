"""What people measure of numbers, and of labels that hold or not each by itself."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.answers import Answers
from rnnlens.probe.dataset import Chunk

_STEPS = 2000  # of probability, at which precision is looked at


@dataclass(frozen=True)
class Against:
    """A measure of a probe beside the same of the model itself and of what knows no state."""

    probe: float  #: Of the probe.
    model: float | None  #: None where the model predicts another label.
    constant: float  #: Of the labels' frequencies in training.


class Measure(ABC):
    """A measure over the states of one kind, which come in chunks."""

    @abstractmethod
    def add(self, p: Tensor, chunk: Chunk) -> None:
        """Take in the probabilities (N, V) of the states of a chunk."""

    @abstractmethod
    def value(self) -> float:
        """The measure of all that was taken in."""


class Errors(Measure):
    """The mean absolute error of each distribution's mean."""

    def __init__(self, answers: Answers) -> None:
        if answers.scale is None:
            raise RnnlensError("labels that are no numbers have no error; give a scale")
        self.scale, self.total, self.count = answers.scale, 0.0, 0

    def add(self, p: Tensor, chunk: Chunk) -> None:
        self.add_numbers(self.scale.mean(p), chunk)

    def add_numbers(self, numbers: Tensor, chunk: Chunk) -> None:
        """Take in the numbers (N,) that are said of the states of a chunk."""
        if chunk.values is not None:
            self.total += float((numbers.double() - chunk.values).abs().sum())
            self.count += len(numbers)

    def value(self) -> float:
        return self.total / max(1, self.count)


class Precision(Measure):
    """The average precision of each label, mean over the labels that occur.

    Probabilities are counted in small steps, so that memory stays bounded; those within a step
    count as equal.
    """

    def __init__(self, answers: Answers) -> None:
        self.counts = torch.zeros(2, len(answers), _STEPS + 1, dtype=torch.float64)

    def add(self, p: Tensor, chunk: Chunk) -> None:
        place = (p.cpu().double() * _STEPS).round().long().T  # (V, N)
        holds = chunk.labels.cpu().double().T
        self.counts[0].scatter_add_(1, place, torch.ones_like(holds))
        self.counts[1].scatter_add_(1, place, holds)

    def value(self) -> float:
        named, right = self.counts.flip(2).cumsum(2)  # (V, steps), from the surest down
        there = right[:, -1] > 0
        precision = right[there] / named[there].clamp_min(1)
        gained = right[there].diff(dim=1, prepend=torch.zeros(int(there.sum()), 1).double())
        each = (precision * gained).sum(1) / right[there][:, -1]
        return float(each.mean()) if len(each) else 0.0
