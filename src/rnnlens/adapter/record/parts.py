"""Recurrent parts of a user's module, as they are called: every state, computed and checked.

A call answers what torch's own would. What was called is put together by `calls`.
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
from rnnlens.adapter.record.calls import Piece, Runs
from rnnlens.errors import RnnlensError
from rnnlens.model.cells import Cell, Change, Weights

Forward = Callable[..., Any]
RUN = "#"  # `encoder#2` is the second time that the encoder begins afresh


def local(kind: str, number: int, reverse: bool) -> str:
    """A kind's id within its part."""
    return f"{kind}{number}{'<' if reverse else ''}"


@dataclass
class Part(ABC):
    """What was heard of one recurrent part."""

    name: str
    module: nn.Module
    checking: bool
    difference: float = 0.0  # between recomputed and real outputs, the largest
    scale: float = 1.0  # the largest real output, at least 1
    precision: torch.dtype = torch.float64  # the coarsest that was met
    returned: list[Tensor] = field(default_factory=list)  # kept, to know them again
    weights: list[Weights] = field(default_factory=list)  # per layer and direction
    # Of each run that is read apart, or of all at 0: changes by timestep, per layer and direction.
    edits: dict[int, list[dict[int, Change]]] = field(default_factory=dict)
    apart: bool = False  # whether runs are read apart

    def __post_init__(self) -> None:
        self.called = called(self.name, self.module)
        self.runs = Runs(self.called)

    @abstractmethod
    def call(self, forward: Forward, args: Any, kwargs: Any) -> Any:
        """Stand in for the part's forward."""

    @abstractmethod
    def of_calls(self) -> list[Piece]:
        """Every kind of every call by its local id, `x` the input."""

    def pieces(self, apart: bool) -> list[Piece]:
        """All calls together, or, where they are read apart, each run."""
        calls = self.of_calls()
        return self.runs.apart(calls) if apart else [self.runs.join(calls)]

    def edits_at(self, given: Tensor | None) -> list[dict[int, Change]]:
        """The edits of a call that is given a state, by its own timesteps."""
        if not self.edits:
            return []
        run, first = self.runs.place(given)
        mine = self.edits.get(run if self.apart else 0, [])
        return [{step - first: change for step, change in e.items()} for e in mine]

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
        steps_, batch = piece.states["x"].shape[:2]
        first = bool(getattr(self.module, "batch_first", False))
        chosen = first if batch_first is None else batch_first
        told = batch_first is not None or hasattr(self.module, "batch_first")
        lengths = piece.lengths
        if lengths is None and piece.packed is not None:  # other tensors may be padded further
            lengths = torch.full((batch,), steps_, device=piece.states["x"].device)
        return Layout(steps_, batch, chosen, told, lengths, piece.packed)

    def check_device(self, args: Any, kwargs: Any) -> None:
        """The input has to be where the weights are; torch itself does not always say so."""
        given = [tensor.device for _, tensor in tensors((args, kwargs))]
        here = next((p.device for p in self.module.parameters()), None)
        if given and here is not None and given[0] != here:
            raise RnnlensError(
                f"{self.called} is given its input on {given[0]} and has its weights on {here}; "
                f"move the batch, batch.to('{here}'), or the module"
            )

    def note_autocast(self, values: Tensor) -> None:
        """Within an autocast the part is as coarse as what that makes of its weights."""
        device = values.device.type
        if torch.is_autocast_enabled(device):
            self.precision = _coarser(self.precision, torch.get_autocast_dtype(device))

    def compare(self, made: Iterable[Tensor], real: Iterable[Tensor]) -> None:
        """Note how far what was recomputed is from what the module returned."""
        for ours, theirs in zip(made, real, strict=True):
            wide = theirs.to(torch.float64)
            gap = float((ours.to(torch.float64) - wide).abs().max())
            self.difference = max(self.difference, gap) if gap == gap else gap  # noqa: PLR0124 - NaN
            self.scale = max(self.scale, float(wide.abs().max()))
            self.precision = _coarser(self.precision, _coarser(ours.dtype, theirs.dtype))


def _coarser(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    return a if torch.finfo(a).eps > torch.finfo(b).eps else b


class LayersPart(Part):
    """An nn.LSTM, GRU or RNN.

    Its layers have to be computed one by one to be seen, which gives its output too. Once that has
    been checked, it is returned in place of torch's, so that nothing is computed twice; a subclass
    with a forward of its own is always run.
    """

    module: nn.RNNBase

    def __post_init__(self) -> None:
        super().__post_init__()
        self.calls: list[Piece] = []

    def call(self, forward: Forward, args: Any, kwargs: Any) -> Any:
        self.check_device(args, kwargs)
        real = forward(*args, **kwargs) if self.checking or not self._is_torchs(forward) else None
        given = self._read(args, kwargs)
        self.weights = layers.weights(self.module)
        edited = bool(self.edits)
        states = layers.compute(self.module, given, self.weights, self.edits_at(given.state))
        source = args[0] if args else kwargs["input"]
        made = layers.returned(self.module, source, given, states)
        if real is not None and not edited:
            self._compare(made, real)
        answer = made if real is None or edited else real
        flat = _flat(answer)
        self.note_autocast(given.x)
        self.returned += flat
        self.runs.add(given.state, flat[1], len(given.x))
        packed = source if isinstance(source, PackedSequence) else None
        self.calls.append(Piece({"x": given.x, **self._named(states)}, given.lengths, packed))
        return answer

    def _is_torchs(self, forward: Forward) -> bool:
        """Whether nothing but torch's own code runs, in the weights' own precision."""
        device = self.module.all_weights[0][0].device.type
        return is_torchs(forward) and not torch.is_autocast_enabled(device)

    def _read(self, args: Any, kwargs: Any) -> layers.Given:
        try:
            return layers.read(self.module, *args, **kwargs)
        except TypeError as error:
            raise RnnlensError(
                f"{self.called} is called with other arguments than torch's own, which cannot be "
                f"recomputed ({error}); name it in kinds= to read its output alone"
            ) from error

    def _compare(self, made: Any, real: Any) -> None:
        ours, theirs = _flat(made), _flat(real)
        if [t.shape for t in ours] != [t.shape for t in theirs]:
            raise RnnlensError(
                f"{self.called} returned {described(real)} where torch's own returns "
                f"{described(made)}; name it in kinds= to read its output alone"
            )
        self.compare(ours, theirs)

    def _named(self, states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for at, values in enumerate(states):
            number, backwards = at // self.directions + 1, at % self.directions == 1
            found |= {local(kind, number, backwards): v for kind, v in values.items()}
        return found

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
            real = self.steps.edited(named["input"], named.get("hx"), real, edits[0][0])
        given, returned = self.steps.add(named["input"], named.get("hx"), real)
        self.note_autocast(returned)
        self.returned += _flat(real)
        self.runs.add(given, returned)
        return real

    def of_calls(self) -> list[Piece]:
        self.weights = self.steps.weights
        pieces = []
        for step, states in zip(self.steps.calls, self.steps.states(), strict=True):
            if self.checking and not self.edits:
                self.compare((states[kind][0] for kind in step.end), step.end.values())
            named = {local(kind, 1, reverse=False): v for kind, v in states.items()}
            pieces.append(Piece({"x": step.x[None], **named}))
        return pieces

    @property
    def cell(self) -> Cell:
        return self.steps.cell


def _flat(value: Any) -> list[Tensor]:
    """The tensors of what a recurrent part returned, a packed output unpacked to its data."""
    if isinstance(value, PackedSequence):
        return [value.data]
    if isinstance(value, tuple | list):
        return [tensor for inner in value for tensor in _flat(inner)]
    return [value] if isinstance(value, Tensor) else []
