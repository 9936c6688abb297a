"""A source beside the target: modules with an encoder and a decoder.

Which of the tensors that a module is fed is its source, which kinds read it, and how a typed pair
is fed, is found in batches; see `source_reading` for what is then verified.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import Ge, Le, Len, MaxLen, Predicate
from torch import Tensor

from rnnlens.adapter.attention import LIE, MOST_HEADS, WHOLE
from rnnlens.adapter.axes.alignment import Reader, aligned
from rnnlens.adapter.axes.layout import is_whole, tensors
from rnnlens.adapter.batches import Batch, words_of
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Name, Strict
from rnnlens.labels.sets import MOST_LABELS
from rnnlens.model.cell import States
from rnnlens.model.kinds import MOST_KINDS
from rnnlens.model.traceable import StateEdit, Trace

SOURCE, TARGET = "source", "target"
_LENGTHS, _MASK, _PADDING = " lengths", " mask", " padding"  # of either: what else may be fed
_ROLES = tuple(side + what for side in (SOURCE, TARGET) for what in ("", _LENGTHS, _MASK, _PADDING))
_TYPES = {
    str(one).removeprefix("torch."): one
    for one in (
        torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16,
        torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64,
    )
}  # fmt: skip
BATCHES = 32  # that are looked through


@dataclass(frozen=True)
class Source:
    """Where the source is among what a module is fed, and what reads it."""

    path: str  # of its tensor in the inputs, as `tensors` has it
    kinds: tuple[str, ...]  # that have a state for each of its words
    sequences_first: bool


@dataclass(frozen=True)
class Argument(Strict):
    """One of the tensors that a module is fed for a pair."""

    role: Annotated[str, Predicate(_ROLES.__contains__)]
    name: Name = ""  # where arguments are given by name
    type: Annotated[str, Predicate(_TYPES.__contains__)] = "int64"
    sequences_first: bool = True

    def made(self, source: Sequence[int], target: Sequence[int], device: torch.device) -> Tensor:
        """The tensor for one pair, of which nothing is padding."""
        words = source if self.role.startswith(SOURCE) else target
        dtype = _TYPES[self.type]
        if self.role.endswith(_LENGTHS):
            return torch.tensor([len(words)], dtype=dtype, device=device)
        values: Sequence[int] = words
        if self.role.endswith((_MASK, _PADDING)):
            values = [int(self.role.endswith(_MASK))] * len(words)
        row = torch.tensor(list(values), device=device).to(dtype)
        return row[None] if self.sequences_first else row[:, None]


@dataclass(frozen=True)
class SourceRecord(Strict):
    """All that a run keeps of a source: its words, the kinds that read it, how a pair is fed."""

    names: Annotated[tuple[Name, ...], Len(1, MOST_LABELS)]  # of its words, by their numbers
    counts: Annotated[tuple[Count, ...], MaxLen(MOST_LABELS)]  # how often each comes in training
    kinds: Annotated[tuple[Name, ...], Len(1, MOST_KINDS)]
    path: Name  # of its tensor among the inputs
    sequences_first: bool
    #: What the module is fed for a pair; None: `prepare` makes it.
    fed: Annotated[tuple[Argument, ...], Len(1, 16)] | None = None
    pad: Count | None = None  # that fills sources up in batches
    end: Count | None = None  # the label that ends every target
    #: Why a target cannot be generated; empty: it can be, word by word.
    stuck: Name = ""
    attention: Name = ""  # the submodule whose weights over the source these are; empty: none
    heads: Annotated[int, Ge(1), Le(MOST_HEADS)] = 1  # that the attention has
    #: How the weights of several heads lie.
    lie: Annotated[str, Predicate(LIE.__contains__)] = WHOLE

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.names):
            raise ValueError("there are not as many counts as words of the source")
        if len(set(self.names)) != len(self.names):
            raise ValueError("two words of the source have one name")
        roles = [one.role for one in self.fed or ()]
        if self.fed is not None and not {SOURCE, TARGET} <= {*roles}:
            raise ValueError("a pair is fed without its source or its target")

    def inputs(self, source: Sequence[int], target: Sequence[int], device: torch.device) -> Any:
        """What the module is fed for a pair."""
        if self.fed is None:
            raise RnnlensError(
                "how a source and a target are fed to the module is not known; give prepare= a "
                "function from the numbers of both, prepare(source, target), to what it takes"
            )
        made = {k: one.made(source, target, device) for k, one in enumerate(self.fed)}
        if self.fed[0].name:
            return {one.name: made[k] for k, one in enumerate(self.fed)}
        return tuple(made.values())

    def drawn(self, inputs: Any, trace: Trace, steps: int) -> States:
        """States of the source beside those of the target, (T, B, H): each target stands beside a
        word of its own source, drawn at random, but the same whenever the batch is read.
        """
        rows = source_rows(inputs, self.path, self.sequences_first)
        length = min(len(trace.states[kind]) for kind in self.kinds)
        there = real(rows, self.pad)[:, :length]
        there |= ~there.any(1, keepdim=True)
        seed = int(rows.sum()) * 1009 + rows.numel()
        draw = torch.Generator().manual_seed(seed % (1 << 62))
        at = there.double().cpu().multinomial(steps, True, generator=draw).T  # (T, B)
        across = torch.arange(len(rows))
        return {kind: trace.states[kind][at, across] for kind in self.kinds}


@dataclass(frozen=True)
class PairBatch:
    """What a module is fed for a source and a target, whose words are rows one after the other."""

    inputs: Any
    source: int  # words
    target: int

    def moved(self, edits: Sequence[StateEdit], kinds: Collection[str]) -> list[StateEdit]:
        """Edits by rows as edits by timesteps; `kinds` read the source."""
        first = {True: 0, False: self.source}
        return [edit._replace(step=edit.step - first[edit.kind in kinds]) for edit in edits]

    def of(self, trace: Trace, kinds: Collection[str]) -> Trace:
        """The states of one pair by rows: zeros where a kind has none."""
        rows = self.source + self.target

        def placed(values: Tensor, of_source: bool) -> Tensor:
            first, count = (0, self.source) if of_source else (self.source, self.target)
            if len(values) < count or values.shape[1] != 1:
                raise RnnlensError(
                    f"a {SOURCE if of_source else TARGET} of {count} words was read as "
                    f"{values.shape[1]} sequences of {len(values)} timesteps; give prepare= a "
                    "function after which each word has one"
                )
            made = values.new_zeros(rows, *values.shape[1:])
            made[first : first + count] = values[:count]
            return made

        states = {kind: placed(v, kind in kinds) for kind, v in trace.states.items()}
        y = None if trace.y is None else placed(trace.y, False)
        return Trace(states, None, y, trace.predict)


def source_rows(inputs: Any, path: str, first: bool) -> Tensor:
    """The words of the sources of a batch, (B, S)."""
    found = dict(tensors(inputs)).get(path)
    if found is None or found.dim() != 2:
        raise RnnlensError(
            f"a batch has no source where others have one, inputs{path}; give batches that are "
            "alike"
        )
    return found if first else found.T


def real(rows: Tensor, pad: int | None) -> Tensor:
    """Which of some words are no padding."""
    return torch.ones_like(rows, dtype=torch.bool) if pad is None else rows != pad


def find_source(reader: Reader, batches: Sequence[Batch], target_kinds: Sequence[str]) -> Source:
    """Where the source is in some batches, by changing words of what may be one."""
    inputs, targets = batches[0]
    words = words_of(inputs, targets)
    _check_target(inputs, targets, words)
    trace = reader.trace(inputs)
    count = trace.states[target_kinds[-1]].shape[1]
    whole = [
        (path, one)
        for path, one in tensors(inputs)
        if one is not words and one.dim() == 2 and is_whole(one) and count in one.shape
    ]
    whole.sort(key=lambda found: -len(found[1].unique()))
    for path, one in whole:
        alignment = aligned(reader, inputs, one)
        kinds = tuple(
            kind for kind, values in trace.states.items()
            if kind in (alignment.readers or ())
            and kind not in alignment.astray and kind not in target_kinds
            and values.shape[1] == count and len(values) <= max(one.shape)
        )  # fmt: skip
        first = alignment.sequences_first
        if first is None and one.shape[0] != one.shape[1]:
            first = one.shape[0] == count
        if kinds and first is not None:
            return Source(path, kinds, first)
    raise RnnlensError(
        "source= names the words of a source, and no kind reads one: of what the module is fed, "
        f"{len(whole)} tensors beside the target are whole numbers, and changing their words moves "
        "no state of an encoder in their place; leave source= out, or name the encoder's layers "
        "in kinds="
    )


def _check_target(inputs: Any, targets: Tensor, words: Tensor | None) -> None:
    """Refuse a target that does not stand beside what is predicted."""
    if words is not None and targets.dim() == 2:
        return
    longer = ((targets.shape[0], targets.shape[1] + 1), (targets.shape[0] + 1, targets.shape[1]))
    whole = [path for path, one in tensors(inputs) if is_whole(one) and one.shape in longer]
    if targets.dim() == 2 and whole:
        raise RnnlensError(
            f"inputs{whole[0]} has one word more than there are targets, so that the module leaves "
            "the last out itself; give batches ((source, target[:, :-1]), target[:, 1:]) and "
            "feed=lambda module, batch: module(batch[0], torch.nn.functional.pad(batch[1], (0, 1)))"
        )
    raise RnnlensError(
        f"source= is for modules that are fed a source and a target, and no words of a target "
        f"stand beside targets of shape {tuple(targets.shape)}; give batches ((source, target), "
        "next words), each (sequences, timesteps)"
    )


def padding_of(rows: Sequence[Tensor]) -> int | None:
    """The number that fills sequences (B, S) up behind: it stands nowhere else, not as often each
    time, and more than once somewhere, unless it is 0: a sentence's last word may stand so, too.
    A sequence that is alone in its batch is not filled up.
    """
    rows = [some for some in rows if len(some) > 1]
    for number in sorted({int(one) for some in rows for one in some[:, -1].unique()}):
        counts = set[int]()
        for some in rows:
            is_pad = some.flip(1) == number
            run = is_pad.long().cumprod(1)
            if not torch.equal(run.bool(), is_pad):
                break
            counts |= set(run.sum(1).tolist())
        else:
            if len(counts) > 1 and (max(counts) > 1 or not number):
                return number
    return None


def arguments_of(
    batches: Sequence[Batch], source: Source, target_first: bool, pads: Mapping[str, int | None]
) -> tuple[Argument, ...] | None:
    """What each tensor that the module is fed is, seen in all of some batches; None: not known."""
    firsts = {SOURCE: source.sequences_first, TARGET: target_first}
    found: list[tuple[Argument, ...] | None] = [None]
    for batch in batches[:BATCHES]:
        inputs = batch.inputs
        named = isinstance(inputs, Mapping)
        if not isinstance(inputs, tuple | list | Mapping):
            return None
        items = list(inputs.items()) if isinstance(inputs, Mapping) else [("", v) for v in inputs]
        sides = {SOURCE: dict(tensors(inputs)).get(source.path), TARGET: words_of(*batch)}
        possible: list[set[str]] = []
        for _, value in items:
            known = isinstance(value, Tensor) and value.dtype in _TYPES.values()
            possible.append(set(_roles_of(value, sides, firsts, pads)) if known else set())
        if found[0] is not None:
            before = [one.role for one in found[0]]
            if len(before) != len(possible):
                return None
            possible = [some & {role} or some for some, role in zip(possible, before, strict=True)]
        if not all(possible):
            return None
        chosen = [next(role for role in _ROLES if role in some) for some in possible]
        found[0] = tuple(
            Argument(
                role, str(name) if named else "", str(value.dtype).removeprefix("torch."),
                firsts[SOURCE if role.startswith(SOURCE) else TARGET],
            )
            for role, (name, value) in zip(chosen, items, strict=True)
        )  # fmt: skip
    made = found[0]
    return made if made and {SOURCE, TARGET} <= {one.role for one in made} else None


def _roles_of(
    value: Tensor, sides: Mapping[str, Tensor | None], firsts: Mapping[str, bool],
    pads: Mapping[str, int | None],
) -> Iterator[str]:  # fmt: skip
    """What a tensor may be: the words of a side, how long these are, or which are no padding."""
    for side, words in sides.items():
        if words is None:
            continue
        if value is words:
            yield side
            continue
        is_word = real(words, pads[side])
        lengths = is_word.sum(1 if firsts[side] else 0)
        if value.dim() == 1 and value.shape == lengths.shape and not value.is_floating_point():
            if torch.equal(value.long().cpu(), lengths.cpu()):
                yield side + _LENGTHS
        elif value.shape == words.shape:
            if torch.equal(value.double(), is_word.double()):
                yield side + _MASK
            elif torch.equal(value.double(), (~is_word).double()):
                yield side + _PADDING


def end_of(targets: Sequence[Tensor], first: bool) -> int | None:
    """The label that every target (B, T) or (T, B) ends with, and that stands nowhere else."""
    ends = set[int]()
    for some in targets[:BATCHES]:
        if some.dim() != 2:
            return None
        for row in (some if first else some.T).tolist():
            there = [label for label in row if label >= 0]
            if there:
                ends.add(there[-1])
            if len(ends) > 1 or (there[-1:] and there[-1] in there[:-1]):
                return None
    return ends.pop() if ends else None


def pairs_of(
    batch: Batch, source: "Source | SourceRecord", pad: int | None, target_first: bool
) -> Iterator[tuple[int, list[int], list[int]]]:
    """Of each pair of a batch its place there and its words, source and target without what fills
    them up; `pad` is that of sources.
    """
    rows = source_rows(batch.inputs, source.path, source.sequences_first)
    words, targets = words_of(batch.inputs, batch.targets), batch.targets
    if words is None or words.dim() != 2:
        return
    if not target_first:
        words, targets = words.T, targets.T
    for at, (one, other) in enumerate(zip(rows, words, strict=True)):
        length = len(other)
        if targets.shape == words.shape:
            asked = (targets[at] >= 0).nonzero()
            length = int(asked.max()) + 1 if len(asked) else 0
        mine, theirs = one[real(one, pad)].tolist(), other[:length].tolist()
        if mine and theirs:
            yield at, mine, theirs


def check_names(names: Sequence[str], rows: Sequence[Tensor]) -> None:
    """Refuse names of a source's words where a batch has a word that has none."""
    largest = max(int(some.max()) for some in rows)
    if largest >= len(names) or min(int(some.min()) for some in rows) < 0:
        raise RnnlensError(
            f"source= names {len(names)} words and a batch has number {largest} in its source; "
            "name every one, in the order of their numbers"
        )
