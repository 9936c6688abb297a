"""torch.nn.LSTMCell, GRUCell and RNNCell in a loop of the user's: every call is one timestep."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from rnnlens.model.cells import GRU, LSTM, TORCHS, Cell, Change, States, Weights

CellModule = nn.LSTMCell | nn.GRUCell | nn.RNNCell


@dataclass(frozen=True)
class Step:
    """One call: what went in, copied, since loops like to overwrite their states."""

    x: Tensor  # (B, I)
    start: States  # kind -> (B, H)
    end: States  # what the cell really returned
    state: Tensor | None  # as given, to know it again
    weights: int  # which of the weights met so far


@dataclass
class Steps:
    """The calls of one cell in one forward pass."""

    module: CellModule
    calls: list[Step] = field(default_factory=list)
    weights: list[Weights] = field(default_factory=list)
    changed: dict[int, States] = field(default_factory=dict)  # of calls that were edited

    @property
    def cell(self) -> Cell:
        """Which of the cells this is."""
        return cell_of(self.module)

    def add(self, input: Tensor, hx: object, output: object) -> tuple[Tensor | None, Tensor]:
        """Take in a call; answers the state it was given and the one it returned."""
        x, start = self._given(input, hx)
        ended = tensors(output)
        end = {k: _copy(ended[at]) for at, k in enumerate(self.cell.carried)}
        state = next(iter(tensors(hx)), None)
        self.calls.append(Step(x.clone(), start, end, state, self._weights_now()))
        return state, ended[0]

    def _given(self, input: Tensor, hx: object) -> tuple[Tensor, States]:
        """A call's input (B, I), and copies of the states (B, H) that it continues."""
        x = input if input.dim() == 2 else input[None]
        given, zeros = tensors(hx), x.new_zeros(len(x), self.module.hidden_size)
        carried = enumerate(self.cell.carried)
        return x, {kind: _copy(given[at]) if given else zeros for at, kind in carried}

    def edited(self, input: Tensor, hx: object, output: object, change: Change) -> object:
        """What the next call returns in place of `output`, with a change at its timestep."""
        x, start = self._given(input, hx)
        states = self.cell.states(x[None], start, self._weights(), {0: change})
        self.changed[len(self.calls)] = states
        pairs = zip(self.cell.carried, tensors(output), strict=True)
        ended = [states[kind].reshape(old.shape).to(old.dtype) for kind, old in pairs]
        return ended[0] if isinstance(output, Tensor) else tuple(ended)

    def _weights(self) -> Weights:
        m = self.module
        return Weights(m.weight_ih, m.weight_hh, *((m.bias_ih, m.bias_hh) if m.bias else ()))

    def _weights_now(self) -> int:
        """The weights as they are at this call; a wrapper may rewrite them before each."""
        now = self._weights()
        if not self.weights or not _equal(self.weights[-1], now):
            self.weights.append(now)
        return len(self.weights) - 1

    def states(self) -> list[States]:
        """Every kind (1, B, H) of every call; nothing recurs, so that all calls are one product."""
        made: list[States] = [{} for _ in self.calls]
        for which, weights in enumerate(self.weights):
            at = [n for n, call in enumerate(self.calls) if call.weights == which]
            calls = [self.calls[n] for n in at]
            x = torch.cat([call.x for call in calls])[None]
            start = {k: torch.cat([call.start[k] for call in calls]) for k in self.cell.carried}
            states = self.cell.states(x, start, weights)
            sizes = [len(call.x) for call in calls]
            for kind, values in states.items():
                for n, part in zip(at, values.split(sizes, 1), strict=True):
                    made[n][kind] = part
        return [self.changed.get(n, states) for n, states in enumerate(made)]


def cell_of(module: CellModule) -> Cell:
    """Which of the cells one of torch's is."""
    if isinstance(module, nn.LSTMCell):
        return LSTM
    if isinstance(module, nn.GRUCell):
        return GRU
    return TORCHS[f"RNN_{module.nonlinearity.upper()}"]


def tensors(state: object) -> list[Tensor]:
    """A cell's state, however it is wrapped: nothing, h, or h and c."""
    if state is None:
        return []
    found = state if isinstance(state, tuple | list) else (state,)
    return [values for values in found if isinstance(values, Tensor)]


def _copy(values: Tensor) -> Tensor:
    """(B, H), ours."""
    return (values if values.dim() == 2 else values[None]).clone()


def _equal(a: Weights, b: Weights) -> bool:
    """Whether these are the same weights; most often they are the very same tensors."""
    pairs = [(p, q) for p, q in zip(a, b, strict=True) if p is not None and q is not None]
    return all(p is q or (p.shape == q.shape and torch.equal(p, q)) for p, q in pairs)
