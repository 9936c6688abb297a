"""A linear memory with all that stands around it in a network: what a trained layer is made of.

The families of `cells/linear_memories.py` say what becomes of a memory once keys, values and decays
are given. A `Block` computes these from the layer's input and makes an output of what is read: as
in the papers, the input is normed, perhaps looked back on by a short convolution, and what is read
is scaled and gated, mapped, and added to the input. So a cell is two functions, `given` and
`scale`, and the shapes of its weights.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import cache, partial
from math import prod
from typing import ClassVar, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.model.cell import BEFORE, Cell, Change, States, Weights, unchanged
from rnnlens.model.kinds import BELOW, Edge, Kind, output_of
from rnnlens.model.lazy import LazyStates
from rnnlens.model.linear import LinearCell, Scan, read_at_once
from rnnlens.model.transition import Matrix, Transition

Shape = tuple[int, ...]
Curve = Callable[[Tensor, Callable[[Tensor], Tensor]], Tensor]  # x and how it is scaled -> scaled x
SUM = "t"  # the letter of what a layer's input and its memory add up to
TAPS = 4  # timesteps that a short convolution sees
_EPS = 1e-6  # added to a mean square
_Cell = TypeVar("_Cell", bound=Cell)


class Size(NamedTuple):
    """How large a block is."""

    width: int  # of what goes out, and of all that is read
    heads: int  # that values are split over
    keys: int  # of the memory of a head, or numbers of memory of a channel

    @property
    def values(self) -> int:
        """How many values a head has."""
        return self.width // self.heads


def curved(x: Tensor, factor: Callable[[Tensor], Tensor]) -> Tensor:
    """The curve x factor(x); with its factor held, it is a line."""
    return x * factor(x)


class _Lines:
    """Curves of one pass, held as lines in another."""

    def __init__(self) -> None:
        self.factors: list[Tensor] = []

    def record(self, x: Tensor, factor: Callable[[Tensor], Tensor]) -> Tensor:
        self.factors.append(factor(x))
        return x * self.factors[-1]

    def replay(self, x: Tensor, _factor: Callable[[Tensor], Tensor]) -> Tensor:
        return x * self.factors.pop(0)


def root_mean_square(x: Tensor) -> Tensor:
    """What a vector is multiplied with so that the mean of its squares is 1."""
    return torch.rsqrt(x.square().mean(-1, keepdim=True) + _EPS)


def of_heads(read: Tensor, heads: int) -> Tensor:
    """The same of each head of what was read (..., width), in its shape."""
    parts = read.unflatten(-1, (heads, -1))
    return root_mean_square(parts).expand_as(parts).flatten(-2)


def normed(x: Tensor, w: Weights, curve: Curve = curved) -> Tensor:
    """A layer's input with a mean square of 1, times a weight for each number."""
    return curve(x, root_mean_square) * w["norm"]


def residual(x: Tensor, mixed: Tensor, w: Weights) -> Tensor:
    """A layer's input, brought to its width, and what the layer makes of its memory."""
    skipped = F.linear(x, w["w_r"]) if "w_r" in w else x
    return skipped + F.linear(mixed, w["w_h"])


def output_of_sum(t: Tensor) -> Tensor:
    """A layer's output: that sum, with a mean square of 1. So it stays within bounds for the layer
    above and for the readout. Papers norm what either reads, and hand the sum itself on to the
    layer above; here that is handed the normed one.
    """
    return t * root_mean_square(t)


def residual_shapes(inputs: int, width: int) -> dict[str, Shape]:
    """The weights of `normed` and `residual`."""
    shapes = {"norm": (inputs,), "w_h": (width, width)}
    return shapes if inputs == width else shapes | {"w_r": (width, inputs)}


def unit(x: Tensor) -> Tensor:
    """A vector of length 1."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + _EPS)


def silu(x: Tensor, curve: Curve) -> Tensor:
    """X σ(x)"""
    return curve(x, torch.sigmoid)


def kinds_of(
    family: tuple[Kind, ...], *own: Kind, output: str, sources: str = ""
) -> tuple[Kind, ...]:
    """The kinds of a block: its own, which take the place of those of its family, the others of the
    family, the residual sum `t`, which is `output`, of the read and other `sources`, and the
    output `h`.
    """
    read, letters = output_of(family), {kind.id for kind in own}
    others = [replace(kind, output=False) for kind in family if kind.id not in letters]
    edges = (Edge(BELOW), *map(Edge, sources), Edge(read.id))
    return (*own, *others, *around(output, edges))


def around(output: str, sources: tuple[Edge, ...]) -> tuple[Kind, Kind]:
    """The residual sum of a layer, which is `output`, and what the layer gives of it."""
    return (
        Kind(SUM, "residual sum", SUM, f"{SUM} = {output}", sources),
        Kind("h", "output state", "h", f"h = norm({SUM})", (Edge(SUM),), output=True),
    )


PAST = Kind("p", "past inputs", "p", "p = the last 3 that the convolution has read",
            (Edge(BELOW), Edge("p", 1)))  # fmt: skip


def remembering(cell: _Cell, size: int, reader: str = "the convolution") -> _Cell:
    """A cell with the past inputs of its `reader`, a convolution or a token shift around it, so
    many numbers, among its kinds.
    """
    made = copy(cell)
    made.__class__ = _remembering(type(cell), reader)
    if isinstance(made, LinearCell):
        made.sizes = {**made.sizes, PAST.id: (size,)}
    return made


@cache
def _remembering(family: type[_Cell], reader: str) -> type[_Cell]:
    """A class of cells like these, with one kind more."""
    past = replace(PAST, equation=f"p = what {reader} has read last")
    fed = (
        replace(kind, sources=(*kind.sources, Edge(PAST.id, 1)))
        if kind.id in family.convolved
        else kind
        for kind in family.kinds
    )
    return type(family.__name__, (family,), {"kinds": (past, *fed), "__doc__": family.__doc__})


def begin(w: Weights, generator: torch.Generator) -> None:
    """Let norms and what goes around a memory begin with 1, and draw convolutions."""
    for name in ("norm", "norm_r", "D", "skip"):
        if name in w:
            w[name].fill_(1)
    if "conv" in w:
        w["conv"].uniform_(-(TAPS**-0.5), TAPS**-0.5, generator=generator)


class Block(Cell):
    """A linear memory between a norm and an output map, with a residual."""

    inner: LinearCell  # the memory
    size: Size
    holds: ClassVar[tuple[str, ...]]
    undecayed: ClassVar[tuple[str, ...]] = ("norm", "norm_r", "b_x", "b_conv")
    dropped: ClassVar[tuple[str, ...]] = ("w_x",)

    def __init__(self, size: Size | None = None) -> None:
        """`size`: None of one that is only to be told of, and to be `sized`."""
        if size is not None:
            self.size, self.inner = size, self.family(size)

    def sized(self, width: int, heads: int, keys: int) -> "Block":
        return type(self)(Size(width, heads, keys))

    # What a cell says.

    @abstractmethod
    def family(self, size: Size) -> LinearCell:
        """Its memory."""

    @abstractmethod
    def own_shapes(self, inputs: int) -> dict[str, Shape]:
        """Its weights, but for those that every block has."""

    @abstractmethod
    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:
        """All kinds that depend on no memory, (T, B, ...), of normed inputs x (T, B, I).

        Each goes through `put`, and what it then is goes on; curves on the way of what is written
        go through `curve`. `before` is what was carried into the first of these timesteps.
        """

    def constants(self, w: Weights) -> Weights:  # noqa: ARG002
        """What its memory computes with beside kinds."""
        return {}

    def scale(self, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        """What is read is multiplied with this, (..., width): gates and the scale of a norm."""
        return torch.ones_like(now[self.inner.output.id])

    def beside(self, now: States, w: Weights) -> Tensor | None:  # noqa: ARG002
        """What is added to what was read and scaled; None: nothing is."""
        return None

    # What follows from it.

    def shapes(self, inputs: int, width: int) -> dict[str, Shape]:
        return {**residual_shapes(inputs, width), **self.own_shapes(inputs)}

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        begin(w, generator)

    def start(self, w: Weights, batch: int) -> States:
        memory = {
            kind: w["norm"].new_full((batch, prod(self.inner.sizes[kind])),
                                     self.inner.first.get(kind, 0.0))
            for kind in self.inner.carried
        }  # fmt: skip
        past = {k: w["norm"].new_zeros(batch, self.past(w)) for k in self.carried if k == PAST.id}
        return past | memory

    def past(self, w: Weights) -> int:
        """How many numbers of past inputs there are."""
        return (TAPS - 1) * len(w["conv"])

    def sum(self, x: Tensor, now: States, w: Weights, scale: Tensor) -> Tensor:
        """The residual sum, of the layer's input and what was read."""
        mixed = now[self.inner.output.id] * scale
        beside = self.beside(now, w)
        return residual(x, mixed if beside is None else mixed + beside, w)

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        def put(kind: str, value: Tensor) -> Tensor:
            return edit(kind, value[0])[None]

        own = self.given(normed(a, w)[None], prev, w, put, curved)
        now = {kind: value[0] for kind, value in own.items()}
        inner, before = self.inner, {kind: prev[kind] for kind in self.inner.carried}
        given = inner.wide({kind: now[kind] for kind in inner.given})
        every = inner.one_step(given, inner.wide(before), self.constants(w), edit)
        now |= {kind: inner.flat(kind, values) for kind, values in every.items()}
        now[SUM] = edit(SUM, self.sum(a, now, w, self.scale(now, w)))
        now["h"] = edit("h", output_of_sum(now[SUM]))
        return {kind.id: now[kind.id] for kind in self.kinds}

    def _states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change], fused: bool
    ) -> States:
        if edits:
            return super()._states(x, start, w, edits, fused)
        own = self.given(normed(x, w), start, w, unchanged, curved)
        every = self._of_memory(own, start, w)
        every[SUM] = self.sum(x, own | {k: every[k] for k in self._read}, w, self.scale(every, w))
        every["h"] = output_of_sum(every[SUM])
        return every

    @property
    def _read(self) -> tuple[str, ...]:
        return (self.inner.output.id,)

    def _of_memory(self, own: States, start: States, w: Weights) -> LazyStates:
        """Every kind but the output, of those that are given: what is read is known after one pass,
        memories when they are asked for.
        """
        inner = self.inner
        given = inner.wide({kind: own[kind] for kind in inner.given})
        before = inner.wide({kind: start[kind] for kind in inner.carried})
        scan = Scan(inner, given, before, self.constants(w))
        read = inner.flat(inner.output.id, scan.reads())
        lazy = scan.states
        makes = {kind: partial(lazy.__getitem__, kind) for kind in lazy if kind not in own}
        order = [kind.id for kind in self.kinds]
        return LazyStates(order, {**own, inner.output.id: read}, makes)

    def outputs(self, x: Tensor, start: States, w: Weights, training: bool = False) -> Tensor:  # noqa: ARG002
        own = self.given(normed(x, w), start, w, unchanged, curved)
        inner = self.inner
        given = inner.wide({kind: own[kind] for kind in inner.given})
        before = inner.wide({kind: start[kind] for kind in inner.carried})
        read = read_at_once(inner, given, before, self.constants(w))
        now = own | {inner.output.id: inner.flat(inner.output.id, read)}
        return output_of_sum(self.sum(x, now, w, self.scale(now, w)))

    def held(self, x: Tensor, w: Weights, read: Tensor, real: States) -> States:
        lines, first = _Lines(), self.start(w, x.shape[1])
        self.given(normed(read, w, lines.record), first, w, unchanged, lines.record)

        def put(kind: str, value: Tensor) -> Tensor:
            return real[kind] if kind in self.holds else value

        own = self.given(normed(x, w, lines.replay), first, w, put, lines.replay)
        every = self._of_memory(own, first, w)
        every[SUM] = self.sum(x, every, w, self.scale(real, w))
        every["h"] = every[SUM] * root_mean_square(real[SUM])
        return every

    # Questions about the memory go to it.

    @property
    def large(self) -> frozenset[str]:
        return self.inner.large

    @property
    def sizes(self) -> Mapping[str, Shape]:
        """The shape of a state of each kind of the memory."""
        return self.inner.sizes

    def matrix(self, letter: str) -> Matrix | None:
        return self.inner.matrix(letter)

    def memory_behind(self, letter: str) -> str | None:
        inner = letter if letter != self.output.id else self.inner.output.id
        return self.inner.memory_behind(inner)

    def _inner(self, now: States) -> States:
        """The states that the memory knows of."""
        return {k: v for k, v in now.items() if k.removesuffix(BEFORE) in self.inner.sizes}

    def transition(self, memory: str, now: States, w: Weights) -> Transition:
        return self.inner.transition(memory, self.inner.wide(self._inner(now)), self.constants(w))

    def true_decay(self, memory: str, now: States, w: Weights) -> Tensor:
        return self.inner.true_decay(memory, now, self.constants(w))

    def written(self, memory: str, now: States, w: Weights) -> Tensor:
        return self.inner.written(memory, self._inner(now), self.constants(w))

    def carry(self, memory: str, before: Tensor, now: States, w: Weights) -> Tensor:
        return self.inner.carry(memory, before, self._inner(now), self.constants(w))

    def carry_back(self, memory: str, through: Tensor, now: States, w: Weights) -> Tensor:
        return self.inner.carry_back(memory, through, self._inner(now), self.constants(w))

    @property
    def read_kind(self) -> str:
        read = self.inner.output.id
        return "" if read in self.memories else read

    def read_kind_back(self, through: Tensor, now: States, w: Weights) -> Tensor:
        return self.inner.read_back(through, self._inner(now), self.constants(w))

    def read_kind_unstored(self, now: States, w: Weights) -> Tensor | None:
        return self.inner.unstored(self._inner(now), self.constants(w))

    def read_back(self, through: Tensor, now: States, w: Weights) -> Tensor:
        return self.read_kind_back(sum_back(through, now, w) * self._scale(now, w), now, w)

    def unstored(self, now: States, w: Weights) -> Tensor | None:
        beside = self.read_kind_unstored(now, w)
        read = now[self.inner.output.id]
        stored = read if beside is None else read - beside
        return not_of(stored * self._scale(now, w), now, w)

    def _scale(self, now: States, w: Weights) -> Tensor:
        return self.scale(now, {name: weight.to(now["h"]) for name, weight in w.items()})


def sum_back(through: Tensor, now: States, w: Weights) -> Tensor:
    """What a number of what is mapped counts for, where one of the output counts for `through`,
    with the norm's factor held.
    """
    return (through * root_mean_square(now[SUM])) @ w["w_h"].to(through)


def not_of(mixed: Tensor, now: States, w: Weights) -> Tensor:
    """What of the output comes from something else than what is `mixed` into it."""
    return now["h"] - root_mean_square(now[SUM]) * F.linear(mixed, w["w_h"].to(mixed))


def convolved(x: Tensor, past: Tensor, w: Weights) -> tuple[Tensor, Tensor]:
    """A short convolution of inputs (T, B, C), each channel by itself, and the past inputs after
    every timestep (T, B, 3 C); `past` (B, 3 C) are those before the first.
    """
    length = len(x)
    every = torch.cat([past.unflatten(-1, (TAPS - 1, -1)).movedim(1, 0), x])  # (T + 3, B, C)
    taps = [every[k : k + length] for k in range(TAPS)]
    summed = sum((tap * w["conv"][:, k] for k, tap in enumerate(taps)), start=w["b_conv"])
    return torch.as_tensor(summed), torch.cat(taps[1:], -1)
