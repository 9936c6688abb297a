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

from rnnlens.adapter.axes.layout import Layout, described, tensors
from rnnlens.adapter.modules import called, is_torchs
from rnnlens.adapter.record import layers, steps
from rnnlens.adapter.record.calls import Chains, Piece
from rnnlens.errors import RnnlensError
from rnnlens.model.cells import Cell, Change, States, Weights

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
    @abstractmethod
    def cell(self) -> Cell:
        """Which of the cells this is."""

    @property
    def directions(self) -> int:
        """2: it also reads backwards."""
        return 2 if getattr(self.module, "bidirectional", False) else 1

    def layout(self, piece: Piece, batch_first: bool | None) -> Layout:
        """Where time and sequences are in tensors beside this part."""
        timesteps, batch = piece.shape
        first = bool(getattr(self.module, "batch_first", False))
        chosen = first if batch_first is None else batch_first
        sure = batch_first is not None or hasattr(self.module, "batch_first")
        # Beside a packed input, other tensors may be padded further than its longest sequence.
        lengths = piece.lengths if piece.packed is None else piece.ends()
        return Layout(timesteps, batch, chosen, sure, lengths, piece.packed)

    def check_device(self, args: Any, kwargs: Any) -> None:
        """The input has to be where the weights are; torch itself does not always say so."""
        devices = [tensor.device for _, tensor in tensors((args, kwargs))]
        here = next((p.device for p in self.module.parameters()), None)
        if devices and here is not None and devices[0] != here:
            raise RnnlensError(
                f"{self.called} is given its input on {devices[0]} and has its weights on {here}; "
                f"move the batch, batch.to('{here}'), or the module"
            )

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
    return a if torch.finfo(a).eps > torch.finfo(b).eps else b


class LayersPart(Part):
    """An nn.LSTM, GRU or RNN.

    Its layers have to be computed one by one to be seen, which gives its output too. Once a first
    batch has shown that to be right, it is returned in place of torch's, so that nothing is
    computed twice. The forward of a subclass is always run.
    """

    module: nn.RNNBase

    def __post_init__(self) -> None:
        super().__post_init__()
        self.calls: list[Piece] = []

    def call(self, forward: Forward, args: Any, kwargs: Any) -> Any:
        self.check_device(args, kwargs)
        real = forward(*args, **kwargs) if self.checking or not self._is_torchs(forward) else None
        call = self._arguments(args, kwargs)
        self.weights = layers.weights_of(self.module)
        states = layers.compute(self.module, call, self.weights, self.edits_at(call.state))
        source = args[0] if args else kwargs["input"]
        answer = layers.result(self.module, source, call, states)
        if real is not None and not self.edits:
            self._compare(answer, real)
            answer = real
        flat = _flat(answer)
        self.note_autocast(call.x)
        self.returned += flat
        self.chains.add(call.state, flat[1], len(call.x))
        packed = source if isinstance(source, PackedSequence) else None
        self.calls.append(Piece({"x": call.x, **self._by_id(states)}, call.lengths, packed))
        return answer

    def _is_torchs(self, forward: Forward) -> bool:
        """Whether nothing but torch's code runs, in the precision of the weights."""
        device = self.module.all_weights[0][0].device.type
        return is_torchs(forward) and not torch.is_autocast_enabled(device)

    def _arguments(self, args: Any, kwargs: Any) -> layers.Arguments:
        try:
            return layers.read(self.module, *args, **kwargs)
        except TypeError as error:
            raise RnnlensError(
                f"{self.called} is called with other arguments than torch's own, which cannot be "
                f"recomputed ({error}); name it in kinds= to read its output alone"
            ) from error

    def _compare(self, recomputed: Any, real: Any) -> None:
        ours, theirs = _flat(recomputed), _flat(real)
        if [t.shape for t in ours] != [t.shape for t in theirs]:
            raise RnnlensError(
                f"{self.called} returned {described(real)} where torch's own returns "
                f"{described(recomputed)}; name it in kinds= to read its output alone"
            )
        self.compare(ours, theirs)

    def _by_id(self, by_layer: list[States]) -> States:
        return {
            local(kind, at // self.directions + 1, at % self.directions == 1): values
            for at, states in enumerate(by_layer)
            for kind, values in states.items()
        }

    def of_calls(self) -> list[Piece]:
        return self.calls

    @property
    def cell(self) -> Cell:
        return layers.cell_of(self.module)


class StepsPart(Part):
    """An LSTMCell, GRUCell or RNNCell: its calls are gathered and computed together."""

    module: steps.CellModule

    def __post_init__(self) -> None:
        super().__post_init__()
        self.steps = steps.Steps(self.module)

    def call(self, forward: Forward, args: Any, kwargs: Any) -> Any:
        self.check_device(args, kwargs)
        real = forward(*args, **kwargs)
        named = dict(zip(("input", "hx"), args, strict=False)) | kwargs
        edits = self.edits_at(next(iter(steps.tensors(named.get("hx"))), None))
        if edits and 0 in edits[0]:
            real = self.steps.edit(named["input"], named.get("hx"), real, edits[0][0])
        state, returned = self.steps.add(named["input"], named.get("hx"), real)
        self.note_autocast(returned)
        self.returned += _flat(real)
        self.chains.add(state, returned)
        return real

    def of_calls(self) -> list[Piece]:
        self.weights = self.steps.weights[:1]
        pieces = []
        for step, states in zip(self.steps.calls, self.steps.states(), strict=True):
            if self.checking and not self.edits:
                self.compare((states[kind][0] for kind in step.end), step.end.values())
            by_id = {local(kind, 1, reverse=False): values for kind, values in states.items()}
            pieces.append(Piece({"x": step.x[None], **by_id}))
        return pieces

    @property
    def cell(self) -> Cell:
        return self.steps.cell


def _flat(value: Any) -> list[Tensor]:
    """The tensors in what a recurrent part returns; of a packed output its data."""
    if isinstance(value, PackedSequence):
        return [value.data]
    if isinstance(value, tuple | list):
        return [tensor for inner in value for tensor in _flat(inner)]
    return [value] if isinstance(value, Tensor) else []
