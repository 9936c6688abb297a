"""How good a model's own answers are: perplexity, and of labels accuracy, F1 and confusion."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.model.kinds import PREDICTION
from rnnlens.model.train.perplexity import perplexity
from rnnlens.probe.dataset import Chunk, Dataset
from rnnlens.probe.prior import prior_nll
from rnnlens.probe.semantics import OUTPUT

MOST_CONFUSED = 256  # labels whose confusion is counted pair by pair


class Measured(NamedTuple):
    """What was measured of a model."""

    parts: dict[str, dict[str, float]]  # of each split
    confusion: list[list[int]] | None  # on the test split, true label by answer; None: not counted


class Verdicts:
    """Counts of right and wrong answers, label by label."""

    def __init__(self, label_count: int) -> None:
        self.size = label_count
        self.right, self.true, self.said = torch.zeros(3, label_count, dtype=torch.int64)
        self.pairs = torch.zeros(
            label_count**2 if label_count <= MOST_CONFUSED else 0, dtype=torch.int64
        )

    def add(self, labels: Tensor, answers: Tensor) -> None:
        """Take in true labels (N,) and the answers to them."""
        labels, answers = labels.cpu(), answers.cpu()
        self.true += torch.bincount(labels, minlength=self.size)
        self.said += torch.bincount(answers, minlength=self.size)
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
        both = (self.true + self.said).double()
        return float((2 * self.right.double() / both)[both > 0].mean())

    @property
    def confusion(self) -> list[list[int]] | None:
        """How often each label (rows) got each answer (columns), where labels are not too many."""
        if not len(self.pairs):
            return None
        rows: list[list[int]] = self.pairs.view(self.size, self.size).tolist()
        return rows


@torch.no_grad()
def measured(dataset: Dataset, advance: Callable[[int], object] = int) -> Measured:
    """What a model's own predictions are worth on each split, beside the unigram baseline.

    `advance` is told the number of states after each chunk. A language model's answers are not
    counted: its labels are thousands, and perplexity is what people compare.
    """
    answers, parts = dataset.answers_to(OUTPUT), {}
    prior, confusion = answers.prior(dataset.counts(OUTPUT)), None
    counts = not (dataset.follows or answers.several or answers.scale)
    for name, data in dataset.splits.items():
        model_nll = unigram_nll = 0.0
        pairs, verdicts = 0, Verdicts(dataset.label_count) if counts else None
        for chunk in dataset.stream(name, OUTPUT, kinds=(PREDICTION,)).chunks():
            logits = dataset.model.predict(chunk.states[PREDICTION])
            asked = answers.questions(logits, chunk.labels)
            model_nll += float(F.cross_entropy(*asked, reduction="sum"))
            unigram_nll += prior_nll(answers, prior, chunk.labels)
            pairs += chunk.labels.numel()
            if verdicts:
                verdicts.add(*_answered(chunk, logits, dataset))
            advance(len(chunk.labels))
        parts[name] = {
            data.unit: len(data.counts),
            "pairs": pairs,
            "perplexity": perplexity(model_nll, pairs),
            "unigram": perplexity(unigram_nll, pairs),
        }
        if verdicts:
            parts[name] |= {"accuracy": verdicts.accuracy, "macro_f1": verdicts.macro_f1}
            confusion = verdicts.confusion if name == "test" else confusion
    return Measured(parts, confusion)


def _answered(chunk: Chunk, logits: Tensor, dataset: Dataset) -> tuple[Tensor, Tensor]:
    """The true labels of what is asked, and the model's answers.

    Of a whole text the answer is what a model says after the last word. One that reads both ways
    has read everything at each word, and its answer is the mean of the probabilities there.
    """
    if not dataset.of_texts:
        return chunk.labels, logits.argmax(-1)
    places = torch.arange(len(logits), device=logits.device)
    last = places.new_zeros(chunk.count).scatter_reduce_(0, chunk.sequences, places, "amax")
    if dataset.model.causal:
        said = logits[last]
    else:
        said = logits.new_zeros(chunk.count, logits.shape[1])
        said.index_add_(0, chunk.sequences, logits.softmax(-1))
    there = torch.bincount(chunk.sequences, minlength=chunk.count) > 0  # others have no label
    return chunk.labels[last[there]], said[there].argmax(-1)
