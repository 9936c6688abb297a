"""The recurrent parts of one forward pass, each with its states in the order of the batch."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter.axes.layout import Layout
from rnnlens.adapter.axes.sorting import is_suspicious, restored
from rnnlens.adapter.logits import count
from rnnlens.adapter.modules import embedding
from rnnlens.adapter.record.calls import Piece
from rnnlens.adapter.record.capture import Capture
from rnnlens.adapter.record.parts import RUN, Part, local


@dataclass(frozen=True)
class Heard:
    """One recurrent part's states in one forward pass."""

    name: str  # the part's, or of a run of it
    part: Part
    piece: Piece
    layout: Layout

    @property
    def output(self) -> Tensor:
        """(T, B, H) or, both directions beside one another, (T, B, 2H)."""
        return torch.cat([self.piece.states[kind] for kind in self.tops], -1)

    def reordered(self, order: Tensor) -> "Heard":
        """The same with its sequences in another order."""
        return replace(self, piece=self.piece.reordered(order), layout=self.layout.reordered(order))

    @property
    def tops(self) -> list[str]:
        """The local ids of the last layer's output."""
        last = len(self.part.weights) // self.part.directions if self.layered else 1
        return [local("h", last, bool(way)) for way in range(self.part.directions)]

    @property
    def layered(self) -> bool:
        """Whether the part has layers of its own, as a cell has not."""
        return hasattr(self.part.module, "num_layers")


Parts = dict[str, Heard]  # by name, in the order of their calls


def heard_parts(capture: Capture, apart: bool, batch_first: bool | None) -> Parts:
    """What was heard of each part, or of each of its runs."""
    heard = {}
    for part in (item for item in capture.order if isinstance(item, Part)):
        for number, piece in enumerate(part.pieces(apart)):
            name = part.name + (f"{RUN}{number + 1}" if number else "")
            heard[name] = Heard(name, part, piece, part.layout(piece, batch_first))
    return heard


def is_apart(
    capture: Capture, output: Any, logits: Callable[[Any], Any] | None, batch_first: bool | None
) -> bool:
    """Whether a part reads the batch more than once: what is returned fits each run alone.

    One that reads sequence after sequence has other sizes, or returns something for each.
    """
    runs = max((len(part.runs.runs) for part in capture.parts.values()), default=0)
    if runs < 2:
        return False
    own = [tensor for part in capture.parts.values() for tensor in part.returned]
    together, each = (
        [heard.layout for heard in heard_parts(capture, apart, batch_first).values()]
        for apart in (False, True)
    )
    if count(output, together, own, logits) or len({layout.batch for layout in each}) > 1:
        return False
    return 0 < count(output, each, own, logits) < runs


def in_batch_order(heard: Parts, batch: Any, module: nn.Module, may_sort: bool) -> Parts | None:
    """The parts with the batch's own order of sequences; None where they have it already."""
    first = next(iter(heard.values()), None)
    if first is None or not (may_sort or is_suspicious(first.layout)):
        return None
    order = restored(first.piece.states["x"], first.layout, batch, embedding(module))
    if order is None:
        return None
    return {
        name: item.reordered(order) if item.layout.goes_with(first.layout) else item
        for name, item in heard.items()
    }
