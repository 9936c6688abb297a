"""Recurrent cells, written like the appendix of the paper.

`step` is the definition: one timestep, every kind by name. `_states` computes the same kinds for a
whole sequence quickly, and `outputs` is torch's fused recurrence, for training. The same
cells serve the networks of rnnlens and users' modules.
"""

from dataclasses import replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, sigmoid, tanh

from rnnlens.model.cell import Cell, Change, Equations, States, Weights, unchanged
from rnnlens.model.kinds import BELOW, Edge, Kind

_BELOW, _H_PREV = Edge(BELOW), Edge("h", 1)


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

    def _states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change], fused: bool
    ) -> States:
        a = F.linear(x, w.w_x, w.bias)  # (T, B, 4H)
        i, f, g, o = a.chunk(4, -1)  # views: hold the gates once `_squash` has been over them
        h, c = start["h"], start["c"]
        cs, hs = torch.empty_like(i), h.new_empty(*x.shape[:2], h.shape[-1])
        edited: dict[int, States] = {}
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
                c_prev = c
                c = torch.addcmul(i[t] * g[t], f[t], c_prev, out=cs[t])
                h = hs[t].copy_(w.projected(o[t] * c.tanh()))
                if t in edits:
                    now = {"f": f[t], "i": i[t], "o": o[t], "g": g[t], "l": f[t] * c_prev,
                           "s": i[t] * g[t], "c": c, "h": h}  # fmt: skip
                    edited[t] = self._edited(now, self._again(c_prev, w), edits[t])
                    c, h = cs[t].copy_(edited[t]["c"]), hs[t].copy_(edited[t]["h"])
            s = i * g
        l = f * _before(cs, start["c"])  # noqa: E741 - the paper's letter
        states = {"f": f, "i": i, "o": o, "g": g, "l": l, "s": s, "c": cs, "h": hs}
        return _put(edited, states)

    @staticmethod
    def _again(c_prev: Tensor, w: Weights) -> Equations:
        return {
            "l": lambda now: now["f"] * c_prev,
            "s": lambda now: now["i"] * now["g"],
            "c": lambda now: now["l"] + now["s"],
            "h": lambda now: w.projected(now["o"] * tanh(now["c"])),
        }

    @staticmethod
    def _squash(a: Tensor) -> None:
        """Turn sums (..., 4H) into gates and cell input, in place."""
        width = a.shape[-1] // 4
        a[..., : 2 * width].sigmoid_()
        a[..., 2 * width : 3 * width].tanh_()
        a[..., 3 * width :].sigmoid_()

    def held(self, x: Tensor, w: Weights, read: Tensor, real: States) -> States:
        h, c = (torch.zeros_like(real[kind][0]) for kind in ("h", "c"))
        a_real = F.linear(read, w.w_x, w.bias) + F.linear(_before(real["h"], h), w.w_h)
        bend_g = _secant(real["g"], a_real.chunk(4, -1)[2])
        bend_c = _secant(real["c"].tanh(), real["c"])
        w_g, b_g = w.w_h.chunk(4)[2], F.linear(x, w.w_x, w.bias).chunk(4, -1)[2]
        ls, cs, hs = [], [], []
        for t, a in enumerate(b_g):
            g = bend_g[t] * (a + F.linear(h, w_g))
            ls.append(real["f"][t] * c)
            c = ls[t] + real["i"][t] * g
            h = w.projected(real["o"][t] * bend_c[t] * c)
            cs.append(c)
            hs.append(h)
        return {"l": torch.stack(ls), "c": torch.stack(cs), "h": torch.stack(hs)}


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

    def _states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change], fused: bool
    ) -> States:
        a = F.linear(x, w.w_x, w.b_x)  # (T, B, 3H)
        h, edited = start["h"], dict[int, States]()
        if fused:
            hs = self.outputs(x, start, w)
            self._squash(a, F.linear(_before(hs, h), w.w_h, w.b_h))
        else:
            hs = h.new_empty(*x.shape[:2], h.shape[-1])
            for t, gates in enumerate(a):
                h_prev, u = h, F.linear(h, w.w_h, w.b_h)
                a_n = gates.chunk(3, -1)[2].clone() if t in edits else gates
                r, z, n = self._squash(gates, u)
                h = torch.lerp(n, h_prev, z, out=hs[t])
                if t in edits:
                    k, written = z * h_prev, n - z * n
                    now = {"r": r, "z": z, "n": n, "k": k, "w": written, "h": k + written}
                    edited[t] = self._edited(now, self._again(a_n, u, h_prev), edits[t])
                    if not torch.equal(edited[t]["h"], now["h"]):
                        h = hs[t].copy_(edited[t]["h"])
        r, z, n = a.chunk(3, -1)
        k = z * _before(hs, start["h"])
        written = n - z * n
        states = {"r": r, "z": z, "n": n, "k": k, "w": written, "h": k + written}
        return _put(edited, states)

    @staticmethod
    def _again(a_n: Tensor, u: Tensor, h_prev: Tensor) -> Equations:
        u_n = u.chunk(3, -1)[2]
        return {
            "n": lambda now: tanh(a_n + now["r"] * u_n),
            "k": lambda now: now["z"] * h_prev,
            "w": lambda now: (1 - now["z"]) * now["n"],
            "h": lambda now: now["k"] + now["w"],
        }

    @staticmethod
    def _squash(a: Tensor, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Turn sums, over the input and over the state, into r, z and n, in place."""
        width = a.shape[-1] // 3
        gates = a[..., : 2 * width].add_(u[..., : 2 * width]).sigmoid_()
        r, z = gates.chunk(2, -1)
        return r, z, a[..., 2 * width :].addcmul_(r, u[..., 2 * width :]).tanh_()

    def held(self, x: Tensor, w: Weights, read: Tensor, real: States) -> States:
        h = torch.zeros_like(real["h"][0])
        u_real = F.linear(_before(real["h"], h), w.w_h, w.b_h).chunk(3, -1)[2]
        a_real = F.linear(read, w.w_x, w.b_x).chunk(3, -1)[2] + real["r"] * u_real
        bend = _secant(real["n"], a_real)
        w_n, d_n = w.w_h.chunk(3)[2], None if w.b_h is None else w.b_h.chunk(3)[2]
        ks, hs = [], []
        for t, a in enumerate(F.linear(x, w.w_x, w.b_x).chunk(3, -1)[2]):
            n = bend[t] * (a + real["r"][t] * F.linear(h, w_n, d_n))
            ks.append(real["z"][t] * h)
            h = ks[t] + (1 - real["z"][t]) * n
            hs.append(h)
        return {"k": torch.stack(ks), "h": torch.stack(hs)}


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

    def _states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change], fused: bool
    ) -> States:
        if fused:
            return {"h": self.outputs(x, start, w)}
        h, hs = start["h"], F.linear(x, w.w_x, w.bias)  # (T, B, H)
        for t, step in enumerate(hs):
            h = self._squash(step.addmm_(h, w.w_h.t()))
            if t in edits:
                h = step.copy_(edits[t]("h", h.clone()))
        return {"h": hs}

    def held(self, x: Tensor, w: Weights, read: Tensor, real: States) -> States:
        h = torch.zeros_like(real["h"][0])
        a_real = F.linear(read, w.w_x, w.bias) + F.linear(_before(real["h"], h), w.w_h)
        bend, hs = _secant(real["h"], a_real), []
        for t, a in enumerate(F.linear(x, w.w_x, w.bias)):
            h = bend[t] * (a + F.linear(h, w.w_h))
            hs.append(h)
        return {"h": torch.stack(hs)}


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


def _secant(y: Tensor, x: Tensor) -> Tensor:
    """Y / x, the line from zero to a point of a tanh; where x is nearly zero its slope is 1."""
    near = x.abs() < 1e-6
    return torch.where(near, torch.ones_like(x), y / torch.where(near, torch.ones_like(x), x))


def _put(edited: dict[int, States], states: States) -> States:
    """States (T, B, H) with those of the edited timesteps in their places."""
    for t, now in edited.items():
        for kind, value in now.items():
            states[kind][t] = value
    return states


LSTM, GRU, ELMAN, RECTIFIED = _LSTM(), _GRU(), _Elman(), _Rectified()
CELLS: dict[str, Cell] = {cell.name: cell for cell in (LSTM, GRU, ELMAN)}
TORCHS: dict[str, Cell] = {"LSTM": LSTM, "GRU": GRU, "RNN_TANH": ELMAN, "RNN_RELU": RECTIFIED}
