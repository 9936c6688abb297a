"""Kinds: the named vectors of a recurrence, and which of them feed which."""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rnnlens.base.files import Strict

if TYPE_CHECKING:
    from torch import Tensor

BELOW = "below"  # stands for the layer's input in a cell's declarations
_ID = re.compile(r"(?:(.*)\.)?([a-z])\d*(<?)")  # f1, encoder.f1, f1<, x
MOST_KINDS = 4096
_LONGEST = 10_000  # letters of a name
INPUT = "x"  # the letter of what a model's first layer reads
PREDICTION = "y"  # the id of the model's own prediction
MIXED = "o"  # the letter of what the recurrent part of such a layer gives
RESIDUAL = "h"  # the letter of the residual stream after a layer of a stack
JOINED = "j"  # the letter of both directions' outputs side by side


@dataclass(frozen=True)
class Edge(Strict):
    """A kind that another is computed from, `back` timesteps before it."""

    kind: str  #: Its id.
    back: int = 0  #: Timesteps; negative in a layer that reads backwards.


@dataclass(frozen=True)
class Memory(Strict):
    """How an additive memory is carried: memory = kept + write, where what is kept is linear in the
    memory before: decay ∘ memory before, less what is erased.
    """

    decay: str  #: The kind that says how much of it stays.
    write: str  #: The kind that is added to it.
    kept: str  #: The kind that is left of it: decay ∘ memory before, less what is erased.
    erased: str = ""  #: The kind that is taken out of it where it is written anew; empty: none is.

    def placed(self, id_of: Callable[[str], str]) -> "Memory":
        """The memory by the ids of its kinds instead of their letters."""
        erased = id_of(self.erased) if self.erased else ""
        return Memory(id_of(self.decay), id_of(self.write), id_of(self.kept), erased)


@dataclass(frozen=True)
class Kind(Strict):
    """One named vector of the recurrence; the paper's gamma.

    Cells declare their kinds by letter alone (`l`); `placed` gives them their place (`l2`).
    """

    id: str  #: Such as `l2`, or `encoder.l2<`.
    name: str  #: Such as long-term memory.
    symbol: str  #: As in an equation.
    equation: str  #: What it is computed by.
    sources: tuple[Edge, ...] = ()  #: What it is computed from.
    layer: int = 0  #: In the whole model, from 1; 0: outside the recurrent layers.
    letter: str = ""  #: Such as `l`; empty for a submodule's output.
    part: str = ""  #: The recurrent part of a module that it belongs to, where there are several.
    reverse: bool = False  #: Whether its layer reads backwards.
    #: The least and the largest that its numbers can be; None: there is no such bound.
    range: tuple[float | None, float | None] = (None, None)
    gate: bool = False  #: Whether it is a gate or a candidate: views draw it where asked to.
    output: bool = False  #: Whether it is what its layer gives to those above.
    memory: Memory | None = None  #: How it is carried from one timestep to the next, if it is.

    @property
    def is_sound(self) -> bool:
        """Whether its numbers and names are such as a cell or a module gives."""
        texts = [self.id, self.name, self.symbol, self.equation, self.part]
        texts += [*vars(self.memory).values()] if self.memory else []
        return (
            max(map(len, texts)) <= _LONGEST
            and len(self.letter) <= 1
            and 0 <= self.layer <= MOST_KINDS
            and len(self.sources) <= MOST_KINDS
            and all(edge.back in (-1, 0, 1) for edge in self.sources)
        )

    def within(self, values: "Tensor") -> "Tensor":
        """Values brought into its range."""
        return values if self.range == (None, None) else values.clamp(*self.range)

    def named(self) -> "Kind":
        """Older files hold only the id, from which letter, part and direction follow."""
        is_submodule = self.equation.startswith("output of ")
        if self.letter or is_submodule or not (form := _ID.fullmatch(self.id)):
            return self
        return replace(self, part=form[1] or "", letter=form[2], reverse=bool(form[3]))


@dataclass(frozen=True)
class Place:
    """Where a layer stands in a model, which names its kinds, and what it reads."""

    number: int  # the layer within its part, from 1
    below: tuple[str, ...]  # the kinds that are its input
    part: str = ""  # `encoder`; empty where the model has one recurrent part
    reverse: bool = False
    layer: int = 0  # the layer within the whole model, where that is not `number`

    def id(self, letter: str) -> str:
        """`h` -> `encoder.h1<`"""
        prefix = f"{self.part}." if self.part else ""
        return f"{prefix}{letter}{self.number}{'<' if self.reverse else ''}"


def placed(kind: Kind, place: Place) -> Kind:
    """A cell's kind in its place; a layer that reads backwards has the next step for the last."""
    sources: list[Edge] = []
    for edge in kind.sources:
        if edge.kind == BELOW:
            sources += [Edge(below) for below in place.below]
        else:
            sources.append(Edge(place.id(edge.kind), -edge.back if place.reverse else edge.back))
    return replace(
        kind,
        id=place.id(kind.id),
        letter=kind.id,
        name=f"← {kind.name}" if place.reverse else kind.name,
        equation=kind.equation.replace("₋₁", "₊₁") if place.reverse else kind.equation,
        sources=tuple(sources),
        layer=place.layer or place.number,
        part=place.part,
        reverse=place.reverse,
        memory=kind.memory and kind.memory.placed(place.id),
    )


EMBEDDING = Kind(INPUT, "embedding", INPUT, "x = E[word]", letter=INPUT)


def joined(forwards: Place, output: Kind) -> Kind:
    """The outputs of a layer's two directions side by side, which whatever follows it reads; each
    is the kind `output` of the layer's cell.
    """
    return Kind(
        forwards.id(JOINED),
        "joined output",
        JOINED,
        f"j = [{output.symbol}, ←{output.symbol}]",
        tuple(Edge(replace(forwards, reverse=back).id(output.id)) for back in (False, True)),
        forwards.layer or forwards.number,
        JOINED,
        forwards.part,
    )


def output_of(kinds: Sequence[Kind]) -> Kind:
    """The one of a cell's kinds that is its output."""
    return next(kind for kind in kinds if kind.output)


def stacked(kinds: Sequence[Kind], layers: int, directions: int) -> tuple[Kind, ...]:
    """The kinds of a network whose layers all have a cell's `kinds`, from input to output."""
    output = output_of(kinds)
    below: tuple[str, ...] = (EMBEDDING.id,)
    every = [EMBEDDING]
    for number in range(1, layers + 1):
        places = [Place(number, below, reverse=back) for back in (False, True)[:directions]]
        every += [placed(kind, place) for place in places for kind in kinds]
        below = tuple(place.id(output.id) for place in places)
    return (*every, joined(places[0], output)) if directions > 1 else tuple(every)


def prediction(kinds: Sequence[Kind]) -> Kind:
    """The kind `y`, the model's own prediction, computed from the last output.

    Where the last layer reads in both directions, that is their joined output; without such a kind,
    the outputs of both.
    """
    last = kinds[-1]
    place = (last.part, last.layer, last.letter)
    tops = [kind.id for kind in kinds if (kind.part, kind.layer, kind.letter) == place]
    sources = tuple(Edge(top) for top in (tops if last.letter else [last.id]))
    read = last.symbol if last.output or last.letter == JOINED else "h"
    equation = f"{PREDICTION} = softmax(W {read} + b)"
    return Kind(PREDICTION, "prediction", PREDICTION, equation, sources, letter=PREDICTION)


def drawn(kinds: Sequence[Kind], probed: Container[str]) -> list[Kind]:
    """The kinds without a joined output that has no probe, as in runs of before there was one: what
    it joins stands in its place then.
    """
    return [kind for kind in kinds if kind.letter != JOINED or kind.id in probed]
