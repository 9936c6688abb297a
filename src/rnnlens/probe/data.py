"""Data that a model reads, with the labels that lie beside it: sentences, or a user's batches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.corpus.batches import Split
from rnnlens.model.traceable import Traceable

NONE = -1  # where a state has no label
_SIDE_BY_SIDE = 1024  # sentences traced together

Ints = NDArray[np.int64]


class Batch(NamedTuple):
    """What a model is given, and the labels that lie beside it; negative: none."""

    inputs: Any
    targets: Tensor  # of each state, or of each sequence
    words: Tensor | None  # that are read, where these are labels too


class Data(ABC):
    """The data of one split, in pieces that can be had in any order."""

    unit: str  # what a piece is
    counts: Ints  # states of each piece that have a target, about
    whole_pieces = False  # whether each batch is one piece, always the same

    @abstractmethod
    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:
        """Some pieces, put together for the model."""

    @abstractmethod
    def shuffled(self, seed: int) -> "Data":
        """The same to read, with every label exchanged for another's at random."""

    def pairs(self, shift: int) -> int:  # noqa: ARG002 - not every data can tell
        """States that have a label so many words after the one just read, about."""
        return int(self.counts.sum())


class Sentences(Data):
    """Encoded sentences: a state follows each word but the last, and is asked for the next."""

    unit = "sentences"

    def __init__(self, split: Split, labels: Ints | None = None) -> None:
        """`labels` are asked about in the place of the words."""
        self.split, self.counts = split, split.lengths - 1
        self.labels = split.ids if labels is None else labels

    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:
        """Sentences of similar length side by side, (T, B)."""
        split = self.split
        chosen = chosen[np.argsort(split.lengths[chosen], kind="stable")]
        for k in range(0, len(chosen), _SIDE_BY_SIDE):
            group = chosen[k : k + _SIDE_BY_SIDE]
            time = np.arange(split.lengths[group].max() - 1)[:, None]  # (T, 1)
            there = time < split.lengths[group] - 1  # (T, B)
            places = np.where(there, split.starts[group] + time, 0)
            inputs = torch.from_numpy(np.where(there, split.ids[places], 0)).to(device)
            words = torch.from_numpy(np.where(there, self.labels[places], NONE))
            targets = torch.from_numpy(np.where(there, self.labels[places + 1], NONE))
            yield Batch(inputs, targets, words)

    def shuffled(self, seed: int) -> "Sentences":
        return Sentences(self.split, exchanged([torch.from_numpy(self.labels)], seed)[0].numpy())

    def pairs(self, shift: int) -> int:
        first, last = max(0, -shift), np.minimum(self.counts, self.split.lengths - shift)
        return int(np.maximum(0, last - first).sum())


class Batches(Data):
    """Batches as a user gives them; each is a piece."""

    unit = "batches"
    whole_pieces = True

    def __init__(self, batches: Sequence[Batch], count: Callable[[Batch], int]) -> None:
        """`count` tells how many states of a batch have a target, about."""
        self.given, self.count = batches, count
        self.counts = np.array([count(batch) for batch in batches], np.int64)

    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:  # noqa: ARG002
        return (self.given[int(number)] for number in chosen)

    def shuffled(self, seed: int) -> "Batches":
        targets = exchanged([batch.targets for batch in self.given], seed)
        words = [batch.words for batch in self.given]
        if all(w is not None for w in words):
            words = [*exchanged([w for w in words if w is not None], seed)]
        rows = zip(self.given, targets, words, strict=True)
        return Batches([Batch(batch.inputs, t, w) for batch, t, w in rows], self.count)


def of_batches(model: Traceable, pairs: Sequence[tuple[Any, Tensor]]) -> Batches:
    """A user's batches, pairs of what the model is given and its targets."""
    return Batches(
        [Batch(inputs, targets, model.words(inputs, targets)) for inputs, targets in pairs],
        lambda batch: model.count(batch.inputs, batch.targets),
    )


def exchanged(labels: Sequence[Tensor], seed: int) -> list[Tensor]:
    """Labels exchanged at random among all places that have one."""
    there = [one >= 0 for one in labels]
    every = torch.cat([one[where] for one, where in zip(labels, there, strict=True)])
    order = np.random.default_rng((seed, 1)).permutation(len(every))
    parts = every[torch.from_numpy(order)].split([int(where.sum()) for where in there])
    mixed = [one.clone() for one in labels]
    for one, where, part in zip(mixed, there, parts, strict=True):
        one[where] = part
    return mixed
