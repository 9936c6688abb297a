"""Kinds: the named vectors of a recurrence, and which of them feed which."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from rnnlens.base.files import Strict

BELOW = "below"  # stands for the layer's input in a cell's declarations
_ID = re.compile(r"(?:(.*)\.)?([a-z])\d*(<?)")  # f1, encoder.f1, f1<, x
MOST_KINDS = 4096
_LONGEST = 10_000  # letters of a name
PREDICTION = "y"  # the id of the model's own prediction
JOINED = "j"  # the letter of both directions' outputs side by side


@dataclass(frozen=True)
class Edge(Strict):
    """A kind that another is computed from, `back` timesteps before it."""

    kind: str  #: Its id.
    back: int = 0  #: Timesteps; negative in a layer that reads backwards.


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

    @property
    def is_sound(self) -> bool:
        """Whether its numbers and names are such as a cell or a module gives."""
        texts = (self.id, self.name, self.symbol, self.equation, self.part)
        return (
            max(map(len, texts)) <= _LONGEST
            and len(self.letter) <= 1
            and 0 <= self.layer <= MOST_KINDS
            and len(self.sources) <= MOST_KINDS
            and all(edge.back in (-1, 0, 1) for edge in self.sources)
        )

    def completed(self) -> "Kind":
        """Older files hold only the id, from which the rest follows."""
        is_output = self.equation.startswith("output of ")  # of a submodule
        if self.letter or is_output or not (form := _ID.fullmatch(self.id)):
            return self
        return replace(self, part=form[1] or "", letter=form[2], reverse=bool(form[3]))

    @property
    def is_gate(self) -> bool:
        """Whether it is a gate or a candidate, which views leave out unless asked for."""
        return self.layer > 0 and self.letter in GATES


GATES = frozenset("fiogrzn")


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
    )


EMBEDDING = Kind("x", "embedding", "x", "x = E[word]", letter="x")


def joined(forwards: Place) -> Kind:
    """The outputs of a layer's two directions side by side, which whatever follows it reads."""
    return Kind(
        forwards.id(JOINED),
        "joined output",
        JOINED,
        "j = [h, ←h]",
        tuple(Edge(replace(forwards, reverse=back).id("h")) for back in (False, True)),
        forwards.layer or forwards.number,
        JOINED,
        forwards.part,
    )


def stacked(kinds: Sequence[Kind], layers: int, directions: int) -> tuple[Kind, ...]:
    """The kinds of a network whose layers all have a cell's `kinds`, from input to output."""
    below: tuple[str, ...] = (EMBEDDING.id,)
    every = [EMBEDDING]
    for number in range(1, layers + 1):
        places = [Place(number, below, reverse=back) for back in (False, True)[:directions]]
        every += [placed(kind, place) for place in places for kind in kinds]
        below = tuple(place.id("h") for place in places)
    return (*every, joined(places[0])) if directions > 1 else tuple(every)


def prediction(kinds: Sequence[Kind]) -> Kind:
    """The kind `y`, the model's own prediction, computed from the last output.

    Where the last layer reads in both directions, that is their joined output; without such a kind,
    the outputs of both.
    """
    last = kinds[-1]
    place = (last.part, last.layer, last.letter)
    tops = [kind.id for kind in kinds if (kind.part, kind.layer, kind.letter) == place]
    sources = tuple(Edge(top) for top in (tops if last.letter else [last.id]))
    output = JOINED if last.letter == JOINED else "h"
    return Kind(PREDICTION, "prediction", "y", f"y = softmax(W {output} + b)", sources, letter="y")


def drawn(kinds: Sequence[Kind], probed: Container[str]) -> list[Kind]:
    """The kinds without a joined output that has no probe, as in runs of before there was one: what
    it joins stands in its place then.
    """
    return [kind for kind in kinds if kind.letter != JOINED or kind.id in probed]
