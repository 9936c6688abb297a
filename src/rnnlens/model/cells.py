"""Recurrent cells, written like the appendix of the paper.

`step` is the definition: one timestep, every kind by name. `_states` computes the same kinds for a
whole sequence quickly, and `outputs` is torch's fused recurrence, for training. Weights are laid
out as in torch.nn.LSTM, GRU and RNN, projections and missing biases included, so that the same
cells serve the networks of rnnlens and users' modules.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, sigmoid, tanh

from rnnlens.model.kinds import BELOW, Edge, Kind

_BELOW, _H_PREV = Edge(BELOW), Edge("h", 1)

States = dict[str, Tensor]  # kind -> (B, H) at one timestep, or (T, B, H)
Change = Callable[[str, Tensor], Tensor]  # a kind's letter and its value -> the value to go on with


class Weights(NamedTuple):
    """The weights of one layer and direction, in torch's layout."""

    w_x: Tensor  # (gates * H, I)
    w_h: Tensor  # (gates * H, H), or (4 * H, P) with a projection
    b_x: Tensor | None = None
    b_h: Tensor | None = None
    w_p: Tensor | None = None  # (P, H), an LSTM's projection of its output

    @property
    def bias(self) -> Tensor | None:
        """The sum of both biases, for cells that need nothing else of them."""
        return None if self.b_x is None or self.b_h is None else self.b_x + self.b_h

    def projected(self, h: Tensor) -> Tensor:
        """The output (..., H), or its projection (..., P)."""
        return h if self.w_p is None else F.linear(h, self.w_p)

    def flat(self) -> list[Tensor]:
        """The weights as torch's fused recurrences take them; cuDNN wants them in one piece."""
        weights = [w for w in self if w is not None]
        if not self.w_x.is_cuda:
            return weights
        parts = torch.cat([w.flatten() for w in weights]).split([w.numel() for w in weights])
        return [part.view_as(w) for part, w in zip(parts, weights, strict=True)]


def unchanged(_letter: str, value: Tensor) -> Tensor:
    """The change that changes nothing."""
    return value


class Cell(ABC):
    """One sort of recurrence: its kinds, and how they follow from weights and input."""

    name: ClassVar[str]
    gates: ClassVar[int]  # how many blocks of H rows the weights have
    kinds: ClassVar[tuple[Kind, ...]]  # in the order of the equations
    carried: ClassVar[tuple[str, ...]]  # the kinds that the next timestep needs
    recurrence: ClassVar[Any]  # the function by which torch computes it

    @abstractmethod
    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        """Every kind at one timestep, from a = W_x x + b_x (B, gates * H) and the step before.

        `edit` may put another value in the place of any kind; what follows goes on from that.
        """

    @abstractmethod
    def _states(self, x: Tensor, start: States, w: Weights, fused: bool) -> States:
        """Every kind at every timestep, quickly.

        On a CPU, where arithmetic is dear, each timestep is one product and every number is
        computed once. Elsewhere, where starting a kernel is dear, torch's `fused` recurrence gives
        the outputs, and one product the gates of all timesteps.
        """

    def outputs(self, x: Tensor, start: States, w: Weights, training: bool = False) -> Tensor:
        """Outputs h (T, B, H) for inputs x (T, B, I), by torch's fused recurrence."""
        states = [start[kind][None].contiguous() for kind in self.carried]
        flags = (w.b_x is not None, 1, 0.0, training, False, False)
        state = states if len(states) > 1 else states[0]
        h: Tensor = self.recurrence(x, state, w.flat(), *flags)[0]
        return h

    def states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change] | None = None
    ) -> States:
        """Every kind (T, B, H) for inputs x (T, B, I), starting from the carried states (B, H).

        Computed in the weights' precision, even within an autocast. `edits` are changes by
        timestep.
        """
        start = {kind: values.to(w.w_x.dtype) for kind, values in start.items()}
        with torch.autocast(x.device.type, enabled=False):
            x = x.to(w.w_x.dtype)
            learning = torch.is_grad_enabled() and any(
                t.requires_grad for t in (x, w.w_x, w.w_h, *start.values())
            )
            if not edits and not learning:
                return self._states(x, start, w, x.device.type != "cpu" and len(x) > 1)
            return self._stepwise(x, start, w, edits or {})

    def _stepwise(self, x: Tensor, start: States, w: Weights, edits: dict[int, Change]) -> States:
        """The states by `step`, which can be edited and differentiated."""
        steps, prev = list[States](), start
        for t, a in enumerate(F.linear(x, w.w_x, w.b_x)):
            prev = self.step(a, prev, w, edits.get(t, unchanged))
            steps.append(prev)
        return {kind.id: torch.stack([step[kind.id] for step in steps]) for kind in self.kinds}

    def described(self, kind: Kind, w: Weights) -> Kind:
        """A kind of this cell; its equation has the projection and biases that the weights have."""
        equation = kind.equation
        if w.w_p is not None and kind.id == "h":
            equation = "h = W_p (o ∘ tanh(c))"
        if w.b_x is None:
            equation = re.sub(r" \+ [bd](_\w)?(?=\))", "", equation.replace(" + b_n", ""))
        return replace(kind, equation=equation)


class _LSTM(Cell):
    """Long short-term memory, with the two terms of its cell state by name."""

    name = "lstm"
    gates = 4
    carried = ("h", "c")
    recurrence = staticmethod(torch.lstm)
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

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        a_i, a_f, a_g, a_o = (a + F.linear(prev["h"], w.w_h, w.b_h)).chunk(4, -1)
        f = edit("f", sigmoid(a_f))
        i = edit("i", sigmoid(a_i))
        o = edit("o", sigmoid(a_o))
        g = edit("g", tanh(a_g))
        l = edit("l", f * prev["c"])  # noqa: E741 - the paper's letter
        s = edit("s", i * g)
        c = edit("c", l + s)
        h = edit("h", w.projected(o * tanh(c)))
        return {"f": f, "i": i, "o": o, "g": g, "l": l, "s": s, "c": c, "h": h}

    def _states(self, x: Tensor, start: States, w: Weights, fused: bool) -> States:
        a = F.linear(x, w.w_x, w.bias)  # (T, B, 4H)
        i, f, g, o = a.chunk(4, -1)  # views: hold the gates once `_squash` has been over them
        h, c = start["h"], start["c"]
        cs, hs = torch.empty_like(i), h.new_empty(*x.shape[:2], h.shape[-1])
        if fused:
            h_prev = _before(self.outputs(x, start, w), h)
            a.view(-1, a.shape[-1]).addmm_(h_prev.view(-1, h.shape[-1]), w.w_h.t())
            self._squash(a)
            s = i * g
            for t in range(len(x)):
                c = torch.addcmul(s[t], f[t], c, out=cs[t])
            hs = w.projected(o * cs.tanh())
        else:
            for t, gates in enumerate(a):
                self._squash(gates.addmm_(h, w.w_h.t()))
                c = torch.addcmul(i[t] * g[t], f[t], c, out=cs[t])
                h = hs[t].copy_(w.projected(o[t] * c.tanh()))
            s = i * g
        l = f * _before(cs, start["c"])  # noqa: E741 - the paper's letter
        return {"f": f, "i": i, "o": o, "g": g, "l": l, "s": s, "c": cs, "h": hs}

    @staticmethod
    def _squash(a: Tensor) -> None:
        """Turn sums (..., 4H) into gates and cell input, in place."""
        width = a.shape[-1] // 4
        a[..., : 2 * width].sigmoid_()
        a[..., 2 * width : 3 * width].tanh_()
        a[..., 3 * width :].sigmoid_()


class _GRU(Cell):
    """Gated recurrent unit, with the two terms of its output by name."""

    name = "gru"
    gates = 3
    carried = ("h",)
    recurrence = staticmethod(torch.gru)
    kinds = (
        Kind("r", "reset gate", "r", "r = σ(W_r [x, h₋₁] + b_r)", (_BELOW, _H_PREV)),
        Kind("z", "update gate", "z", "z = σ(W_z [x, h₋₁] + b_z)", (_BELOW, _H_PREV)),
        Kind("n", "candidate", "n", "n = tanh(W_n x + b_n + r ∘ (U_n h₋₁ + d_n))",
             (_BELOW, Edge("r"), _H_PREV)),
        Kind("k", "kept memory", "k", "k = z ∘ h₋₁", (Edge("z"), _H_PREV)),
        Kind("w", "written memory", "w", "w = (1 - z) ∘ n", (Edge("z"), Edge("n"))),
        Kind("h", "output state", "h", "h = k + w", (Edge("k"), Edge("w"))),
    )  # fmt: skip

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        a_r, a_z, a_n = a.chunk(3, -1)
        u_r, u_z, u_n = F.linear(prev["h"], w.w_h, w.b_h).chunk(3, -1)
        r = edit("r", sigmoid(a_r + u_r))
        z = edit("z", sigmoid(a_z + u_z))
        n = edit("n", tanh(a_n + r * u_n))
        k = edit("k", z * prev["h"])
        written = edit("w", (1 - z) * n)
        h = edit("h", k + written)
        return {"r": r, "z": z, "n": n, "k": k, "w": written, "h": h}

    def _states(self, x: Tensor, start: States, w: Weights, fused: bool) -> States:
        a = F.linear(x, w.w_x, w.b_x)  # (T, B, 3H)
        h = start["h"]
        if fused:
            hs = self.outputs(x, start, w)
            self._squash(a, F.linear(_before(hs, h), w.w_h, w.b_h))
        else:
            hs = h.new_empty(*x.shape[:2], h.shape[-1])
            for t, gates in enumerate(a):
                r, z, n = self._squash(gates, F.linear(h, w.w_h, w.b_h))
                h = torch.lerp(n, h, z, out=hs[t])
        r, z, n = a.chunk(3, -1)
        k = z * _before(hs, start["h"])
        written = n - z * n
        return {"r": r, "z": z, "n": n, "k": k, "w": written, "h": k + written}

    @staticmethod
    def _squash(a: Tensor, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Turn sums, over the input and over the state, into r, z and n, in place."""
        width = a.shape[-1] // 3
        gates = a[..., : 2 * width].add_(u[..., : 2 * width]).sigmoid_()
        r, z = gates.chunk(2, -1)
        return r, z, a[..., 2 * width :].addcmul_(r, u[..., 2 * width :]).tanh_()


class _Elman(Cell):
    """The simple recurrent network."""

    name = "rnn"
    gates = 1
    carried = ("h",)
    kinds: ClassVar[tuple[Kind, ...]] = (
        Kind("h", "output state", "h", "h = tanh(W [x, h₋₁] + b)", (_BELOW, _H_PREV)),
    )
    recurrence: ClassVar[Any] = staticmethod(torch.rnn_tanh)

    @staticmethod
    def _squash(a: Tensor) -> Tensor:
        """Turn sums into outputs, in place."""
        return a.tanh_()

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        return {"h": edit("h", self._squash(a + F.linear(prev["h"], w.w_h, w.b_h)))}

    def _states(self, x: Tensor, start: States, w: Weights, fused: bool) -> States:
        if fused:
            return {"h": self.outputs(x, start, w)}
        h, hs = start["h"], F.linear(x, w.w_x, w.bias)  # (T, B, H)
        for step in hs:
            h = self._squash(step.addmm_(h, w.w_h.t()))
        return {"h": hs}


class _Rectified(_Elman):
    """The simple recurrent network with rectified units."""

    name = "relu"
    kinds = tuple(replace(k, equation=k.equation.replace("tanh", "relu")) for k in _Elman.kinds)
    recurrence = staticmethod(torch.rnn_relu)

    @staticmethod
    def _squash(a: Tensor) -> Tensor:
        return a.relu_()


def _before(values: Tensor, start: Tensor) -> Tensor:
    """The values (T, B, H) one timestep earlier; `start` is what precedes the first."""
    return torch.cat([start[None], values[:-1]])


LSTM, GRU, ELMAN, RECTIFIED = _LSTM(), _GRU(), _Elman(), _Rectified()
CELLS: dict[str, Cell] = {cell.name: cell for cell in (LSTM, GRU, ELMAN)}
TORCHS: dict[str, Cell] = {"LSTM": LSTM, "GRU": GRU, "RNN_TANH": ELMAN, "RNN_RELU": RECTIFIED}
