"""Listening to a forward pass, and what it tells of each recurrent part.

Every call of a recurrent part is recorded, and every output of a named submodule. While listening,
a function stands in for the `forward` of each recurrent part. A hook would not do: wrappers that
drop weights call `part.forward(x)`, which runs no hooks, and the user's hooks may change what goes
in and comes out. All of it happens inside `restoring`, which puts everything back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter.axes.layout import (
    Layout,
    batch_order,
    described,
    tensors,
    with_tensors,
)
from rnnlens.adapter.modules import embedding
from rnnlens.adapter.predictions import count_logits
from rnnlens.adapter.record.calls import Piece
from rnnlens.adapter.record.parts import CHAIN, Forward, Part, local
from rnnlens.adapter.record.scan_parts import ScanPart
from rnnlens.adapter.record.torch_parts import LayersPart, StepsPart
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import Change
from rnnlens.model.kinds import INPUT
from rnnlens.model.traceable import StateEdit


def _part(name: str, module: nn.Module, checking: bool) -> Part:
    if isinstance(module, nn.RNNBase):
        return LayersPart(name, module, checking)
    cells = isinstance(module, nn.RNNCellBase)
    return (StepsPart if cells else ScanPart)(name, module, checking)


class Capture:
    """All that is recorded of one forward pass."""

    def __init__(
        self,
        parts: dict[str, nn.Module],
        named: dict[str, nn.Module],
        checking: bool,
        edits: Mapping[str, list[dict[int, Change]]],
        apart: bool,
        shaped: Mapping[str, tuple[str, Any]] | None = None,
    ) -> None:
        """`edits` are changes by timestep, of each part per layer and direction; `apart` says
        whether the chains of a part's calls are kept apart. `shaped` has for each of the `named`
        what the user calls it, and its shape where there is one.
        """
        self.shaped = shaped or {}
        self.parts = {name: _part(name, module, checking) for name, module in parts.items()}
        for name, changes in edits.items():
            part, _, chain = name.partition(CHAIN)
            self.parts[part].apart = apart
            if any(changes):
                self.parts[part].edits[int(chain or 1) - 1] = changes
        self.named = named
        self.put: dict[str, OutputEdits] = {}  # edits of the named submodules' outputs
        self.outputs: dict[str, list[Tensor]] = {}  # of the named submodules
        self.embedded: list[Tensor] = []  # outputs of the module's one embedding
        self.order: list[Part | str] = []  # recurrent parts, and names, as they are first called

    def listen(self, embedding: nn.Embedding | None = None) -> None:
        """Begin; to be called inside `restoring`, which ends it."""
        if embedding is not None:
            embedding.register_forward_hook(lambda _m, _a, out: self.embedded.append(out.clone()))
        for part in self.parts.values():
            part.module.__dict__["forward"] = self._stand_in(part, part.module.forward)
        for name, module in self.named.items():
            module.register_forward_hook(self._hook(name))

    def _stand_in(self, part: Part, forward: Forward) -> Forward:
        def call(*args: Any, **kwargs: Any) -> Any:
            answer = part.call(forward, args, kwargs)
            if part not in self.order:
                self.order.append(part)
            return answer

        return call

    def _hook(self, name: str) -> Callable[[nn.Module, Any, Any], Any]:
        called, shape = self.shaped.get(name, (name, None))
        base, bracket, rest = called.partition("[")
        path = bracket + rest  # `[1]` where the user means the second of several outputs

        def keep(_module: nn.Module, _args: Any, output: Any) -> Any:
            values = given = next((t for at, t in tensors(output) if at.startswith(path)), None)
            if values is None or given is None:
                raise RnnlensError(
                    f"{base} returned {described(output)}, in which there is no tensor "
                    f"{path or 'to read'}; name a submodule that returns one"
                )
            if given.is_complex() and not shape:  # real and imaginary parts side by side
                values = torch.cat([given.real, given.imag], -1)
            edits, before = self.put.get(name), self.outputs.setdefault(name, [])
            if edits:
                values = edits.made(values, sum(some.numel() for some in before))
            before.append(values.clone())
            if name not in self.order:
                self.order.append(name)
            if not edits:
                return None
            parts = values.chunk(2, -1)
            new = torch.complex(*parts) if given.is_complex() else values
            put = with_tensors(output, lambda tensor: new if tensor is given else tensor)
            if not any(tensor is new for _, tensor in tensors(put)):
                raise RnnlensError(
                    f"{base} returns {described(output)}, in which nothing can be put in another's "
                    "place; name a submodule that returns a tensor"
                )
            return put

        return keep


@dataclass(frozen=True)
class OutputEdits:
    """Changes of a named submodule's states, in what its calls return.

    `places` (T, B, H) are those of each state's numbers in all that the calls returned, one after
    the other, counted from 1; 0 stands for padding. `before` are the states without edits.
    """

    places: Tensor
    before: Tensor
    changes: Sequence[StateEdit]

    def made(self, values: Tensor, first: int) -> Tensor:
        """What a call returns, after the changes of those of its numbers that are states; so many
        numbers came before it.
        """
        flat = values.reshape(-1)
        for edit in self.changes:
            at = self.places[edit.step] - 1 - first  # (B, H)
            here = (at >= 0) & (at < len(flat))
            if not bool(here.any()):
                continue
            state = torch.where(here, flat[at.clamp(0, len(flat) - 1)], self.before[edit.step])
            new = edit.change(state).to(flat.dtype)
            flat = flat.scatter(0, at[here], new[here])
        return flat.view(values.shape)


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
        """What was recorded, with its sequences in another order."""
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
