"""Data for a model to read, with the labels of its states: sentences, or a user's batches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.corpus.batches import Split
from rnnlens.model.traceable import Traceable

NONE = -1  # the label of a state that has none; any other negative number means the same
_SIDE_BY_SIDE = 1024  # sentences traced together

Ints = NDArray[np.int64]


class Batch(NamedTuple):
    """What a model reads at once, and the labels of its states; negative: no label."""

    inputs: Any
    targets: Tensor  # of each state, or of each sequence
    words: Tensor | None  # the words of the inputs as labels, where words are labels


class Data(ABC):
    """The data of one split, in pieces that can be read in any order."""

    unit: str  # what a piece is, in the plural
    counts: Ints  # about how many states of each piece have a target
    whole_pieces = False  # whether each piece is a batch by itself, always the same

    @abstractmethod
    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:
        """The chosen pieces, put together into batches for the model."""

    @abstractmethod
    def shuffled(self, seed: int) -> "Data":
        """The same inputs, with the labels exchanged among each other at random."""

    def pairs(self, shift: int) -> int:  # noqa: ARG002 - not every data can tell
        """About how many states have a label `shift` words after the one just read."""
        return int(self.counts.sum())


class Sentences(Data):
    """Encoded sentences: after each word a state is asked for its label, or for the next word."""

    unit = "sentences"

    def __init__(
        self, split: Split, asked: Split | None = None, *, with_lengths: bool = False
    ) -> None:
        """`asked` takes the place of the sentences in what is asked, but not in what is read.

        `with_lengths`: the model is told how long sentences are, because it reads backwards too.
        """
        self.split, self.counts, self.with_lengths = split, split.steps, with_lengths
        self.asked = asked or split

    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:
        """Sentences of similar length side by side, (T, B)."""
        split = self.split
        chosen = chosen[np.argsort(split.lengths[chosen], kind="stable")]
        for k in range(0, len(chosen), _SIDE_BY_SIDE):
            group = chosen[k : k + _SIDE_BY_SIDE]
            read = split.batch(group)
            asked = read if self.asked is split else self.asked.batch(group)
            inputs = read.inputs.to(device)
            given = (inputs, read.lengths.to(device)) if self.with_lengths else inputs
            yield Batch(given, asked.targets, asked.inputs)

    def shuffled(self, seed: int) -> "Sentences":
        asked = self.asked
        if asked.labels is None:
            mixed = Split(_mixed(asked.ids, seed), asked.starts)
        else:
            firsts = asked.labels[asked.starts[:-1]]
            of_texts = np.array_equal(np.repeat(firsts, asked.lengths), asked.labels)
            labels = (
                np.repeat(_mixed(firsts, seed), asked.lengths)  # a text keeps one label
                if of_texts
                else _mixed(asked.labels, seed)
            )
            mixed = Split(asked.ids, asked.starts, labels)
        return Sentences(self.split, mixed, with_lengths=self.with_lengths)

    def pairs(self, shift: int) -> int:
        first = max(0, -shift + (self.asked.labels is not None))
        last = np.minimum(self.counts, self.counts + 1 - shift)
        return int(np.maximum(0, last - first).sum())


def _mixed(labels: Ints, seed: int) -> Ints:
    mixed: Ints = exchanged([torch.from_numpy(labels)], seed)[0].numpy()
    return mixed


class Batches(Data):
    """A user's batches; each is a piece."""

    unit = "batches"
    whole_pieces = True

    def __init__(self, batches: Sequence[Batch], count: Callable[[Batch], int]) -> None:
        """`count` tells about how many states of a batch have a target."""
        self.all, self.count = batches, count
        self.counts = np.array([count(batch) for batch in batches], np.int64)

    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:  # noqa: ARG002
        return (self.all[int(number)] for number in chosen)

    def shuffled(self, seed: int) -> "Batches":
        targets = exchanged([batch.targets for batch in self.all], seed)
        words = [_asked(batch) for batch in self.all]
        if all(w is not None for w in words):
            words = [*exchanged([w for w in words if w is not None], seed)]
        rows = zip(self.all, targets, words, strict=True)
        return Batches([Batch(batch.inputs, t, w) for batch, t, w in rows], self.count)


def _asked(batch: Batch) -> Tensor | None:
    """The words of a batch, but for padding: words that have no target."""
    if batch.words is None or batch.words.shape != batch.targets.shape:
        return batch.words
    return batch.words.masked_fill(batch.targets.to(batch.words.device) < 0, NONE)


def of_batches(model: Traceable, pairs: Sequence[tuple[Any, Tensor]]) -> Batches:
    """The data of a user's batches, which are pairs of the model's inputs and its targets."""
    return Batches(
        [Batch(inputs, targets, model.words(inputs, targets)) for inputs, targets in pairs],
        lambda batch: model.count(batch.inputs, batch.targets),
    )


def exchanged(labels: Sequence[Tensor], seed: int) -> list[Tensor]:
    """The labels exchanged at random among all places that have one."""
    masks = [tensor >= 0 for tensor in labels]
    every = torch.cat([tensor[mask] for tensor, mask in zip(labels, masks, strict=True)])
    order = np.random.default_rng((seed, 1)).permutation(len(every))
    parts = every[torch.from_numpy(order)].split([int(mask.sum()) for mask in masks])
    mixed = [tensor.clone() for tensor in labels]
    for tensor, mask, part in zip(mixed, masks, parts, strict=True):
        tensor[mask] = part
    return mixed
