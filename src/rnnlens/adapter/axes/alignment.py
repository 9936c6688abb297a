"""Where a module reads each word of a batch, and in which order it returns its tensors.

Single words are changed, to see which states change with them.

A shape tells which axis is time only where there are not as many timesteps as sequences, and no
shape tells that a module sorts or flips its sequences. What changes with a word tells all of this.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from rnnlens.adapter.axes.layout import Arranged, Layout, is_whole, tensors, with_tensors, within
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import States
from rnnlens.model.traceable import Trace

_CHANGED_WORDS = 6  # that tell enough
_COMPARED_LABELS = 64  # of many
_MOST_PASSES = 8  # in which all timesteps are tried, where sequences are few and long
_REPLACEMENTS = 3  # of a word: two may be the same to a module, as rare words are
LOGITS = "logits"
MODULE = ""  # stands for all tensors of a module without recurrent parts

Place = tuple[int, int]


class Orders:
    """What is known of the order in which a module returns its tensors, by their names."""

    def __init__(self) -> None:
        self._batch_first: dict[str, bool | None] = {}  # None: nothing tells
        self._assumed: bool | None = None
        self.doubtful: set[str] = set()  # names of tensors whose shape does not tell

    @contextmanager
    def assumed(self, batch_first: bool) -> Iterator[None]:
        """Inside this, read all tensors in doubt in one order."""
        self._assumed = batch_first
        try:
            yield
        finally:
            self._assumed = None

    def learn(self, name: str, batch_first: bool) -> None:
        """Read a tensor in this order from now on, where its shape does not tell."""
        self._batch_first[name] = batch_first

    def of(self, name: str) -> bool | None:
        """The order of a tensor, as far as it is known."""
        return self._batch_first.get(name)

    def module(self, usual: bool) -> bool:
        """Whether sequences come first in a module without recurrent parts, `usual` if unknown."""
        self.doubtful.add(MODULE)
        known = self.of(MODULE) if self._assumed is None else self._assumed
        return usual if known is None else known

    def settle(
        self,
        name: str,
        fit: Arranged,
        layout: Layout | None,
        explained: Callable[[Tensor], bool] | None = None,
    ) -> Tensor:
        """The tensor in the order (T, B, H).

        An earlier batch may tell that order, else `explained`, which says whether one reading is
        right; else it is the order of the module's recurrent parts.
        """
        if fit.batch_first is not None:
            self._batch_first[name] = fit.batch_first
        if fit.other is None or layout is None:
            return fit.values
        self.doubtful.add(name)
        if self._assumed is not None:
            return fit.values if self._assumed is layout.batch_first else fit.other
        if name not in self._batch_first:
            readings = ((layout.batch_first, fit.values), (not layout.batch_first, fit.other))
            right = [order for order, values in readings if explained and explained(values)]
            self._batch_first[name] = right[0] if len(right) == 1 else None
        known = self._batch_first[name]
        if known is None and not layout.sure:
            raise RnnlensError(
                f"{name} could have timesteps or sequences first ({layout.steps} and "
                f"{layout.batch}), and nothing tells which; give batch_first=True or False"
            )
        return fit.other if known is (not layout.batch_first) else fit.values


class Reader(Protocol):
    """What an alignment needs of an adapter."""

    orders: Orders
    sort: str  # what its module predicts

    def trace(self, batch: Any) -> Trace:
        """The states of a batch."""

    def beside(self, kinds: Iterable[str]) -> frozenset[str]:
        """These kinds, and all others of the same recurrent parts."""


@dataclass(frozen=True)
class Alignment:
    """How the words of a batch lie beside a module's states."""

    sequences_first: bool | None = None  # in the words; None where nothing changes with them
    astray: frozenset[str] = frozenset()  # kinds that do not read each word in its place
    readers: frozenset[str] | None = None  # kinds that change with the words; None: unknown


class _Change(NamedTuple):
    """A word that was changed, and which states change with it."""

    place: Place  # of the word, in the tensor of words
    where: dict[str, Tensor]  # kind -> (N, 2), timesteps and sequences of the changed states
    before: Trace


def aligned(reader: Reader, batch: Any, words: Tensor, there: Tensor | None = None) -> Alignment:
    """How `words`, a tensor (B, T) or (T, B) of the batch, lie beside the module's states.

    Features (B, T, I) or (T, B, I) may take the place of words. `there` is true where words have a
    target: if it has the shape of the words, these are tried first. As a side effect the reader
    learns the order of those tensors that could be read in either.
    """
    if there is None or there.shape != words.shape[:2]:
        there = torch.ones(words.shape[:2], dtype=torch.bool)
    with reader.orders.assumed(True):
        reader.trace(batch)  # the first trace of all is rounded otherwise
        by_batch = list(_changes(reader, batch, words, there))  # notes which tensors are in doubt
    doubtful = set(reader.orders.doubtful)
    if not doubtful:
        return _judged(reader, by_batch, words.shape[:2])
    with reader.orders.assumed(False):
        by_time = list(_changes(reader, batch, words, there))
    sure = [change._replace(where=_without(change.where, doubtful)) for change in by_batch]
    first = _judged(reader, sure, words.shape[:2]).sequences_first
    for name in sorted(doubtful):
        _learn(reader.orders, name, by_batch, by_time, None if name == MODULE else first)
    return _judged(reader, list(_changes(reader, batch, words, there)), words.shape[:2])


def check_every_word(reader: Reader, batch: Any, words: Tensor, there: Tensor, first: bool) -> int:
    """Refuse a module that does not read some of its words, as a decoder that reads its own guesses
    at some timesteps; how many timesteps were tried.

    Each sequence has another word changed, so that few passes try all timesteps.
    """
    rows, asked = (values if first else values.transpose(0, 1) for values in (words, there))
    trace, tried = reader.trace(batch), 0
    before, lengths = trace.states, trace.lengths
    if lengths is not None and len(lengths) == len(rows):
        asked = asked & within(rows.shape[1], lengths.cpu()).T.to(asked.device)
    beside = [kind for kind, v in before.items() if v.shape[1] == len(rows)]
    for start in range(0, min(rows.shape[1], _MOST_PASSES * len(rows)), len(rows)):
        steps = range(start, min(start + len(rows), rows.shape[1]))
        left = [
            (b, t) for b, t in enumerate(steps)
            if bool(asked[b, t]) and bool((rows[:, t] != rows[:1, t]).any())  # else it is a mark
        ]  # fmt: skip
        tried += len(left)
        for attempt in range(_REPLACEMENTS):
            changed = rows.clone()
            for b, t in left:
                changed[b, t] = _other(rows, (b, t), attempt)
            fed = changed if first else changed.transpose(0, 1).contiguous()
            after = reader.trace(_with(batch, words, fed)).states
            left = [(b, t) for b, t in left if not _moved(before, after, beside, (t, b))]
            if not left:
                break
        if left:
            b, t = left[0]
            raise RnnlensError(
                f"the module does not read word {t + 1} of a sequence: whatever it is, no state of "
                "that timestep changes. A decoder that reads its own guesses does so; make it read "
                "the words it is given, as in "
                "feed=lambda module, batch: module(*batch, teacher_forcing_ratio=1.0)"
            )
    return tried


def _moved(before: States, after: States, kinds: list[str], place: Place) -> bool:
    """Whether any of these kinds changes at a timestep of a sequence, or has none there."""
    there = [kind for kind in kinds if place[0] < min(len(before[kind]), len(after[kind]))]
    return not there or any(
        not torch.equal(before[kind][place], after[kind][place]) for kind in there
    )


def learn_order(reader: Reader, batch: Any) -> bool:
    """Whether words of a batch tell the order of a module without recurrent parts.

    The reader learns that order.
    """
    for _, words in tensors(batch):
        readable = is_whole(words) if words.dim() == 2 else words.is_floating_point()
        if words.dim() in (2, 3) and readable and min(words.shape[:2]) > 1:
            with suppress(RnnlensError):  # raised again once targets are given
                aligned(reader, batch, words)
            if reader.orders.of(MODULE) is not None:
                return True
    return False


def _changes(reader: Reader, batch: Any, words: Tensor, there: Tensor) -> Iterator[_Change]:
    """Change one word after the other, until enough of them change any states."""
    before, count = reader.trace(batch), 0
    for place in _places(there):
        after = reader.trace(_changed(batch, words, place))
        where = {kind: _differs(v, after.states[kind]) for kind, v in before.states.items()}
        if before.logits is not None and after.logits is not None:
            where[LOGITS] = _differs(
                before.logits[..., :_COMPARED_LABELS], after.logits[..., :_COMPARED_LABELS]
            )
        if any(len(states) for states in where.values()):
            count += 1
            yield _Change(place, where, before)
        if count == _CHANGED_WORDS:
            break


def _learn(
    orders: Orders, name: str, by_batch: list[_Change], by_time: list[_Change], first: bool | None
) -> None:
    """Learn the order in which a changed word changes nothing in other sequences."""

    def stays(change: _Change) -> bool:
        """Whether it stays within one sequence: that of the changed word, if that is known."""
        names = change.where.keys() - {LOGITS} if name == MODULE else {name}
        columns = [set(change.where[kind][:, 1].tolist()) for kind in names & change.where.keys()]
        wanted = None if first is None else {change.place[0 if first else 1]}
        return all(len(c) == 1 and wanted in (None, c) for c in columns if c)

    changes = ((True, by_batch), (False, by_time))
    right = [order for order, some in changes if all(map(stays, some))]
    if len(right) == 1:
        orders.learn(name, right[0])


def _judged(reader: Reader, changes: list[_Change], shape: torch.Size) -> Alignment:
    """Which kinds read each word in its place, and which order that makes of the words."""
    right: dict[bool, set[str]] = {True: set(), False: set()}
    wrong: list[_Wrong] = []
    readers: set[str] = set()
    for change in changes:
        for kind, where in change.where.items():
            columns = set(where[:, 1].tolist())
            readers |= {kind} if columns else set()
            if kind == LOGITS or len(columns) != 1:  # nothing changes, or sequences are mixed
                continue
            steps, column = where[:, 0].tolist(), columns.pop()
            states = change.before.states[kind]
            at = _possible(change.place, states, shape)
            for order, (step, sequence) in at.items():
                if sequence == column and step in steps:
                    right[order].add(kind)
                    break
            else:
                # A state of zeros, such as a memory kept before the first word, shows no change.
                if at and all(bool(states[place].any()) for place in at.values()):
                    wrong.append(_Wrong(kind, change.place, steps[0], column, len(states)))
    astray = reader.beside(one.kind for one in wrong)  # a flipped part may be right by chance
    orders = [order for order in (True, False) if right[order] - astray]
    if wrong and not orders:
        raise RnnlensError(_remedy(wrong, shape))
    first = orders[0] if len(orders) == 1 else None
    if first is not None:
        _check_logits(changes, first)
    return Alignment(first, astray, reader.beside(readers) if changes else None)


def _check_logits(changes: list[_Change], first: bool) -> None:
    """Refuse logits that come in another order of sequences than the words."""
    for place, where, _ in changes:
        sequence = place[0 if first else 1]
        columns = set(where.get(LOGITS, torch.zeros(0, 2))[:, 1].tolist())
        if len(columns) == 1 and columns != {sequence}:
            raise RnnlensError(
                f"what the module says of sequence {sequence} of a batch comes as that of sequence "
                f"{columns.pop()}: it returns its sequences in another order than it is fed; put "
                "them back into that order in forward, or in logits="
            )


def _possible(place: Place, states: Tensor, shape: torch.Size) -> dict[bool, Place]:
    """The timestep and sequence of a word among states (T, B, H), for each order that fits.

    The last timesteps may be missing: they are padding, or words that are never read.
    """
    places = {}
    for first in (True, False):
        sequence, step = place if first else place[::-1]
        batch, steps = shape if first else shape[::-1]
        if batch == states.shape[1] and step < len(states) <= steps:
            places[first] = (step, sequence)
    return places


class _Wrong(NamedTuple):
    """A word that is not read in its place."""

    kind: str
    place: Place  # in the tensor of words
    step: int  # that reads it
    column: int  # the sequence that reads it
    steps: int  # how many there are


def _remedy(wrong: list[_Wrong], shape: torch.Size) -> str:
    """The message that says why states and targets are not beside each other, and what mends it."""
    kind, place, step, column, steps = wrong[0]
    fact = (
        f"the module reads word {list(place)} of a batch as timestep {step} of sequence {column} "
        f"in {kind}"
    )
    same_kind = [one for one in wrong if one.kind == kind]
    for axis in (1, 0):  # time, if every word is read in its sequence
        if any(one.column != one.place[1 - axis] for one in same_kind):
            continue
        if all(one.step == shape[axis] - 1 - one.place[axis] for one in same_kind):
            return (
                f"{fact}: it reads from the end; give words and targets from the end too, and "
                f"feed=lambda module, words: module(words.flip({axis})).flip({axis})"
            )
        shifts = {one.step - one.place[axis] for one in same_kind}
        if len(shifts) == 1:
            by = shifts.pop()
            return (
                f"{fact}: it moves its words by {by}, away from the states that read them; give "
                "words as they are read, what it puts in front included, and "
                f"feed=lambda module, words: module(words.roll({-by}, {axis}))"
            )
        if steps < shape[axis]:
            return (
                f"{fact}: it has {steps} timesteps for {shape[axis]} words; name submodules that "
                "have a state for each word in kinds=, and others in exclude="
            )
    return (
        f"{fact}: it sorts its sequences, so that states and targets are not beside each other; "
        "leave the sorting to pack_padded_sequence(..., enforce_sorted=False)"
    )


def _places(there: Tensor) -> Iterator[Place]:
    """Places of words to change: late in their rows and columns, so that a flip would show.

    Late words may all be padding that no part reads, so that early ones follow, and then words
    without a target. A place (i, i) cannot tell rows from columns.
    """
    for where in (there, ~there):
        places = [(i, j) for i, j in where.nonzero().tolist() if i != j]
        places.sort(key=lambda place: -min(place))
        step = max(1, len(places) // 2 // _CHANGED_WORDS)
        yield from places[: _CHANGED_WORDS * step : step]
        yield from places[: -_CHANGED_WORDS - 1 : -1]


def _changed(batch: Any, words: Tensor, place: Place) -> Any:
    """The batch with another of its words, or with other features, in one place."""
    changed = words.clone()
    changed[place] = _other(words, place)
    return _with(batch, words, changed)


def _other(words: Tensor, place: Place, number: int = 0) -> Tensor:
    """Another word of a batch than the one in a place; `number` chooses among them."""
    if words.is_floating_point():
        return words[place] + 1 + number
    others = words[words != words[place]]
    return others[number * len(others) // _REPLACEMENTS] if len(others) else words[place]


def _with(batch: Any, words: Tensor, others: Tensor) -> Any:
    """The batch with others in the place of its words."""
    return with_tensors(batch, lambda tensor: others if tensor is words else tensor)


def _without(where: dict[str, Tensor], names: set[str]) -> dict[str, Tensor]:
    return {} if MODULE in names else {k: v for k, v in where.items() if k not in names}


def _differs(a: Tensor, b: Tensor) -> Tensor:
    """The places (N, 2) at which two traces differ, timestep and sequence."""
    if a.shape != b.shape:
        return torch.zeros(0, 2, dtype=torch.long)
    return (a != b).any(-1).nonzero()
