"""Recurrent cells, written like the appendix of the paper.

`step` is what is read: one timestep, every kind by name. `sequence` is torch's fused recurrence
over the same weights, for training. Weights are laid out as torch.nn.LSTM, GRU and RNN have them.
"""

from abc import abstractmethod
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn, sigmoid, tanh

from rnnlens.model.kinds import BELOW, Edge, Kind

_BELOW, _H_PREV = Edge(BELOW), Edge("h", 1)

States = dict[str, Tensor]  # kind -> (B, H) at one timestep, or (T, B, H)


class Cell(nn.Module):
    """One recurrent layer."""

    name: ClassVar[str]
    gates: ClassVar[int]  # how many blocks of H rows the weights have
    kinds: ClassVar[tuple[Kind, ...]]  # in the order of the equations
    carried: ClassVar[tuple[str, ...]]  # the kinds that the next timestep needs

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.w_x = nn.Parameter(torch.empty(self.gates * width, inputs))
        self.w_h = nn.Parameter(torch.empty(self.gates * width, width))
        self.b_x = nn.Parameter(torch.zeros(self.gates * width))
        self.b_h = nn.Parameter(torch.zeros(self.gates * width))

    @abstractmethod
    def step(self, a: Tensor, prev: States) -> States:
        """Every kind at one timestep, from a = W_x x + b_x (B, gates * H) and the step before."""

    @abstractmethod
    def sequence(self, x: Tensor, w_h: Tensor) -> Tensor:
        """Outputs h (T, B, H) for inputs x (T, B, I), fused; `w_h` may be a thinned-out weight."""

    def _fused(self, w_h: Tensor) -> list[Tensor]:
        """The weights as torch's recurrences take them; cuDNN wants them in one piece."""
        weights = [self.w_x, w_h, self.b_x, self.b_h]
        if not w_h.is_cuda:
            return weights
        parts = torch.cat([w.flatten() for w in weights]).split([w.numel() for w in weights])
        return [part.view_as(w) for part, w in zip(parts, weights, strict=True)]

    def start(self, batch: int) -> States:
        """The state before the first word: zeros."""
        return {kind: self.w_h.new_zeros(batch, self.width) for kind in self.carried}

    def trace(self, x: Tensor, prev: States) -> States:
        """Every kind at every timestep, (T, B, H) each."""
        steps: list[States] = []
        for a in F.linear(x, self.w_x, self.b_x):
            prev = self.step(a, prev)
            steps.append(prev)
        return {kind.id: torch.stack([step[kind.id] for step in steps]) for kind in self.kinds}


class LSTM(Cell):
    """Long short-term memory, with the two terms of its cell state by name."""

    name = "lstm"
    gates = 4
    carried = ("h", "c")
    kinds = (
        Kind("f", "forget gate", "f", "f = σ(W_f [x, h₋₁] + b_f)", (_BELOW, _H_PREV)),
        Kind("i", "remember gate", "i", "i = σ(W_i [x, h₋₁] + b_i)", (_BELOW, _H_PREV)),
        Kind("o", "output gate", "o", "o = σ(W_o [x, h₋₁] + b_o)", (_BELOW, _H_PREV)),
        Kind("g", "cell input", "c̃", "c̃ = tanh(W_c [x, h₋₁] + b_c)", (_BELOW, _H_PREV)),
        Kind("l", "long-term memory", "l", "l = f ∘ c₋₁", (Edge("f"), Edge("c", 1))),
        Kind("s", "short-term memory", "s", "s = i ∘ c̃", (Edge("i"), Edge("g"))),
        Kind("c", "cell state", "c", "c = l + s", (Edge("l"), Edge("s"))),
        Kind("h", "output state", "h", "h = o ∘ tanh(c)", (Edge("o"), Edge("c"))),
    )

    def step(self, a: Tensor, prev: States) -> States:
        a_i, a_f, a_g, a_o = (a + F.linear(prev["h"], self.w_h, self.b_h)).chunk(4, -1)
        f = sigmoid(a_f)
        i = sigmoid(a_i)
        o = sigmoid(a_o)
        g = tanh(a_g)
        l = f * prev["c"]  # noqa: E741 - the paper's letter
        s = i * g
        c = l + s
        h = o * tanh(c)
        return {"f": f, "i": i, "o": o, "g": g, "l": l, "s": s, "c": c, "h": h}

    def sequence(self, x: Tensor, w_h: Tensor) -> Tensor:
        zeros = x.new_zeros(1, x.shape[1], self.width)
        return torch.lstm(
            x, [zeros, zeros], self._fused(w_h), True, 1, 0.0, self.training, False, False
        )[0]


class GRU(Cell):
    """Gated recurrent unit, with the two terms of its output by name."""

    name = "gru"
    gates = 3
    carried = ("h",)
    kinds = (
        Kind("r", "reset gate", "r", "r = σ(W_r [x, h₋₁] + b_r)", (_BELOW, _H_PREV)),
        Kind("z", "update gate", "z", "z = σ(W_z [x, h₋₁] + b_z)", (_BELOW, _H_PREV)),
        Kind("n", "candidate", "n", "n = tanh(W_n x + b_n + r ∘ (U_n h₋₁ + d_n))",
             (_BELOW, Edge("r"), _H_PREV)),
        Kind("k", "kept memory", "k", "k = z ∘ h₋₁", (Edge("z"), _H_PREV)),
        Kind("w", "written memory", "w", "w = (1 - z) ∘ n", (Edge("z"), Edge("n"))),
        Kind("h", "output state", "h", "h = k + w", (Edge("k"), Edge("w"))),
    )  # fmt: skip

    def step(self, a: Tensor, prev: States) -> States:
        a_r, a_z, a_n = a.chunk(3, -1)
        u_r, u_z, u_n = F.linear(prev["h"], self.w_h, self.b_h).chunk(3, -1)
        r = sigmoid(a_r + u_r)
        z = sigmoid(a_z + u_z)
        n = tanh(a_n + r * u_n)
        k = z * prev["h"]
        w = (1 - z) * n
        h = k + w
        return {"r": r, "z": z, "n": n, "k": k, "w": w, "h": h}

    def sequence(self, x: Tensor, w_h: Tensor) -> Tensor:
        zeros = x.new_zeros(1, x.shape[1], self.width)
        return torch.gru(x, zeros, self._fused(w_h), True, 1, 0.0, self.training, False, False)[0]


class Elman(Cell):
    """The simple recurrent network."""

    name = "rnn"
    gates = 1
    carried = ("h",)
    kinds = (Kind("h", "output state", "h", "h = tanh(W [x, h₋₁] + b)", (_BELOW, _H_PREV)),)

    def step(self, a: Tensor, prev: States) -> States:
        return {"h": tanh(a + F.linear(prev["h"], self.w_h, self.b_h))}

    def sequence(self, x: Tensor, w_h: Tensor) -> Tensor:
        zeros = x.new_zeros(1, x.shape[1], self.width)
        return torch.rnn_tanh(
            x, zeros, self._fused(w_h), True, 1, 0.0, self.training, False, False
        )[0]


CELLS: dict[str, type[Cell]] = {cell.name: cell for cell in (LSTM, GRU, Elman)}
