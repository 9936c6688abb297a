"""Encoded sentences, and batches of them: every input word with its label or the next word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.later import Later
from rnnlens.corpus.storage import Numbers

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = Later("torch")

_POOL = 200  # batches whose sentences are sorted by length together, to waste little on padding


PADDING = -100  # the target where a sentence has ended; cross-entropy ignores it by default


@dataclass(frozen=True)
class Batch:
    """B sentences side by side, padded to T input words."""

    inputs: Tensor  # (T, B) label ids; padding is label 0 and comes after the sentence
    targets: Tensor  # (T, B) the label of each, or PADDING
    lengths: Tensor  # (B,) of the sentences, in input words
    columns: slice  # which sentences of the whole batch are here, when processes share it
    sentences: int  # of the whole batch
    pairs: int  # of the whole batch


@dataclass(frozen=True)
class Split:
    """Encoded sentences, one after the other."""

    ids: Numbers  # (N,) the label of each word
    starts: Numbers  # (S + 1,) where each sentence starts, and the end of the last
    # (N,) what is to be said of each word; None: which word follows it.
    labels: Numbers | None = None

    @classmethod
    def of(
        cls,
        ids: Numbers,
        starts: Numbers,
        chosen: NDArray[np.int64],
        labels: Numbers | None = None,
    ) -> Split:
        """Only the chosen ones of some sentences."""
        lengths = np.diff(starts)[chosen]
        new_starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(new_starts[-1]) + np.repeat(starts[chosen] - new_starts[:-1], lengths)
        return cls(ids[places], new_starts, None if labels is None else labels[places])

    @classmethod
    def joined(cls, sentences: Sequence[Sequence[int]]) -> Split:
        """From a list of sentences."""
        starts = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
        return cls(np.array([label for s in sentences for label in s], np.int64), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many words each sentence has."""
        return np.diff(self.starts).astype(np.int64)

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """How many words of each sentence have a target."""
        return self.lengths - (self.labels is None)

    @property
    def pairs(self) -> int:
        """How many words have a target: a label, or a word that follows them."""
        return int(self.steps.sum())

    def targets(self) -> Numbers:
        """The labels of all words, or else every word but the first of each sentence."""
        if self.labels is not None:
            return self.labels
        keep = np.ones(len(self.ids), dtype=bool)
        keep[self.starts[:-1]] = False
        return self.ids[keep]

    def batch(self, chosen: NDArray[np.int64], rank: int = 0, ranks: int = 1) -> Batch:
        """A batch of the chosen sentences; with several processes, this one's share of it."""
        columns = slice(len(chosen) * rank // ranks, len(chosen) * (rank + 1) // ranks)
        steps = self.steps[chosen]  # (B,)
        time = np.arange(steps.max(initial=0))[:, None]  # (T, 1)
        real = (time < steps)[:, columns]  # (T, B)
        places = np.where(real, self.starts[chosen[columns]] + time, 0)
        targets = self.ids[places + 1] if self.labels is None else self.labels[places]
        return Batch(
            torch.from_numpy(np.where(real, self.ids[places], np.int64(0))),
            torch.from_numpy(np.where(real, targets, np.int64(PADDING))),
            torch.from_numpy(steps[columns]),
            columns,
            len(chosen),
            int(steps.sum()),
        )

    def in_order(self, size: int) -> Iterator[NDArray[np.int64]]:
        """Every sentence once, shortest first, in groups of `size`."""
        order = np.argsort(self.lengths, kind="stable")
        yield from (order[k : k + size] for k in range(0, len(order), size))

    def shuffled(self, size: int, seed: tuple[int, ...]) -> list[NDArray[np.int64]]:
        """Every sentence once at random, in groups of `size` and of similar length."""
        random = np.random.default_rng(seed)
        order = random.permutation(len(self))
        groups: list[NDArray[np.int64]] = []
        for k in range(0, len(order), size * _POOL):
            pool = order[k : k + size * _POOL]
            pool = pool[np.argsort(self.lengths[pool], kind="stable")]
            groups += [pool[j : j + size] for j in range(0, len(pool), size)]
        return [groups[k] for k in random.permutation(len(groups))]


def equally_long(split: Split, most: int) -> Iterator[NDArray[np.int64]]:
    """Every sentence of two words or more once, in groups of one length: none needs padding."""
    order = np.random.default_rng(0).permutation(len(split))
    order = order[np.argsort(split.lengths[order], kind="stable")]
    lengths = split.lengths[order]
    for group in np.split(order, np.flatnonzero(np.diff(lengths)) + 1):
        if len(group) and split.lengths[group[0]] > 1:
            yield from np.split(group, range(most, len(group), most))
