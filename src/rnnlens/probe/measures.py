"""What is counted while states are read: errors, precision, right answers, the unigram baseline."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet
from rnnlens.probe.dataset import Chunk

MOST_CONFUSED = 256  # labels whose confusion is counted pair by pair
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

    def __init__(self, answers: LabelSet) -> None:
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

    def __init__(self, answers: LabelSet) -> None:
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


class Verdicts:
    """Counts of right and wrong answers, label by label."""

    def __init__(self, label_count: int) -> None:
        self.size = label_count
        self.right, self.true, self.answered = torch.zeros(3, label_count, dtype=torch.int64)
        self.pairs = torch.zeros(
            label_count**2 if label_count <= MOST_CONFUSED else 0, dtype=torch.int64
        )

    def add(self, labels: Tensor, answers: Tensor) -> None:
        """Take in true labels (N,) and the answers to them."""
        labels, answers = labels.cpu(), answers.cpu()
        self.true += torch.bincount(labels, minlength=self.size)
        self.answered += torch.bincount(answers, minlength=self.size)
        self.right += torch.bincount(labels[labels == answers], minlength=self.size)
        if len(self.pairs):
            self.pairs += torch.bincount(labels * self.size + answers, minlength=len(self.pairs))

    @property
    def accuracy(self) -> float:
        """How often the answer is right."""
        return float(self.right.sum() / self.true.sum())

    @property
    def macro_f1(self) -> float:
        """The mean F1 of all labels that occur or are answered."""
        both = (self.true + self.answered).double()
        return float((2 * self.right.double() / both)[both > 0].mean())

    @property
    def confusion(self) -> list[list[int]] | None:
        """How often each label (rows) got each answer (columns), where labels are not too many."""
        if not len(self.pairs):
            return None
        rows: list[list[int]] = self.pairs.view(self.size, self.size).tolist()
        return rows


def prior_nll(answers: LabelSet, prior: Tensor, labels: Tensor) -> float:
    """The negative log-likelihood of labels, all together, by `answers.prior` of their counts."""
    labels = labels.cpu()
    if not answers.several:
        return -float(prior[labels].sum())
    logits = prior.expand(len(labels), -1)
    return float(F.cross_entropy(*answers.questions(logits, labels), reduction="sum"))
