"""Recorded states before the contracts of the house: a Traceable that looks states up in place of
computing them, and a text side whose texts are those that were recorded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge, Le, Len, MaxLen
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Name, Sha, Strict
from rnnlens.base.tensors import LARGEST
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import MOST_LABELS, UNK, UNKNOWN, LabelSet, Scale
from rnnlens.model.cell import States
from rnnlens.model.kinds import MOST_KINDS, PREDICTION, Edge, Kind
from rnnlens.model.text import Listed, TextSide, column
from rnnlens.model.traceable import Readout, StateEdit, Trace, Traceable
from rnnlens.states.arrays import Column, Floats, is_float
from rnnlens.states.kept import OUTPUT, Kept

MOST_WORDS = 10_000  # that are labels, where words are asked for and nobody has named them
_LAYER = re.compile(r"(\d{1,3})<?\Z")
_NONE = -1
_ROOM = 256 << 20  # bytes of states that are held in memory

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class StatesRecord(Strict):
    """All that a run keeps of recorded states beside a few texts; as a file, its model.json."""

    states: Name  # the folder that they are in
    kinds: Annotated[tuple[Kind, ...], Len(1, MOST_KINDS)]
    labels: Annotated[int, Ge(1), Le(MOST_LABELS)]
    follows: bool  # whether labels are the words that follow
    has_labels: bool  # whether there are labels of the semantic output
    predicts: bool  # whether the network's own logits were recorded, too
    count: Annotated[int, Ge(1), Le(2**62)]  # of sequences
    sha256: Sha
    several: bool = False
    scale: Scale | None = None
    #: What the files do not name themselves.
    named: Annotated[dict[Name, tuple[Name, ...]], MaxLen(1000)] | None = None
    end: Name | None = None  # the word after which sequences end
    vocabulary: Sha | None = None

    def __post_init__(self) -> None:
        ids = [kind.id for kind in self.kinds]
        if len(set(ids)) != len(ids) or not all(kind.is_sound for kind in self.kinds):
            raise ValueError("a kind is not such as recorded states have")
        if any(kind.letter or kind.sources != (Edge(kind.id, 1),) for kind in self.kinds):
            raise ValueError("of a recorded kind no more is known than its step before")
        if self.scale and len(self.scale.middles) != self.labels:
            raise ValueError("there are not as many bins as labels")

    def answers(self, names: Sequence[str]) -> LabelSet:
        """The labels of `output`, by their names."""
        return LabelSet(tuple(names), self.several, self.scale)


def kinds_of(kept: Kept) -> tuple[Kind, ...]:
    """The kinds that were recorded, of whose equations nothing is known: turns are those of a kind
    from one step to the next. A number at the end of a name, as in h2, is taken for the layer.
    """
    found = []
    for name in kept.kinds:
        layer = _LAYER.search(name.rpartition(".")[2])
        number = int(layer[1]) if layer else 0
        before = (Edge(name, 1),)
        found.append(Kind(name, name, name, "recorded", before, number, output=True))
    return tuple(found)


def word_labels(kept: Kept) -> tuple[str, ...]:
    """The words as labels: all that are named, or the most frequent and one for the others."""
    if kept.words is None or not kept.has_names:
        return ()
    counts = np.bincount(kept.words, minlength=len(kept.names))
    if len(kept.names) <= MOST_WORDS:
        return kept.names
    order = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    frequent = [kept.names[k] for k in order]
    return (*frequent, *(() if {*UNKNOWN} & {*frequent} else (UNK,)))


class RecordedStates(Traceable):
    """States by their record; the files are opened when they are first needed."""

    reads = False

    def __init__(self, record: StatesRecord, make: Callable[[], Kept]) -> None:
        self.record, self._make = record, make
        self._lock = Lock()
        self._kept: Kept | None = None
        self._device = torch.device("cpu")
        self.index: dict[str, int] = {}  # the label of each word, where words are labels
        self.unknown = _NONE
        self._labels: dict[str, Labels | None] = {}

    @property
    def kept(self) -> Kept:
        """The states themselves."""
        with self._lock:
            if self._kept is None:
                kept = self._make()
                if kept.sha256 != self.record.sha256:
                    raise RnnlensError(
                        f"the states in {kept.path} are not those that this run was made of; say "
                        "where they are now: rnnlens.load(run, model=folder)"
                    )
                self._kept = kept
            return self._kept

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.record.kinds

    @property
    def predicts(self) -> bool:  # type: ignore[override]
        return self.record.predicts

    @property
    def has_labels(self) -> bool:
        return self.record.has_labels

    @property
    def label_count(self) -> int:
        """How many labels there are."""
        return self.record.labels

    @property
    def description(self) -> str:
        return f"recorded states, {len(self.kinds)} kinds"

    @property
    def device(self) -> torch.device:
        return self._device

    def on(self, device: torch.device) -> "RecordedStates":
        self._device = device
        return self

    def classifier(self) -> Readout | None:
        return None

    def predict(self, y: Tensor) -> Tensor:
        return y.contiguous()

    def trace(
        self, batch: Any, start: States | None = None, edits: Sequence[StateEdit] = ()
    ) -> Trace:
        """The states of rows (T, B), one sequence a column, negative where it has ended."""
        if edits or start:
            self.check_reads("an edit")
        rows = batch.cpu().numpy()
        lengths = (rows >= 0).sum(0)
        states = {
            kind: self._rows(kind, some, rows, lengths) for kind, some in self.kept.kinds.items()
        }
        y = self.kept.y
        return Trace(
            states,
            torch.from_numpy(lengths),
            None if y is None else self._rows(PREDICTION, y, rows, lengths),
            self.predict,
        )

    def _rows(self, kind: str, some: Column, rows: Labels, lengths: Labels) -> Tensor:
        found = np.zeros((*rows.shape, some.width), np.float32)
        if held := self._held:
            found[rows >= 0] = held[kind][rows[rows >= 0]]
        else:
            for k, length in enumerate(lengths):
                first = int(rows[0, k])
                found[:length, k] = some.rows(first, first + int(length))
        states = torch.from_numpy(found)
        low, high = torch.aminmax(states)
        if not (low >= -LARGEST and high <= LARGEST) and kind != PREDICTION:
            wrong = ~(np.abs(found) <= LARGEST).all(-1)
            raise RnnlensError(
                f"row {int(rows[wrong][0]):,} of {kind} in {self.kept.path} holds "
                f"{float(found[wrong][0][~(np.abs(found[wrong][0]) <= LARGEST)][0])}, which is no "
                "state; record it anew"
            )
        return states.to(self._device)

    @cached_property
    def _held(self) -> dict[str, Floats]:
        """All states where they are few, so that every epoch of a fit finds them in memory."""
        kept = self.kept
        every = {**kept.kinds, **({} if kept.y is None else {PREDICTION: kept.y})}
        if 4 * kept.rows * sum(some.width for some in every.values()) > _ROOM:
            return {}
        return {kind: some.rows(0, kept.rows) for kind, some in every.items()}

    @cached_property
    def row_labels(self) -> Labels:
        """The label that the word of each row is, where words are labels; else -1."""
        kept = self.kept
        if not self.record.follows or kept.words is None:
            return np.full(kept.rows, _NONE)
        labels = [self.index.get(name, self.unknown) for name in kept.names]
        found: Labels = np.array(labels, np.int64)[kept.words]
        return found

    def labels(self, name: str) -> Labels | None:
        """The label that is right at each row, -1: none; None for numbers and sets."""
        if name not in self._labels:
            self._labels[name] = self._labels_of(name)
        return self._labels[name]

    def _labels_of(self, name: str) -> Labels | None:
        kept = self.kept
        if name == OUTPUT and self.record.follows:
            labels = np.append(self.row_labels[1:], _NONE)
            labels[kept.starts[1:] - 1] = _NONE  # where a sequence ends, nothing follows
            return labels
        target = kept.targets.get(name)
        if target is None or target.is_number or target.is_set:
            return None
        return target.values.astype(np.int64)

    def text(self, vocabulary: Vocabulary) -> "RecordedTexts":
        """The texts that were recorded."""
        if self.record.follows:
            self.index = vocabulary.index
            self.unknown = _NONE if vocabulary.unknown is None else vocabulary.unknown
        answers = self.record.answers(vocabulary.labels)
        return RecordedTexts(
            vocabulary, str.split, column, self.record.follows, answers=answers, model=self
        )


@dataclass(frozen=True)
class RecordedTexts(TextSide):
    """Texts of recorded states. The number of a word is its row, so that each text is known by its
    states, and not by its words: two may have the same.
    """

    model: RecordedStates | None = None

    @property
    def kept(self) -> Kept:
        """What was recorded."""
        if self.model is None:
            raise TypeError("texts are of some states")
        return self.model.kept

    def words(self, text: str) -> tuple[str, ...]:
        return self.kept.words_of(self.kept.number(text)) if text.strip() else ()

    def numbers(self, text: str, words: Sequence[str]) -> list[int]:
        return [*self.kept.span(self.kept.number(text))][: len(words)] if words else []

    def encode(self, words: Any) -> list[int]:
        words = list(words)
        return self.numbers(" ".join(words), words)

    def came(self, ids: Sequence[int]) -> list[int]:
        if not self.follows or self.model is None:
            return [_NONE] * len(ids)
        labels: list[int] = self.model.row_labels[list(ids)].tolist()
        return labels

    def told(
        self, ids: Sequence[int], name: str, answers: LabelSet | None = None
    ) -> list[int] | None:
        labels = self.model.labels(name) if self.model else None
        target = self.kept.targets.get(name)
        if labels is not None:
            found: list[int] = labels[list(ids)].tolist()
            return found
        if target is None or not target.is_number or answers is None or answers.scale is None:
            return None
        values = torch.from_numpy(target.values[list(ids)])
        bins = answers.scale.bins(values.nan_to_num())
        return [int(b) if there else _NONE for b, there in zip(bins, ~values.isnan(), strict=True)]

    def listed(self, find: str, first: int, most: int) -> Listed:
        found = self.kept.found(find)
        shown = [(f"#{k}", " ".join(self.kept.words_of(k))) for k in found[first : first + most]]
        return Listed(len(self.kept), len(found), shown)

    def name(self, number: int) -> str:
        return self.kept.word(number)

    def values(self, number: int) -> tuple[float, ...]:
        words = self.kept.words
        is_number = words is not None and is_float(words.dtype)
        return (float(words[number]),) if words is not None and is_number else ()

    def is_unknown(self, number: int) -> bool:
        if not self.follows or self.model is None or self.model.unknown < 0:
            return False
        return bool(self.model.row_labels[number] == self.model.unknown)


def named_as(given: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]] | None:
    """What a record keeps of names that the files have not."""
    return {name: tuple(names) for name, names in given.items()} or None
