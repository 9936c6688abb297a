"""Kinds: the named vectors of a recurrence, and which of them feed which."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Source:
    """A kind that another is computed from, so many timesteps back."""

    kind: str  #: Its id.
    back: int = 0  #: Timesteps; negative in a layer that reads backwards.


@dataclass(frozen=True)
class Kind:
    """One named vector of the recurrence; the paper's gamma.

    Cells declare their kinds without a layer (`l`); `in_layer` places them in a network (`l2`).
    """

    id: str  #: Such as `l2`.
    name: str  #: Such as long-term memory.
    symbol: str  #: As in an equation.
    equation: str  #: What it is computed by.
    sources: tuple[Source, ...] = ()  #: What it is computed from.
    layer: int = 0  #: 0: outside the recurrent layers.

    def in_layer(self, layer: int, below: str) -> "Kind":
        """The same kind in layer 1, 2, ... of a stack, where `below` is the layer's input."""
        sources = tuple(
            Source(below if s.kind == BELOW else f"{s.kind}{layer}", s.back) for s in self.sources
        )
        return replace(self, id=f"{self.id}{layer}", sources=sources, layer=layer)


BELOW = "below"  # stands for the layer's input in a cell's declarations
EMBEDDING = Kind("x", "embedding", "x", "x = E[word]")


def output(*last: str) -> Kind:
    """The model's own prediction, from its last output or, of two directions, from both."""
    return Kind("y", "prediction", "y", "y = softmax(W h + b)", tuple(map(Source, last)))
