"""Dataset: the states of a model on its data, with the labels that they are asked about.

Fitting, measuring, controls and the lens all take them from here: nowhere else are labels shifted
or counted. States come straight from the model, chunk by chunk.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.lazy import at_hand, once
from rnnlens.model.traceable import Readout, Trace, Traceable
from rnnlens.model.transition import LARGEST
from rnnlens.probe.data import Batch, Data, Ints
from rnnlens.probe.fit_config import FEW_LABELS, FitConfig
from rnnlens.probe.memory_questions import Questions
from rnnlens.probe.semantics import INPUT, NONE, OUTPUT, base, labels_at, of_model, shift

CHUNK = 4096  # states of every kind that measuring holds at once
_CHUNK_ON_CUDA = 65536  # the same where a GPU reads on and on
_SHARE_OF_CHUNK = 16  # of a GPU's memory, the part that states of such a chunk may take
_ROOM = 256 * 2**20  # bytes of states that a stream keeps, so as not to trace them again
_ROOM_OF_FEW = 2**31  # the same of few labels, whose fit reads them again and again
_PART_OF_MEMORY = 8  # of which that is one at most
_ASKED = 4096  # memories that are asked at once
_SHARE = 3  # of a GPU's free memory, the part in so many that may be kept instead


@dataclass(frozen=True)
class Chunk:
    """Some states, all of which have a label."""

    states: States  # kind -> (N, H), and `y` if the stream has it among its kinds
    labels: Tensor  # (N,), or (N, V) where several hold at once
    sequences: Tensor  # (N,) to which sequence each belongs; within one they stand in time's order
    count: int  # of sequences
    values: Tensor | None = None  # (N,) where labels are bins: the numbers in them
    words: Tensor | None = None  # (N,) the words that are read there, where they are numbers
    pieces: Ints | None = None  # (count,) which piece each sequence is, where each is one
    steps: Tensor | None = None  # (N,) the timestep of each, from 0 on


class Dataset:
    """A model and its data, in the splits train, valid and test."""

    def __init__(
        self,
        model: Traceable,
        splits: Mapping[str, Data],
        label_count: int,
        *,
        reads_labels: bool = True,
        follows: bool = True,
        answers: Mapping[str, LabelSet] | None = None,
        of_texts: bool = False,
    ) -> None:
        """`reads_labels`: the words that the model reads are labels, so that probes can be asked
        for the semantic `input`. `follows`: targets are the words that come next. `answers`: by
        semantic, the labels of `output`, where these are more than names, and of all others.
        `of_texts`: a target is of a whole sequence, and stands at each of its states.
        """
        self.model, self.splits, self.label_count = model, splits, label_count
        self.answers = {OUTPUT: LabelSet.numbered(label_count), **(answers or {})}
        self.reads_labels, self.follows, self.of_texts = reads_labels, follows, of_texts
        large = model.unprobed
        self.kinds = tuple(kind.id for kind in model.kinds if kind.id not in large)
        #: By semantic, the questions that memories are asked: their streams have the answers.
        self.questions: dict[str, Mapping[str, Questions]] = {}
        #: How many such datasets are at work on one GPU, and share what is free of its memory.
        self.sharing = 1
        self._counts: dict[str, Tensor] = {}

    @property
    def device(self) -> torch.device:
        """The device that holds the states."""
        return self.model.device

    def settled(self, config: FitConfig) -> FitConfig:
        """How probes of this model are fitted, where that was left open."""
        numbers = (matrix.numbers for matrix in self.model.matrices.values())
        read = [count for count in numbers if count <= LARGEST]  # the others are asked questions
        return config.settled(self.label_count, max(read, default=0))

    def stream(
        self, split: str, semantic: str, size: int = CHUNK, kinds: Sequence[str] | None = None,
        most: int | None = None,
    ) -> "Stream":  # fmt: skip
        """The states of a split, about `size` at once, with the labels of a semantic; of all kinds
        unless `kinds` names some. Of a batch, `most` states at most, spread over it evenly.
        """
        self.answers_to(semantic)
        if semantic == INPUT and not self.reads_labels:
            raise RnnlensError(
                "the semantic input asks for the word that was read, and the module's labels are "
                "not the words it reads; leave input out"
            )
        asked = self.questions.get(semantic, {})
        return Stream(self, self.splits[split], semantic, size, kinds or self.kinds, asked, most)

    def many_at_once(self, split: str, semantic: str, kinds: Sequence[str] | None = None) -> int:
        """How many states of every kind are held at once by who reads a whole split: on a GPU many,
        unless they are wide. By all of its memory, and not by what is free: the same in every
        process and when it goes on.
        """
        if self.device.type != "cuda":
            return CHUNK
        few = self.stream(split, semantic, 1, kinds)
        states = few.chunk(np.zeros(1, dtype=np.int64)).states
        numbers = sum(states[kind].shape[1] for kind in few.kinds)  # of all kinds, at a timestep
        whole = torch.cuda.get_device_properties(self.device).total_memory // self.sharing
        return min(_CHUNK_ON_CUDA, max(CHUNK, whole // (_SHARE_OF_CHUNK * 4 * numbers)))

    def answers_to(self, semantic: str) -> LabelSet:
        """The labels that a semantic asks for."""
        name = OUTPUT if of_model(semantic) else base(semantic)
        if name not in self.answers or (name == OUTPUT and not self.model.has_labels):
            there = [n for n in self.answers if n != OUTPUT or self.model.has_labels]
            raise RnnlensError(
                f"{semantic!r} is no semantic here; give {', '.join(there)}, or a number behind "
                "it, as output+2; tag wants a tagged corpus, other names targets in the batches"
            )
        return self.answers[name]

    @cached_property
    def classifier(self) -> Readout | None:
        """The model's own linear map, to logits or to its number, of one of the kinds."""
        readout = self.model.start()
        return readout if readout is not None and readout.kind in self.kinds else None

    def counts(self, semantic: str) -> Tensor:
        """How often each label occurs in the training data, (V,)."""
        if semantic not in self._counts and "train" not in self.splits:
            raise RnnlensError(
                f"the frequencies of the labels of {semantic} in training are not known here; fit "
                "the probes anew, which keeps them"
            )
        if semantic not in self._counts:
            self._counts[semantic] = self.stream("train", semantic).frequencies()
        return self._counts[semantic]

    def note_counts(self, semantic: str, counts: Tensor) -> Tensor:
        """Keep how often each label is asked for in training, where a pass has told it."""
        return self._counts.setdefault(semantic, counts)


class Stream:
    """The states of one split under one semantic."""

    def __init__(
        self, dataset: Dataset, data: Data, semantic: str, size: int, kinds: Sequence[str],
        questions: Mapping[str, Questions], most: int | None = None,
    ) -> None:  # fmt: skip
        self.model, self.data, self.size, self.kinds = dataset.model, data, size, tuple(kinds)
        self.answers, self.follows = dataset.answers_to(semantic), dataset.follows
        self.questions = {kind: some.to(dataset.device) for kind, some in questions.items()}
        self.most = most
        self.semantic, self.table = semantic, data.tables.get(base(semantic))
        self._kept: dict[bytes, Chunk] = {}  # by its pieces
        few = len(self.answers) <= FEW_LABELS
        share = _SHARE * dataset.sharing * (2 if questions else 1)
        self._room = room(dataset.device, share, few=few, sharing=dataset.sharing)

    @property
    def pairs(self) -> int:
        """About how many states have a label."""
        return self.data.pairs(self.semantic)

    @property
    def room(self) -> int:
        """Bytes of states that can still be kept."""
        return self._room

    def plan(self, seed: tuple[int, ...] | None) -> list[Ints]:
        """The pieces of each chunk, drawn at random; without a seed, in their order."""
        return self._plan(seed, self.size)

    def _plan(self, seed: tuple[int, ...] | None, size: int) -> list[Ints]:
        order = np.arange(len(self.data.counts))
        if seed is not None:
            order = np.random.default_rng(seed).permutation(order)
        filled = np.cumsum(self.data.counts[order]) // size
        return np.split(order, np.flatnonzero(np.diff(filled)) + 1)

    def order(self) -> Ints:
        """The pieces in the order in which their sequences come, `CHUNK` states at once; only of
        data where each piece is one.
        """
        there = (self.data.in_order(chosen) for chosen in self._plan(None, CHUNK))
        return np.concatenate([chosen for chosen in there if chosen is not None])

    def chunks(self, seed: tuple[int, ...] | None = None) -> Iterator[Chunk]:
        """All states, each once."""
        for chosen in self.plan(seed):
            yield self.chunk(chosen)

    def chunk(self, chosen: Ints) -> Chunk:
        """The states of some pieces; an error where one is no finite number.

        They are kept while there is room: whoever asks for the same pieces again does not wait.
        """
        key = chosen.tobytes()
        if key in self._kept:
            kept = self._kept[key]
            return replace(kept, states=dict(kept.states))  # whoever asks may take states out
        chunk = self._read(chosen)
        size = sum(v.numel() * v.element_size() for v in chunk.states.values())
        if size <= self._room:
            self._room -= size
            self._kept[key] = replace(chunk, states=dict(chunk.states))
        return chunk

    @torch.no_grad()
    def _read(self, chosen: Ints) -> Chunk:
        """What `chunk` gives, traced anew."""
        parts = [self._traced(batch) for batch in self.data.batches(chosen, self.model.device)]
        states = {kind: _joined([part.states[kind] for part in parts]) for kind in self.kinds}
        finite = torch.stack([torch.isfinite(v).all() for v in states.values()])
        if not finite.all():  # one question for all kinds, since each makes the CPU wait for a GPU
            kind = self.kinds[int(finite.int().argmin())]
            raise RnnlensError(
                f"the model gives states of kind {kind} that are not numbers; train it anew"
            )
        sequences, count = [], 0
        for part in parts:
            sequences.append(part.sequences + count)
            count += part.count
        labels = torch.cat([part.labels for part in parts])
        values = [part.values for part in parts if part.values is not None]
        numbers = torch.cat(values) if values else None
        pieces = self.data.in_order(chosen)
        words = [part.words for part in parts if part.words is not None]
        read = torch.cat(words) if words and len(words) == len(parts) else None
        steps = [part.steps for part in parts if part.steps is not None]
        at = torch.cat(steps) if steps else None
        return Chunk(states, labels, torch.cat(sequences), count, numbers, read, pieces, at)

    def frequencies(self) -> Tensor:
        """How often each label occurs; data whose labels need no trace is not traced."""
        if self.data.whole_pieces:
            return self._counted(chunk.labels for chunk in self.chunks())
        return self._counted_codes(self.labels(batch, lambda: Trace({})) for batch in self._every())

    def given_frequencies(self) -> Tensor:
        """How often each label is among the targets as they were given: about as often as it
        occurs, without tracing anything.
        """
        given = (batch.labels(base(self.semantic)) for batch in self._every())
        return self._counted_codes(map(self._checked, given))

    def _every(self) -> Iterator[Batch]:
        return self.data.batches(np.arange(len(self.data.counts)), torch.device("cpu"))

    def _counted_codes(self, codes: Iterable[Tensor]) -> Tensor:
        """How often each label occurs, where labels may be places in a table."""
        present = (_present(part) for part in codes)
        if self.table is None:
            return self._counted(present)
        table = self.table
        return self._counted(self.answers.of(table[part.to(table.device)]) for part in present)

    def _counted(self, labels: Iterable[Tensor]) -> Tensor:
        counts = (self.answers.counts(part.cpu()) for part in labels)
        return sum(counts, start=self.answers.no_counts())

    @torch.no_grad()
    def _traced(self, batch: Batch) -> Chunk:
        """The states of a batch that have a label."""
        alone = self.kinds == (PREDICTION,)
        read = self.model.prediction_alone if alone else self.model.trace
        trace = read(batch.inputs)
        labels = self.labels(batch, lambda: trace)  # (T, B)
        first = trace.prediction if alone else next(iter(at_hand(trace.states).values()))
        device = first.device
        keep = (labels.flatten() >= 0).nonzero()[:, 0].to(device)
        if self.most and len(keep) > self.most:
            keep = keep[torch.arange(self.most, device=device) * len(keep) // self.most]
            kept = torch.full_like(labels.flatten(), NONE)
            kept[keep.to(labels.device)] = labels.flatten()[keep.to(labels.device)]
            labels = kept.view_as(labels)
        rows = {kind: self._rows(kind, trace, labels, keep) for kind in self.kinds}
        present, of = _present(labels), (keep % labels.shape[1], labels.shape[1])
        words = None if batch.words is None else self.model.in_time(batch.words, lambda: trace)
        if words is not None:
            same = words.shape == labels.shape
            words = words.to(device).flatten()[keep] if same else None
        if self.table is None:
            return Chunk(rows, present.to(device), *of, words=words)
        targets = self.table[present.to(self.table.device)].to(device)
        values = targets if self.answers.scale else None
        steps = keep // labels.shape[1]
        return Chunk(rows, self.answers.of(targets), *of, values, words, steps=steps)

    def _rows(self, kind: str, trace: Trace, labels: Tensor, keep: Tensor) -> Tensor:
        """The states of a kind that have a label, (N, H); of a memory that is asked, the answers,
        so that no more than one memory is held at once.
        """
        states = self._beside(kind, trace, labels).flatten(0, 1)
        asked = self.questions.get(kind)
        if asked is None:
            return states[keep].float()
        return torch.cat([asked(states[some].float()) for some in keep.split(_ASKED)])

    def _beside(self, kind: str, trace: Trace, labels: Tensor) -> Tensor:
        """The states (T, B, H) of a kind, checked to be as many as the labels."""
        values = trace.prediction if kind == PREDICTION else once(trace.states, kind)
        if kind == PREDICTION and len(values) == 1 < len(labels):  # one for a whole sequence
            values = values.expand(len(labels), -1, -1)
        if values.shape[:2] != labels.shape:
            name = "the prediction" if kind == PREDICTION else kind
            raise RnnlensError(
                f"{name} has {len(values)} timesteps of {values.shape[1]} sequences in a batch "
                f"where targets have {len(labels)} of {labels.shape[1]}, unlike in the first; give "
                "batches that are alike"
            )
        return values

    def labels(self, batch: Batch, trace: Callable[[], Trace]) -> Tensor:
        """The label of every state of a batch, (T, B); NONE where there is none."""
        name = base(self.semantic)
        given = batch.targets if name == INPUT else batch.labels(name)
        wanted = targets = self.model.in_time(given, trace)
        if name == INPUT:
            wanted = self._words(batch, trace)
        elif shift(self.semantic):
            wanted = self._shifted(targets, batch, trace)
        return self._checked(torch.where(targets >= 0, wanted, NONE).clamp_min(NONE))

    def _checked(self, labels: Tensor) -> Tensor:
        """Labels, refused where one is none of those that there are."""
        count = len(self.answers) if self.table is None else len(self.table)
        if labels.numel() and labels.max() >= count:
            raise RnnlensError(
                f"a target is {int(labels.max())}, and there are {count} labels, 0 to "
                f"{count - 1}; mend the targets, or give labels= the names of all"
            )
        return labels

    def numbered(self, batch: Batch, trace: Trace) -> Tensor:
        """The label of every state, (T, B), where one of many holds: of a number its bin."""
        labels = self.labels(batch, lambda: trace)
        if self.table is None:
            return labels
        found = self.answers.of(self.table[labels.clamp_min(0).to(self.table.device)])
        return torch.where(labels >= 0, found.to(labels), NONE)

    def _words(self, batch: Batch, trace: Callable[[], Trace]) -> Tensor:
        if batch.words is None:
            raise RnnlensError(
                "the semantic input needs batches that hold the words as whole numbers, as "
                "many as there are targets; leave input out"
            )
        return self.model.in_time(batch.words, trace)

    def _shifted(self, targets: Tensor, batch: Batch, trace: Callable[[], Trace]) -> Tensor:
        """The targets some steps later or earlier.

        Where targets are the next words, the first word precedes the first target.
        """
        steps = shift(self.semantic)
        places = torch.arange(len(targets), device=targets.device) + steps
        follows = self.follows and base(self.semantic) == OUTPUT
        if steps < 0 and follows and batch.words is not None:
            first = torch.where(targets[:1] >= 0, self._words(batch, trace)[:1], NONE)
            targets, places = torch.cat([first.to(targets.dtype), targets]), places + 1
        return labels_at(targets, places)


def free_memory(device: torch.device) -> int:
    """How many bytes of a GPU's memory are free for this process, which may be allowed a share."""
    free, whole = torch.cuda.mem_get_info(device)
    allowed = torch.cuda.get_per_process_memory_fraction(device) * whole
    return int(min(free, allowed - torch.cuda.memory_reserved(device)))


def room(device: torch.device, share: int = _SHARE, *, few: bool = False, sharing: int = 1) -> int:
    """How many bytes of states a stream may keep: of a GPU's free memory a part in so many, of a
    CPU's more where labels are `few`, and less where so many are `sharing` it.
    """
    if device.type != "cuda":
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        most = min(_ROOM_OF_FEW, whole // _PART_OF_MEMORY) // sharing
        return max(_ROOM, most) if few else _ROOM
    return max(_ROOM, free_memory(device) // share)


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """Several tensors one after the other; a single one is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def _present(labels: Tensor) -> Tensor:
    """The labels without the places that have none."""
    return labels[labels >= 0]
