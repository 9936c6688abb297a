"""Data for a model to read, with the labels of its states: sentences, or a user's batches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.adapter.batches import Batch as UserBatch
from rnnlens.corpus.split import Split
from rnnlens.corpus.storage import Numbers
from rnnlens.model.traceable import Traceable
from rnnlens.probe.semantics import NONE, OUTPUT, TAG, base, shift

_SIDE_BY_SIDE = 1024  # sentences traced together, at most
_TIMESTEPS = 32_768  # of these, at most, so that long ones take no more memory than short ones
_WORTH = 32  # sentences whose padding takes as long as to begin another batch

Ints = NDArray[np.int64]


class Batch(NamedTuple):
    """What a model reads at once, and the labels of its states; negative: no label."""

    inputs: Any
    targets: Tensor  # of each state, or of each sequence
    words: Tensor | None  # the words of the inputs as labels, where words are labels
    others: Mapping[str, Tensor] = {}  # labels that are not the model's own, by semantic

    def labels(self, name: str) -> Tensor:
        """The labels of a semantic."""
        return self.targets if name == OUTPUT else self.others[name]


class Data(ABC):
    """The data of one split, in pieces that can be read in any order."""

    unit: str  # what a piece is, in the plural
    counts: Ints  # about how many states of each piece have a target
    whole_pieces = False  # whether each piece is a batch by itself, always the same
    #: What targets are places in, where they are no labels themselves: (S,) numbers or (S, V) sets
    #: of labels, by semantic.
    tables: Mapping[str, Tensor] = {}
    others: tuple[str, ...] = ()  # the semantics that it has labels for beside the model's own

    @abstractmethod
    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:
        """The chosen pieces, put together into batches for the model."""

    def together(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:
        """The chosen pieces in one batch, whatever padding costs, where they can be in one."""
        return self.batches(chosen, device)

    def in_order(self, chosen: Ints) -> Ints | None:  # noqa: ARG002 - not every data can tell
        """The chosen pieces in the order in which their sequences come, where each piece is one
        sequence.
        """
        return None

    def occurring_in(self, other: "Data") -> NDArray[np.bool_] | None:  # noqa: ARG002
        """Which pieces occur in other data, too; None where pieces are no sentences."""
        return None

    def pairs(self, semantic: str) -> int:  # noqa: ARG002 - not every data can tell
        """About how many states have a label under a semantic."""
        return int(self.counts.sum())


class Sentences(Data):
    """Encoded sentences: after each word a state is asked for its label, or for the next word."""

    unit = "sentences"

    def __init__(
        self,
        split: Split,
        tags: Numbers | None = None,
        *,
        with_lengths: bool = False,
    ) -> None:
        """`tags` are those of the words, negative where one has none.

        `with_lengths`: the model is told how long sentences are, because it reads backwards too.
        """
        self.split, self.counts, self.with_lengths = split, split.steps, with_lengths
        self.tags = None if tags is None else Split(tags, split.starts, split.labels)
        self.others = () if tags is None else (TAG,)

    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:
        """Sentences of similar length side by side, (T, B)."""
        chosen = self.in_order(chosen)
        for group in np.split(chosen, batch_starts(self.split.lengths[chosen])):
            yield from self.together(group, device)

    def together(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:
        if not len(chosen):
            return
        group = self.in_order(chosen)
        read = self.split.batch(group)
        others = {}
        if self.tags is not None:
            tags = self.tags.batch(group).inputs
            others[TAG] = torch.where(read.targets >= 0, tags, NONE)
        inputs = read.inputs.to(device)
        given = (inputs, read.lengths.to(device)) if self.with_lengths else inputs
        yield Batch(given, read.targets, read.inputs, others)

    def in_order(self, chosen: Ints) -> Ints:
        return chosen[np.argsort(self.split.lengths[chosen], kind="stable")]

    def occurring_in(self, other: Data) -> NDArray[np.bool_] | None:
        if not isinstance(other, Sentences):
            return None
        known = set(other.spelled())
        return np.array([sentence in known for sentence in self.spelled()], bool)

    def spelled(self) -> Iterator[bytes]:
        """The words of every sentence, to be compared."""
        ids = np.ascontiguousarray(self.split.ids, np.int64)
        return (ids[a:b].tobytes() for a, b in pairwise(self.split.starts.tolist()))

    def pairs(self, semantic: str) -> int:
        steps = shift(semantic)
        # Where the next word is asked for, the first word precedes the first target.
        precedes = steps < 0 and base(semantic) == OUTPUT and self.split.labels is None
        return int(np.maximum(0, self.counts - abs(steps) + precedes).sum())


def batch_starts(lengths: Ints) -> list[int]:
    """Where another batch begins among sentences of these lengths, shortest first: where padding
    would cost more than that, or memory.
    """
    cuts, first, padding = list[int](), 0, 0
    for k, (before, length) in enumerate(pairwise(lengths.tolist()), 1):
        padding += (k - first) * (length - before)
        is_full = k - first == _SIDE_BY_SIDE or (k - first + 1) * length > _TIMESTEPS
        if is_full or padding > _WORTH * length:
            cuts.append(k)
            first, padding = k, 0
    return cuts


class Batches(Data):
    """A user's batches; each is a piece."""

    unit = "batches"
    whole_pieces = True

    def __init__(
        self, batches: Sequence[Batch], count: Callable[[Batch], int],
        tables: Mapping[str, Tensor] | None = None,
    ) -> None:  # fmt: skip
        """`count` tells about how many states of a batch have a target."""
        self.all, self.count, self.tables = batches, count, tables or {}
        self.counts = np.array([count(batch) for batch in batches], np.int64)
        self.others = tuple(batches[0].others) if batches else ()

    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:  # noqa: ARG002
        return (self.all[int(number)] for number in chosen)


def of_batches(model: Traceable, pairs: Sequence[tuple[Any, Tensor]]) -> Batches:
    """The data of batches that `model.batches` has checked: pairs of the model's inputs and its
    targets, which may have others beside them.
    """
    checked = [UserBatch.of(pair) for pair in pairs]
    return Batches(
        [Batch(*pair, model.words(*pair), pair.others) for pair in checked],
        lambda batch: model.count(batch.inputs, batch.targets),
        checked[0].tables if checked else None,
    )
