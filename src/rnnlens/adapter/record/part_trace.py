"""What a forward pass tells of each recurrent part: its states in the order of the batch."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter.axes.layout import Layout, batch_order
from rnnlens.adapter.modules import embedding
from rnnlens.adapter.predictions import count_logits
from rnnlens.adapter.record.calls import Piece
from rnnlens.adapter.record.capture import Capture
from rnnlens.adapter.record.parts import CHAIN, Part, local
from rnnlens.model.kinds import INPUT


@dataclass(frozen=True)
class PartTrace:
    """The states of one recurrent part in one forward pass, or of one chain of its calls."""

    name: str  # of the part, or of the chain
    part: Part
    piece: Piece
    layout: Layout

    @property
    def output(self) -> Tensor:
        """(T, B, H) or, both directions beside one another, (T, B, 2H)."""
        return torch.cat([self.piece.states[kind] for kind in self.tops], -1)

    @property
    def tops(self) -> list[str]:
        """The local ids of the last layer's output, one for each direction."""
        last = len(self.part.weights) // self.part.directions
        output = self.part.cell.output.id
        return [local(output, last, bool(way)) for way in range(self.part.directions)]

    def reordered(self, order: Tensor) -> "PartTrace":
        """The same with its sequences in another order."""
        return replace(self, piece=self.piece.reordered(order), layout=self.layout.reordered(order))


PartTraces = dict[str, PartTrace]  # by name, in the order of the calls


def part_traces(capture: Capture, apart: bool, batch_first: bool | None) -> PartTraces:
    """The trace of each part or, where chains are kept apart, of each chain of its calls."""
    traces = {}
    for part in (item for item in capture.order if isinstance(item, Part)):
        for number, piece in enumerate(part.pieces(apart), 1):
            name = part.name + (f"{CHAIN}{number}" if number > 1 else "")
            traces[name] = PartTrace(name, part, piece, part.layout(piece, batch_first))
    return traces


def is_apart(
    capture: Capture, output: Any, logits: Callable[[Any], Any] | None, batch_first: bool | None
) -> bool:
    """Whether a part reads the batch more than once: what the module returns fits each chain alone.

    A part that reads sequence after sequence has chains of other sizes, or the module returns
    something for each of them.
    """
    chains = max((len(part.chains) for part in capture.parts.values()), default=0)
    if chains < 2:
        return False
    returned = [tensor for part in capture.parts.values() for tensor in part.returned]
    together, each = (
        [trace.layout for trace in part_traces(capture, apart, batch_first).values()]
        for apart in (False, True)
    )
    if (
        count_logits(output, together, returned, logits)
        or len({layout.batch for layout in each}) > 1
    ):
        return False
    return 0 < count_logits(output, each, returned, logits) < chains


def in_batch_order(
    traces: PartTraces, batch: Any, module: nn.Module, may_sort: bool
) -> PartTraces | None:
    """The traces in the batch's order of sequences; None where they have it already."""
    first = next(iter(traces.values()), None)
    if first is None or not (may_sort or first.layout.may_be_sorted):
        return None
    order = batch_order(first.piece.states[INPUT], first.layout, batch, embedding(module))
    if order is None:
        return None
    return {
        name: trace.reordered(order) if trace.layout.goes_with(first.layout) else trace
        for name, trace in traces.items()
    }
