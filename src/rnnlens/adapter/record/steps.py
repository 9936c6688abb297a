"""torch.nn.LSTMCell, GRUCell and RNNCell in a loop of the user's: every call is one timestep."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from rnnlens.model.cells import GRU, LSTM, TORCHS, Cell, Change, States, Weights

CellModule = nn.LSTMCell | nn.GRUCell | nn.RNNCell


@dataclass(frozen=True)
class Step:
    """One call, its tensors copied, since loops like to overwrite their states."""

    x: Tensor  # (B, I)
    start: States  # kind -> (B, H)
    end: States  # what the cell really returned
    weights: int  # the number of its weights in `Steps.weights`


@dataclass
class Steps:
    """The calls of one cell in one forward pass."""

    module: CellModule
    calls: list[Step] = field(default_factory=list)
    weights: list[Weights] = field(default_factory=list)  # all that the calls have met
    edited: dict[int, States] = field(default_factory=dict)  # by the number of the edited call

    @property
    def cell(self) -> Cell:
        """Which of the cells this is."""
        return cell_of(self.module)

    def add(self, input: Tensor, hx: object, output: object) -> tuple[Tensor | None, Tensor]:
        """Take in a call; returns the state it was given and the one it returned."""
        x, start = self._arguments(input, hx)
        returned = tensors(output)
        end = {k: _copy(returned[at]) for at, k in enumerate(self.cell.carried)}
        self.calls.append(Step(x.clone(), start, end, self._weights_now()))
        return next(iter(tensors(hx)), None), returned[0]

    def _arguments(self, input: Tensor, hx: object) -> tuple[Tensor, States]:
        """A call's input (B, I), and copies of the states (B, H) that it continues."""
        x = input if input.dim() == 2 else input[None]
        state, zeros = tensors(hx), x.new_zeros(len(x), self.module.hidden_size)
        carried = enumerate(self.cell.carried)
        return x, {kind: _copy(state[at]) if state else zeros for at, kind in carried}

    def edit(self, input: Tensor, hx: object, output: object, change: Change) -> object:
        """What the next call returns in place of `output`, with a change at its timestep."""
        x, start = self._arguments(input, hx)
        states = self.cell.states(x[None], start, self._weights(), {0: change})
        self.edited[len(self.calls)] = states
        pairs = zip(self.cell.carried, tensors(output), strict=True)
        new = [states[kind].reshape(old.shape).to(old.dtype) for kind, old in pairs]
        return new[0] if isinstance(output, Tensor) else tuple(new)

    def _weights(self) -> Weights:
        m = self.module
        return Weights(m.weight_ih, m.weight_hh, *((m.bias_ih, m.bias_hh) if m.bias else ()))

    def _weights_now(self) -> int:
        """The number of the weights at this call; a wrapper may rewrite them before each."""
        now = self._weights()
        if not self.weights or not _equal(self.weights[-1], now):
            self.weights.append(now)
        return len(self.weights) - 1

    def states(self) -> list[States]:
        """Every kind (1, B, H) of every call.

        The state before each call is known, so that one product computes all of them.
        """
        states_of: list[States] = [{} for _ in self.calls]
        for which, weights in enumerate(self.weights):
            at = [n for n, call in enumerate(self.calls) if call.weights == which]
            calls = [self.calls[n] for n in at]
            x = torch.cat([call.x for call in calls])[None]
            start = {k: torch.cat([call.start[k] for call in calls]) for k in self.cell.carried}
            states = self.cell.states(x, start, weights)
            sizes = [len(call.x) for call in calls]
            for kind, values in states.items():
                for n, part in zip(at, values.split(sizes, 1), strict=True):
                    states_of[n][kind] = part
        return [self.edited.get(n, states) for n, states in enumerate(states_of)]


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
    items = state if isinstance(state, tuple | list) else (state,)
    return [values for values in items if isinstance(values, Tensor)]


def _copy(values: Tensor) -> Tensor:
    """A copy (B, H), which the loop cannot overwrite."""
    return (values if values.dim() == 2 else values[None]).clone()


def _equal(a: Weights, b: Weights) -> bool:
    """Whether these are the same weights; most often they are the very same tensors."""
    pairs = [(p, q) for p, q in zip(a, b, strict=True) if p is not None and q is not None]
    return all(p is q or (p.shape == q.shape and torch.equal(p, q)) for p, q in pairs)
