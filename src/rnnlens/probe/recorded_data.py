"""Recorded states as data: sequences to learn from, others that decide when to stop, and others to
measure on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import LabelSet, Scale
from rnnlens.probe.data import Batch, Data, Ints
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.semantics import NONE, OUTPUT
from rnnlens.states.kept import Kept, Target
from rnnlens.states.recorded import RecordedStates

PARTS = ("train", "valid", "test")
_LONGEST = 1024  # steps that are read at once of a sequence; labels further apart are not asked for
_FEW = 10  # sequences: of fewer, each is cut into pieces that are held out
_TENTH = 10
_BATCH_BYTES = 64 << 20  # of states that are read together


def part_of(kept: Kept) -> NDArray[np.int8]:
    """The part of each sequence, a place in PARTS: every tenth decides when to stop, and another
    tenth is measured on.
    """
    number = np.arange(len(kept)) % _TENTH
    return np.where(number == 0, 1, np.where(number == _TENTH // 2, 2, 0)).astype(np.int8)


@dataclass(frozen=True)
class Pieces:
    """Sequences, the longest of them cut."""

    starts: Ints
    lengths: Ints
    sequences: Ints  # which each is of
    parts: NDArray[np.int8]

    @classmethod
    def of(cls, kept: Kept) -> "Pieces":
        lengths = np.diff(kept.starts)
        few = len(kept) < _FEW
        longest = min(_LONGEST, max(2, kept.rows // (2 * _TENTH))) if few else _LONGEST
        counts = -(-lengths // longest)
        sequences = np.repeat(np.arange(len(kept)), counts)
        within = np.arange(len(sequences)) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = kept.starts[sequences] + within * longest
        ends = np.minimum(starts + longest, kept.starts[sequences + 1])
        if few:
            number = np.arange(len(starts)) % _TENTH
            parts = np.where(number == 0, 1, np.where(number == _TENTH // 2, 2, 0)).astype(np.int8)
        else:
            parts = part_of(kept)[sequences]
        return cls(starts, ends - starts, sequences, parts)

    def some(self, chosen: NDArray[np.bool_]) -> "Pieces":
        """Those of one part."""
        return Pieces(
            self.starts[chosen], self.lengths[chosen], self.sequences[chosen], self.parts[chosen]
        )


class RecordedData(Data):
    """Recorded sequences of one part."""

    unit = "sequences"

    def __init__(
        self, model: RecordedStates, pieces: Pieces, codes: Mapping[str, Ints],
        tables: Mapping[str, Tensor],
    ) -> None:  # fmt: skip
        """`codes`: by semantic, the label of every row, or its place in a table."""
        self.model, self.pieces, self.codes, self.tables = model, pieces, codes, tables
        self.counts = pieces.lengths
        self.others = tuple(name for name in codes if name != OUTPUT)

    @cached_property
    def _row_bytes(self) -> int:
        kept = self.model.kept
        return 4 * sum(some.width for some in kept.kinds.values())

    def batches(self, chosen: Ints, device: torch.device) -> Iterator[Batch]:  # noqa: ARG002
        """Sequences of similar length side by side, (T, B)."""
        chosen = chosen[np.argsort(self.pieces.lengths[chosen], kind="stable")]
        most = max(1, _BATCH_BYTES // self._row_bytes)  # rows
        first = 0
        while first < len(chosen):
            last = first + 1
            while (
                last < len(chosen)
                and (last + 1 - first) * self.pieces.lengths[chosen[last]] <= most
            ):
                last += 1
            yield self._batch(chosen[first:last])
            first = last

    def _batch(self, some: Ints) -> Batch:
        lengths = self.pieces.lengths[some]
        steps = np.arange(int(lengths.max()))[:, None]
        rows = np.where(steps < lengths, self.pieces.starts[some] + steps, NONE)
        there = rows >= 0

        def of(values: Ints) -> Tensor:
            return torch.from_numpy(np.where(there, values[rows], NONE))

        codes = {name: of(values) for name, values in self.codes.items()}
        nothing = torch.from_numpy(np.where(there, 0, NONE))
        words = of(self.model.row_labels) if self.model.record.follows else None
        targets = codes.pop(OUTPUT, nothing)
        return Batch(torch.from_numpy(rows), targets, words, codes)


def recorded_dataset(
    model: RecordedStates, vocabulary: Vocabulary, answers: Mapping[str, LabelSet]
) -> Dataset:
    """Recorded states with their targets; `answers` are the labels of these, by semantic."""
    kept, pieces = model.kept, Pieces.of(model.kept)
    codes, tables = _targets(model)
    splits = {
        name: RecordedData(model, pieces.some(pieces.parts == k), codes, tables)
        for k, name in enumerate(PARTS)
        if (pieces.parts == k).any()
    }
    own = kept.targets.get(OUTPUT)
    return Dataset(
        model, splits, len(vocabulary), reads_labels=model.record.follows,
        follows=model.record.follows, answers=answers,
        of_texts=own is not None and own.of_sequences,
    )  # fmt: skip


def _targets(model: RecordedStates) -> tuple[dict[str, Ints], dict[str, Tensor]]:
    """What every row may be asked for: labels, or places in tables of numbers and sets."""
    codes: dict[str, Ints] = {}
    tables: dict[str, Tensor] = {}
    names = [*model.kept.targets]
    if model.record.follows:
        names = [OUTPUT, *names]
    for name in names:
        labels = model.labels(name)
        if labels is None:
            target = model.kept.targets[name]
            codes[name], tables[name] = _table(target)
        else:
            codes[name] = labels
    return codes, tables


def _table(target: Target) -> tuple[Ints, Tensor]:
    rows = np.arange(len(target.values))
    if target.is_number:
        rows = np.where(np.isnan(target.values), NONE, rows)
    return rows, torch.from_numpy(target.values)


def answers_of(kept: Kept, target: Target) -> LabelSet:
    """What states are asked for by a target; bins of numbers are those of training."""
    if not target.is_number:
        return LabelSet(target.names, several=target.is_set)
    pieces = Pieces.of(kept)
    train = np.zeros(kept.rows + 1, np.int8)
    chosen = pieces.parts == 0
    np.add.at(train, pieces.starts[chosen], 1)
    np.add.at(train, pieces.starts[chosen] + pieces.lengths[chosen], -1)
    values = target.values[np.cumsum(train[:-1]) > 0]
    values = values[~np.isnan(values)]
    if not len(values):
        raise RnnlensError(f"{kept.path}: too few targets are numbers; record more")
    scale = Scale.of(torch.from_numpy(values))
    return LabelSet(scale.names, scale=scale)
