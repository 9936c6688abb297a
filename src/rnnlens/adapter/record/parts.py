"""Recurrent parts of a user's module while they are called: every state, computed and checked.

A call returns what torch's would. The module `calls` puts the calls together.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rnnlens.adapter.axes.layout import Layout, tensors
from rnnlens.adapter.modules import called
from rnnlens.adapter.record.calls import Chains, Piece
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import Cell, Change, Weights

Forward = Callable[..., Any]
CHAIN = "#"  # `encoder#2` is the second chain of the encoder's calls


def local(kind: str, number: int, reverse: bool) -> str:
    """A kind's id within its part."""
    return f"{kind}{number}{'<' if reverse else ''}"


@dataclass(eq=False)
class Part(ABC):
    """A recurrent part, and all of its calls in one forward pass."""

    name: str
    module: nn.Module
    checking: bool
    difference: float = 0.0  # the largest between recomputed and real outputs
    scale: float = 1.0  # the largest real output, at least 1
    precision: torch.dtype = torch.float64  # the coarsest of all outputs
    returned: list[Tensor] = field(default_factory=list)  # by all calls
    weights: list[Weights] = field(default_factory=list)  # per layer and direction
    # By the number of the chain, or at 0 of all: changes by timestep, per layer and direction.
    edits: dict[int, list[dict[int, Change]]] = field(default_factory=dict)
    apart: bool = False  # whether chains of calls are kept apart
    number: int = 0  # of its layer in a stack of layers; 0: it has layers of its own

    cell: Cell = field(init=False)  # what it computes by, known at least when it was called

    def __post_init__(self) -> None:
        self.called = called(self.name, self.module)
        self.chains = Chains(self.called)

    @abstractmethod
    def call(self, forward: Forward, args: Any, kwargs: Any) -> Any:
        """Stand in for the part's forward."""

    @abstractmethod
    def of_calls(self) -> list[Piece]:
        """Every kind of every call by its local id, `x` the input."""

    def pieces(self, apart: bool) -> list[Piece]:
        """All calls together or, where they are kept apart, each chain of them."""
        calls = self.of_calls()
        return self.chains.apart(calls) if apart else [self.chains.join(calls)]

    def edits_at(self, state: Tensor | None) -> list[dict[int, Change]]:
        """The edits of a call that is given this state, counted from its first timestep."""
        if not self.edits:
            return []
        chain, first = self.chains.place(state)
        edits = self.edits.get(chain if self.apart else 0, [])
        return [{step - first: change for step, change in layer.items()} for layer in edits]

    @property
    def directions(self) -> int:
        """1, or 2 where the part also reads backwards."""
        return 2 if getattr(self.module, "bidirectional", False) else 1

    def layout(self, piece: Piece, batch_first: bool | None) -> Layout:
        """Where time and sequences are in tensors beside this part."""
        steps, batch = piece.shape
        first = bool(getattr(self.module, "batch_first", False))
        chosen = first if batch_first is None else batch_first
        sure = batch_first is not None or hasattr(self.module, "batch_first")
        # Beside a packed input, other tensors may be padded further than its longest sequence.
        lengths = piece.lengths if piece.packed is None else piece.ends()
        return Layout(steps, batch, chosen, sure, lengths, piece.packed)

    def check_device(self, args: Any, kwargs: Any) -> None:
        """The input has to be where the weights are; torch itself does not always say so."""
        devices = [tensor.device for _, tensor in tensors((args, kwargs))]
        here = next((p.device for p in self.module.parameters()), None)
        if devices and here is not None and devices[0] != here:
            raise RnnlensError(
                f"{self.called} is given its input on {devices[0]} and has its weights on {here}; "
                f"move the batch, batch.to('{here}'), or the module"
            )

    def note_precision(self, values: Tensor) -> None:
        """The part is at least as coarse as these."""
        self.precision = _coarser(self.precision, values.dtype)

    def note_autocast(self, values: Tensor) -> None:
        """Within an autocast the part is as coarse as the precision that it runs in."""
        device = values.device.type
        if torch.is_autocast_enabled(device):
            self.precision = _coarser(self.precision, torch.get_autocast_dtype(device))

    def compare(self, recomputed: Iterable[Tensor], real: Iterable[Tensor]) -> None:
        """Note how far recomputed outputs are from what the module returns."""
        for ours, theirs in zip(recomputed, real, strict=True):
            wide = theirs.to(torch.float64)
            gap = float((ours.to(torch.float64) - wide).abs().max())
            self.difference = max(self.difference, gap) if gap == gap else gap  # noqa: PLR0124 - NaN
            self.scale = max(self.scale, float(wide.abs().max()))
            self.precision = _coarser(self.precision, _coarser(ours.dtype, theirs.dtype))


def _coarser(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    """The one of two precisions that rounds more."""
    return a if torch.finfo(a).eps > torch.finfo(b).eps else b


def flat(value: Any) -> list[Tensor]:
    """The tensors in what a recurrent part returns; of a packed output its data."""
    if isinstance(value, PackedSequence):
        return [value.data]
    if isinstance(value, tuple | list):
        return [tensor for inner in value for tensor in flat(inner)]
    return [value] if isinstance(value, Tensor) else []
