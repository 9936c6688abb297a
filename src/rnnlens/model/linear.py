"""Recurrences with a linear memory: what one declares, and all that follows from it.

S = T(S₋₁) + W, and r = read(S). T, W and the read depend on kinds that are `given`: computed from
the layer's input alone, not from the memory. So the states of every step, edits, and the words that
wrote a memory come from four functions, `gates`, `transition`, `write` and `read`, written like the
equations; the families that there are stand in `cells/linear_memories.py`.

Kinds are vectors to the rest of the house. Here they have their own shapes: `sizes` says that a
state of `S` is 4 heads of 8 keys by 16 values.
"""

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from math import prod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint as computed_again

from rnnlens.base.pace import checkpoint
from rnnlens.model.cell import BEFORE, Cell, Change, States, Weights, unchanged
from rnnlens.model.lazy import LazyStates
from rnnlens.model.scan import scanned
from rnnlens.model.transition import Matrix, Transition

Shape = tuple[int, ...]
_TOGETHER = 16  # timesteps whose decay and write are computed at once
_CHUNK = 64  # timesteps of a scan; of longer sequences states are computed again to learn
# Numbers of memories that a chunk holds, unless one timestep alone has more: on a CPU what stays in
# its cache, on a GPU what keeps it busy.
_ROOM = {"cpu": 1 << 20, "cuda": 1 << 25}


class Given(NamedTuple):
    """What a scan computes with: a cell of some sizes, what it is given, and its constants."""

    cell: Cell
    states: States  # kind -> (T, B, ...)
    weights: Weights


class LinearCell(Cell):
    """A recurrence whose memories are linear once what is `given` is known."""

    given: ClassVar[tuple[str, ...]]  # the kinds that depend on no memory, in the order of kinds
    first: ClassVar[dict[str, float]] = {}  # what carried kinds begin with that do not with zero
    question: ClassVar[str] = ""  # the given kind that the memory is asked by; none: it has none
    keys_last: ClassVar[bool] = False  # whether a matrix lies as values by keys: it is read as S q

    def __init__(self, sizes: Mapping[str, Shape]) -> None:
        """`sizes`: the shape of a state of each kind."""
        self.sizes = dict(sizes)

    def shapes(self, inputs: int, width: int) -> dict[str, tuple[int, ...]]:  # noqa: ARG002
        return {}  # what it is given is computed elsewhere, and so are its constants

    def start(self, w: Weights, batch: int) -> States:
        like = next(iter(w.values()), torch.zeros(0))
        begin = self.first.get
        return {k: like.new_full((batch, prod(self.sizes[k])), begin(k, 0.0)) for k in self.carried}

    def begin(self, given: States) -> States:
        """What is carried before the first timestep, beside what is given."""
        like = given[self.given[0]]
        return {
            kind: like.new_full((like.shape[1], *self.sizes[kind]), self.first.get(kind, 0.0))
            for kind in self.carried
        }

    # The equations. States have their own shapes, and any axes before them.

    def gates(self, now: States, before: States, w: Weights) -> States:  # noqa: ARG002
        """Small kinds that follow from what is given, and from carried ones that are no memory."""
        return {}

    def gates_at_once(self, given: States, start: States, w: Weights) -> States:
        """The gates of many timesteps (T, B, ...), of which `start` was carried into the first."""
        return self.gates(given, start, w)  # of one that carries no more than memories

    @abstractmethod
    def transition(self, memory: str, now: States, w: Weights) -> Transition:
        """T, by what is given and by gates."""

    @abstractmethod
    def write(self, memory: str, now: States, w: Weights) -> Tensor:
        """W, by what is given and by gates."""

    @abstractmethod
    def read(self, at: States, now: States, w: Weights) -> Tensor:
        """What is read of the memories `at` a timestep: after it, or before where the cell says
        so.
        """

    @abstractmethod
    def asked(self, through: Tensor, now: States, w: Weights) -> Tensor:
        """What a unit of the memory that is read counts for, where one of the read counts for
        `through`: the transpose of `read`, with all else held. `now` has the memories, too.
        """

    def direct(self, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        """What of the read comes from no memory."""
        return torch.zeros_like(now[self.output.id])

    # What follows from them.

    def wide(self, now: States) -> States:
        """States in their own shapes."""
        return {
            kind: values.unflatten(-1, self.sizes[kind.removesuffix(BEFORE)])
            for kind, values in now.items()
        }

    def flat(self, kind: str, values: Tensor) -> Tensor:
        """States of a kind as vectors."""
        sizes = self.sizes[kind]
        return values.reshape(*values.shape[: values.dim() - len(sizes)], prod(sizes))

    def carry(self, memory: str, before: Tensor, now: States, w: Weights) -> Tensor:
        shaped = before.unflatten(-1, self.sizes[memory])
        return self.transition(memory, self.wide(now), w)(shaped).reshape(before.shape)

    def carry_back(self, memory: str, through: Tensor, now: States, w: Weights) -> Tensor:
        shaped = through.unflatten(-1, self.sizes[memory])
        return self.transition(memory, self.wide(now), w).back(shaped).reshape(through.shape)

    def matrix(self, letter: str) -> Matrix | None:
        if not self.question or letter != self.carried[0]:  # others, as a normaliser, are vectors
            return None
        *heads, first, second = self.sizes[letter]
        values, keys = (first, second) if self.keys_last else (second, first)
        return Matrix(prod(heads), keys, values, self.keys_last)

    @property
    def large(self) -> frozenset[str]:
        most = max(prod(self.sizes[kind]) for kind in self.given)
        return frozenset(kind.id for kind in self.kinds if prod(self.sizes[kind.id]) > most)

    def written(self, memory: str, now: States, w: Weights) -> Tensor:
        """What timesteps add to the memory, as vectors."""
        whole = self.write(memory, self.wide(now), w)
        return whole.expand(*whole.shape[: -len(self.sizes[memory])], *self.sizes[memory]).flatten(
            -len(self.sizes[memory])
        )

    def read_back(self, through: Tensor, now: States, w: Weights) -> Tensor:
        shaped = through.unflatten(-1, self.sizes[self.output.id])
        return self.asked(shaped, self.wide(now), w).flatten()

    def unstored(self, now: States, w: Weights) -> Tensor | None:
        return self.direct(self.wide(now), w).flatten()

    def sums(self, x: Tensor, w: Weights) -> Tensor:  # noqa: ARG002
        return x  # all that is given, side by side

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        given = a.split([prod(self.sizes[kind]) for kind in self.given], -1)
        now = self.wide({k: edit(k, v) for k, v in zip(self.given, given, strict=True)})
        every = self.one_step(now, self.wide(prev), w, edit)
        return {kind.id: self.flat(kind.id, every[kind.id]) for kind in self.kinds}

    def one_step(self, now: States, before: States, w: Weights, edit: Change) -> States:
        """Every kind of a timestep whose given kinds have been edited already."""

        def put(kind: str, values: Tensor) -> Tensor:
            return edit(kind, self.flat(kind, values)).view(values.shape)

        now = dict(now)
        for kind, values in self.gates(now, before, w).items():
            now[kind] = put(kind, values)
        after: States = {}
        for memory, carried in self.memories.items():
            if carried.decay not in now:
                decay = self.transition(memory, now, w).decay
                now[carried.decay] = put(carried.decay, self.decays(memory, decay))
            change = self.transition(memory, now, w)
            kept = change(before[memory])
            if carried.erased:
                now[carried.erased] = put(carried.erased, change.erased(before[memory]))
                kept = change.decay * before[memory] - now[carried.erased]
            now[carried.kept] = put(carried.kept, kept)
            if carried.write not in self.given:
                whole = self.write(memory, now, w).expand_as(kept)
                now[carried.write] = put(carried.write, whole)
            after[memory] = put(memory, now[carried.kept] + now[carried.write])
        now |= after
        if self.output.id not in after:
            at = before if self.reads_before else after
            now[self.output.id] = put(self.output.id, self.read(at, now, w))
        return now

    def decays(self, memory: str, decay: Tensor) -> Tensor:
        """The decay of a transition in the shape of the kind that it is."""
        axes = decay.dim() - len(self.sizes[memory])
        return decay.reshape(*decay.shape[:axes], *self.sizes[self.memories[memory].decay])

    def advance(self, now: States, before: States, w: Weights) -> tuple[States, Tensor]:
        """What is carried after a timestep in which nothing is edited, and what is read."""
        now = now | self.gates(now, before, w)
        after = {kind: now[kind] for kind in self.carried if kind in now}  # such as a maximum
        for memory in self.memories:
            change, whole = self.transition(memory, now, w), self.write(memory, now, w)
            after[memory] = change(before[memory]) + whole
        if self.output.id in after:
            return after, after[self.output.id]
        return after, self.read(before if self.reads_before else after, now, w)

    def _states(
        self,
        x: Tensor,
        start: States,
        w: Weights,
        edits: dict[int, Change],
        fused: bool,  # noqa: ARG002 - steps are computed one by one everywhere
    ) -> States:
        parts = x.split([prod(self.sizes[kind]) for kind in self.given], -1)
        given = self.wide(dict(zip(self.given, parts, strict=True)))
        return Scan(self, given, self.wide(start), w, edits).states


def computed_together(values: Tensor) -> bool:
    """Whether all timesteps of such values are best computed together: on CUDA, where each would
    wait for many small kernels, unless gradients may be asked for.
    """
    return values.is_cuda and not torch.is_grad_enabled()


class Scan:
    """The states of a whole sequence: what is read at once, memories when they are asked for."""

    def __init__(
        self,
        cell: LinearCell,
        given: States,
        start: States,
        w: Weights,
        edits: Mapping[int, Change] | None = None,
    ) -> None:
        """`given` and `start` have their own shapes, (T, B, ...) and (B, ...); `edits` are changes
        of flat states by timestep.
        """
        self.cell, self.start, self.w, self.edits = cell, start, w, dict(edits or {})
        self.given = {kind: self._changed(kind, values) for kind, values in given.items()}
        self.length = len(next(iter(given.values())))
        self._edited: dict[int, States] = {}
        self._kept: States = {}  # carried kinds (T, B, ...) that others follow from
        self.at_once = not self.edits and computed_together(next(iter(given.values())))

    def _changed(self, kind: str, values: Tensor) -> Tensor:
        """Given states with those of edited timesteps in their places."""
        if not self.edits:
            return values
        flat = self.cell.flat(kind, values)
        rows = [self.edits[t](kind, v) if t in self.edits else v for t, v in enumerate(flat)]
        return torch.stack(rows).view(values.shape)

    def reads(self) -> Tensor:
        """What is read at every timestep, (T, B, ...)."""
        return self._run()[0]

    def _run(self, keep: tuple[str, ...] = ()) -> tuple[Tensor, States]:
        """What is read at every timestep, (T, B, ...), and the carried kinds of `keep`."""
        if self.at_once:
            return self._run_at_once(keep)
        cell, before, reads = self.cell, self.start, list[Tensor]()
        rows: dict[str, list[Tensor]] = {kind: [] for kind in keep}
        whole: States = {}
        grows = torch.is_grad_enabled()
        for t in range(self.length):
            checkpoint()
            now = {kind: values[t] for kind, values in self.given.items()}
            if t in self.edits:
                every = self._edited[t] = cell.one_step(now, before, self.w, self.edits[t])
                after, read = {k: every[k] for k in cell.carried}, every[cell.output.id]
            else:
                after, read = cell.advance(now, before, self.w)
            for kind in keep:
                if grows:
                    rows[kind].append(after[kind])
                else:
                    if kind not in whole:
                        whole[kind] = after[kind].new_empty(self.length, *after[kind].shape)
                    whole[kind][t] = after[kind]
            reads.append(read)
            before = after
        whole = whole or {kind: torch.stack(some) for kind, some in rows.items()}
        return torch.stack(reads), whole

    def _run_at_once(self, keep: tuple[str, ...]) -> tuple[Tensor, States]:
        """The same, many timesteps at a time."""
        before, reads, whole = self.start, list[Tensor](), dict[str, Tensor]()
        most = _timesteps(before)
        for first in range(0, self.length, most):
            checkpoint()
            some = slice(first, first + most)
            read, before = self._run_some(some, before, keep, whole)
            reads.append(read)
        return torch.cat(reads), whole

    def _run_some(
        self, some: slice, before: States, keep: tuple[str, ...], whole: States
    ) -> tuple[Tensor, States]:
        """What is read at some timesteps and carried out of them; kinds to `keep` go to `whole`.
        Nothing else of them is held when the next are computed.
        """
        now = {kind: values[some] for kind, values in self.given.items()}
        read, every = _chunk(self.cell, now, before, self.w)
        for kind in keep:
            if kind not in whole:
                whole[kind] = every[kind].new_empty(self.length, *every[kind].shape[1:])
            whole[kind][some] = every[kind]
        return read, {kind: values[-1].clone() for kind, values in every.items()}

    @property
    def states(self) -> LazyStates:
        """Every kind as vectors, (T, B, H): memories, and what is kept of them and written, when
        they are asked for.
        """
        cell = self.cell
        made = {kind: cell.flat(kind, values) for kind, values in self.given.items()}
        lazy = [kind.id for kind in cell.kinds if kind.id not in made]
        order = [kind.id for kind in cell.kinds]
        return LazyStates(order, made, {kind: partial(self._made, kind) for kind in lazy})

    def _made(self, kind: str) -> Tensor:
        if kind in self.cell.carried:  # not kept: it may be larger than all else together
            held = self._kept.get(kind)
            return self.cell.flat(kind, self._memory(kind) if held is None else held)
        if self.edits and not self._edited:
            self.reads()
        values = self._whole(kind)
        for t, every in self._edited.items():
            values = values.clone() if torch.is_grad_enabled() else values
            values[t] = every[kind]
        return self.cell.flat(kind, values)

    def _whole(self, kind: str) -> Tensor:
        """A kind that follows from what is given and carried, with edits that change it alone
        still to be put in.
        """
        cell = self.cell
        if kind == cell.output.id and kind not in cell.carried:
            return self.reads().clone()
        now = {**self.given}
        small = tuple(one for one in cell.carried if one not in cell.memories)
        now |= cell.gates(now, {one: self._before(one) for one in small}, self.w)
        if kind in now:
            return now[kind].clone()
        for memory, carried in cell.memories.items():
            if kind == carried.write:
                whole = cell.write(memory, now, self.w)
                return whole.expand(*whole.shape[:2], *cell.sizes[memory]).clone()
            change = cell.transition(memory, now, self.w)
            if kind == carried.decay:
                return cell.decays(memory, change.decay).clone()
            if kind == carried.kept:
                return change(self._before(memory))
            if kind == carried.erased:
                return change.erased(self._before(memory))
        raise KeyError(kind)

    def _carried(self, kind: str) -> Tensor:
        if kind not in self._kept:
            self._kept[kind] = self._memory(kind)
        return self._kept[kind]

    def _memory(self, kind: str) -> Tensor:
        """A carried kind after every timestep. Where nothing else is carried and nothing is erased,
        what is done to it is computed for many timesteps together, and one by one only that.
        """
        cell = self.cell
        if self.at_once or self.edits or torch.is_grad_enabled() or cell.carried != (kind,):
            return self._run((kind,))[1][kind]
        before, whole = self.start[kind], None
        for first in range(0, self.length, _TOGETHER):
            checkpoint()
            now = {one: values[first : first + _TOGETHER] for one, values in self.given.items()}
            now |= cell.gates(now, {}, self.w)
            change, written = cell.transition(kind, now, self.w), cell.write(kind, now, self.w)
            if change.put is not None:
                return self._run((kind,))[1][kind]
            if whole is None:
                whole = written.new_empty(self.length, *before.shape)
            for t in range(len(written)):
                torch.mul(change.decay[t], before, out=whole[first + t])
                before = whole[first + t].add_(written[t])
        return self._run((kind,))[1][kind] if whole is None else whole

    def _before(self, kind: str) -> Tensor:
        """A carried kind before every timestep."""
        return torch.cat([self.start[kind][None].to(self._carried(kind)), self._kept[kind][:-1]])


def _timesteps(start: States) -> int:
    """How many timesteps are computed together, so that wide memories take no more room."""
    numbers = sum(values.numel() for values in start.values())
    room = _ROOM["cuda" if any(values.is_cuda for values in start.values()) else "cpu"]
    return min(_CHUNK, max(1, room // max(1, numbers)))


def read_at_once(cell: LinearCell, given: States, start: States, w: Weights) -> Tensor:
    """What a cell reads at every timestep, (T, B, ...), as a `Scan` of it does one by one;
    gradients go back through it.
    """
    length, reads = len(next(iter(given.values()))), list[Tensor]()
    kinds, carried = list(given), list(cell.carried)

    def chunk(*tensors: Tensor) -> tuple[Tensor, ...]:
        now = dict(zip(kinds, tensors, strict=False))
        before = dict(zip(carried, tensors[len(kinds) :], strict=True))
        read, every = _chunk(cell, now, before, w)
        # A copy: a part of what every timestep left would keep all of it until gradients are there.
        return read, *(every[kind][-1].clone() for kind in carried)

    most = _CHUNK if torch.is_grad_enabled() else _timesteps(start)
    learns = torch.is_grad_enabled() and length > most
    for first in range(0, length, most):
        tensors = [given[kind][first : first + most] for kind in kinds]
        tensors += [start[kind] for kind in carried]
        if learns:
            read, *last = computed_again(
                chunk, *tensors, use_reentrant=False, preserve_rng_state=False
            )
        else:
            read, *last = chunk(*tensors)
        start = dict(zip(carried, last, strict=True))
        reads.append(read)
    return torch.cat(reads)


def _chunk(cell: LinearCell, given: States, start: States, w: Weights) -> tuple[Tensor, States]:
    """What is read at some timesteps, and what is carried after each of them."""
    now = given | cell.gates_at_once(given, start, w)
    every = {kind: now[kind] for kind in cell.carried if kind in now}  # such as a maximum
    for memory in cell.memories:
        change, write = cell.transition(memory, now, w), cell.write(memory, now, w)
        every[memory] = scanned(change, write, start[memory])
    if cell.output.id in every:
        return every[cell.output.id], every
    if not cell.reads_before:
        return cell.read(every, now, w), every
    before = {kind: torch.cat([start[kind][None], every[kind][:-1]]) for kind in cell.carried}
    return cell.read(before, now, w), every
