"""The recurrences that torch.nn has, LSTM, GRU and Elman's, written like the paper's appendix.

`step` is the definition: one timestep, every kind by name. `_states` computes these kinds for a
whole sequence quickly, and `outputs` is torch's fused recurrence, for training. Networks of ours
and users' modules are computed with them.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn, sigmoid, tanh

from rnnlens.base.pace import checkpoint
from rnnlens.model.cell import Cell, Change, Equations, States, Weights, register, unchanged
from rnnlens.model.kinds import BELOW, INPUT, JOINED, Edge, Kind, Memory
from rnnlens.model.packed import FEW, packed_linear

_NAMES: tuple[str, ...] = ("w_x", "w_h", "b_x", "b_h")  # in torch's order
_BELOW, _H_PREV = Edge(BELOW), Edge("h", 1)
_gate = partial(Kind, sources=(_BELOW, _H_PREV), range=(0.0, 1.0), gate=True)
_candidate = partial(Kind, range=(-1.0, 1.0), gate=True)


class _TorchCell(Cell):
    """A recurrence with weights in torch's layout: each of them has a block of H rows for a gate.

    There is `w_x` (gates * H, I), `w_h` (gates * H, H), with `b_x` and `b_h` (gates * H,) or
    without; an LSTM whose output is projected has `w_h` (4 * H, P) and `w_p` (P, H).
    """

    gates: ClassVar[int]  # how many blocks of rows there are
    recurrence: ClassVar[Any]  # the function by which torch computes it
    dropped = ("w_h",)
    in_browser = True

    def shapes(self, inputs: int, width: int) -> dict[str, tuple[int, ...]]:
        rows = self.gates * width
        return {"w_x": (rows, inputs), "w_h": (rows, width), "b_x": (rows,), "b_h": (rows,)}

    def start(self, w: Weights, batch: int) -> States:
        output, width = w["w_h"].shape[1], len(w["w_h"]) // self.gates
        return {
            kind: w["w_h"].new_zeros(batch, output if kind == "h" else width)
            for kind in self.carried
        }

    def sums(self, x: Tensor, w: Weights) -> Tensor:
        return F.linear(x, w["w_x"], w.get("b_x"))

    def outputs(self, x: Tensor, start: States, w: Weights, training: bool = False) -> Tensor:
        states = [start[kind][None].contiguous() for kind in self.carried]
        flags = ("b_x" in w, 1, 0.0, training, False, False)
        state = states if len(states) > 1 else states[0]
        h: Tensor = self.recurrence(x, state, _flat(w), *flags)[0]
        return h

    def _edited(self, now: States, again: Equations, edit: Change) -> States:
        """The states of a timestep after a change; what does not depend on it stays to the bit.

        `again` computes a kind from those before it, where one of them has changed.
        """
        states, changed = dict(now), set[str]()
        for kind in self.kinds:
            value = states[kind.id]
            if any(edge.kind in changed and not edge.back for edge in kind.sources):
                value = again[kind.id](states)
            states[kind.id] = edit(kind.id, value)
            if not torch.equal(states[kind.id], now[kind.id]):
                changed.add(kind.id)
        return states

    def described(self, kind: Kind, w: Weights) -> Kind:
        equation = kind.equation
        if "w_p" in w and kind.output:
            equation = "h = W_p (o ∘ tanh(c))"
        if "b_x" not in w:
            equation = re.sub(r" \+ [bd](_\w)?(?=\))", "", equation.replace(" + b_n", ""))
        return replace(kind, equation=equation)


class _LSTM(_TorchCell):
    """Long short-term memory, with the two terms of its cell state by name."""

    name = "lstm"
    gates = 4
    carried = ("h", "c")
    recurrence = staticmethod(torch.lstm)
    kinds = (
        _gate("f", "forget gate", "f", "f = σ(W_f [x, h₋₁] + b_f)"),
        _gate("i", "remember gate", "i", "i = σ(W_i [x, h₋₁] + b_i)"),
        _gate("o", "output gate", "o", "o = σ(W_o [x, h₋₁] + b_o)"),
        _candidate("g", "cell input", "c̃", "c̃ = tanh(W_c [x, h₋₁] + b_c)", (_BELOW, _H_PREV)),
        Kind("l", "long-term memory", "l", "l = f ∘ c₋₁", (Edge("f"), Edge("c", 1))),
        Kind("s", "short-term memory", "s", "s = i ∘ c̃", (Edge("i"), Edge("g"))),
        Kind("c", "cell state", "c", "c = l + s", (Edge("l"), Edge("s")),
             memory=Memory(decay="f", write="s", kept="l")),
        Kind("h", "output state", "h", "h = o ∘ tanh(c)", (Edge("o"), Edge("c")), output=True),
    )  # fmt: skip

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        a_i, a_f, a_g, a_o = (a + F.linear(prev["h"], w["w_h"], w.get("b_h"))).chunk(4, -1)
        f = edit("f", sigmoid(a_f))
        i = edit("i", sigmoid(a_i))
        o = edit("o", sigmoid(a_o))
        g = edit("g", tanh(a_g))
        l = edit("l", f * prev["c"])  # noqa: E741 - the paper's letter
        s = edit("s", i * g)
        c = edit("c", l + s)
        h = edit("h", _projected(w, o * tanh(c)))
        return {"f": f, "i": i, "o": o, "g": g, "l": l, "s": s, "c": c, "h": h}

    def _states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change], fused: bool
    ) -> States:
        # On a CPU, where arithmetic is dear, each timestep is one product and every number is
        # computed once. Elsewhere torch's fused recurrence gives the outputs, and one product the
        # gates of all timesteps.
        a = packed_linear(x, w["w_x"], _bias(w))  # (T, B, 4H)
        i, f, g, o = a.chunk(4, -1)  # views: hold the gates once `_squash` has been over them
        h, c = start["h"], start["c"]
        cs, hs = torch.empty_like(i), h.new_empty(*x.shape[:2], h.shape[-1])
        edited: dict[int, States] = {}
        if fused:
            h_prev = _before(self.outputs(x, start, w), h)
            a.view(-1, a.shape[-1]).addmm_(h_prev.view(-1, h.shape[-1]), w["w_h"].t())
            self._squash(a)
            s = i * g
            for t in range(len(x)):
                c = torch.addcmul(s[t], f[t], c, out=cs[t])
            hs = _projected(w, o * cs.tanh())
        else:
            for t, gates in enumerate(a):
                checkpoint()
                self._squash(_add(gates, h, w["w_h"]))
                c_prev = c
                c = torch.addcmul(i[t] * g[t], f[t], c_prev, out=cs[t])
                h = hs[t].copy_(_projected(w, o[t] * c.tanh()))
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
            "h": lambda now: _projected(w, now["o"] * tanh(now["c"])),
        }

    @staticmethod
    def _squash(a: Tensor) -> None:
        """Turn sums (..., 4H) into gates and cell input, in place."""
        width = a.shape[-1] // 4
        a[..., : 2 * width].sigmoid_()
        a[..., 2 * width : 3 * width].tanh_()
        a[..., 3 * width :].sigmoid_()

    def read_back(self, through: Tensor, now: States, w: Weights) -> Tensor:
        if "w_p" in w:
            through = through @ w["w_p"].to(through)
        return through * now["o"] * _secant(now["c"].tanh(), now["c"])

    def held(self, x: Tensor, w: Weights, read: Tensor, real: States) -> States:
        h, c = (torch.zeros_like(real[kind][0]) for kind in ("h", "c"))
        a_real = F.linear(read, w["w_x"], _bias(w)) + F.linear(_before(real["h"], h), w["w_h"])
        bend_g = _secant(real["g"], a_real.chunk(4, -1)[2])
        bend_c = _secant(real["c"].tanh(), real["c"])
        w_g, b_g = w["w_h"].chunk(4)[2], F.linear(x, w["w_x"], _bias(w)).chunk(4, -1)[2]
        ls, cs, hs = [], [], []
        for t, a in enumerate(b_g):
            g = bend_g[t] * (a + F.linear(h, w_g))
            ls.append(real["f"][t] * c)
            c = ls[t] + real["i"][t] * g
            h = _projected(w, real["o"][t] * bend_c[t] * c)
            cs.append(c)
            hs.append(h)
        return {"l": torch.stack(ls), "c": torch.stack(cs), "h": torch.stack(hs)}


class _GRU(_TorchCell):
    """Gated recurrent unit, with the two terms of its output by name."""

    name = "gru"
    gates = 3
    carried = ("h",)
    recurrence = staticmethod(torch.gru)
    kinds = (
        _gate("r", "reset gate", "r", "r = σ(W_r [x, h₋₁] + b_r)"),
        _gate("z", "update gate", "z", "z = σ(W_z [x, h₋₁] + b_z)"),
        _candidate("n", "candidate", "n", "n = tanh(W_n x + b_n + r ∘ (U_n h₋₁ + d_n))",
                   (_BELOW, Edge("r"), _H_PREV)),
        Kind("k", "kept memory", "k", "k = z ∘ h₋₁", (Edge("z"), _H_PREV)),
        Kind("w", "written memory", "w", "w = (1 - z) ∘ n", (Edge("z"), Edge("n"))),
        Kind("h", "output state", "h", "h = k + w", (Edge("k"), Edge("w")), output=True,
             memory=Memory(decay="z", write="w", kept="k")),
    )  # fmt: skip

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        a_r, a_z, a_n = a.chunk(3, -1)
        u_r, u_z, u_n = F.linear(prev["h"], w["w_h"], w.get("b_h")).chunk(3, -1)
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
        a = packed_linear(x, w["w_x"], w.get("b_x"))  # (T, B, 3H)
        h, edited = start["h"], dict[int, States]()
        if fused:
            hs = self.outputs(x, start, w)
            self._squash(a, F.linear(_before(hs, h), w["w_h"], w.get("b_h")))
        else:
            hs = h.new_empty(*x.shape[:2], h.shape[-1])
            for t, gates in enumerate(a):
                checkpoint()
                h_prev, u = h, packed_linear(h, w["w_h"], w.get("b_h"))
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
        u_real = F.linear(_before(real["h"], h), w["w_h"], w.get("b_h")).chunk(3, -1)[2]
        a_real = F.linear(read, w["w_x"], w.get("b_x")).chunk(3, -1)[2] + real["r"] * u_real
        bend = _secant(real["n"], a_real)
        w_n, d_n = w["w_h"].chunk(3)[2], w["b_h"].chunk(3)[2] if "b_h" in w else None
        ks, hs = [], []
        for t, a in enumerate(F.linear(x, w["w_x"], w.get("b_x")).chunk(3, -1)[2]):
            n = bend[t] * (a + real["r"][t] * F.linear(h, w_n, d_n))
            ks.append(real["z"][t] * h)
            h = ks[t] + (1 - real["z"][t]) * n
            hs.append(h)
        return {"k": torch.stack(ks), "h": torch.stack(hs)}


class _Elman(_TorchCell):
    """The simple recurrent network."""

    name = "rnn"
    gates = 1
    carried = ("h",)
    kinds: ClassVar[tuple[Kind, ...]] = (
        Kind("h", "output state", "h", "h = tanh(W [x, h₋₁] + b)", (_BELOW, _H_PREV), output=True),
    )
    recurrence: ClassVar[Any] = staticmethod(torch.rnn_tanh)

    @staticmethod
    def _squash(a: Tensor) -> Tensor:
        """Turn sums into outputs, in place."""
        return a.tanh_()

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        return {"h": edit("h", self._squash(a + F.linear(prev["h"], w["w_h"], w.get("b_h"))))}

    def _states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change], fused: bool
    ) -> States:
        if fused:
            return {"h": self.outputs(x, start, w)}
        h, hs = start["h"], packed_linear(x, w["w_x"], _bias(w))  # (T, B, H)
        for t, step in enumerate(hs):
            checkpoint()
            h = self._squash(_add(step, h, w["w_h"]))
            if t in edits:
                h = step.copy_(edits[t]("h", h.clone()))
        return {"h": hs}

    def held(self, x: Tensor, w: Weights, read: Tensor, real: States) -> States:
        h = torch.zeros_like(real["h"][0])
        a_real = F.linear(read, w["w_x"], _bias(w)) + F.linear(_before(real["h"], h), w["w_h"])
        bend, hs = _secant(real["h"], a_real), []
        for t, a in enumerate(F.linear(x, w["w_x"], _bias(w))):
            h = bend[t] * (a + F.linear(h, w["w_h"]))
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


def _bias(w: Weights) -> Tensor | None:
    """The sum of both biases, for cells that need nothing else of them."""
    return w["b_x"] + w["b_h"] if "b_x" in w else None


def _add(sums: Tensor, h: Tensor, weight: Tensor) -> Tensor:
    """Add the product of states (B, H) with weights to sums (B, rows), in place."""
    return sums.add_(packed_linear(h, weight)) if len(h) <= FEW else sums.addmm_(h, weight.t())


def _projected(w: Weights, h: Tensor) -> Tensor:
    """The output (..., H), or its projection (..., P)."""
    return F.linear(h, w["w_p"]) if "w_p" in w else h


def _flat(w: Weights) -> list[Tensor]:
    """The weights as torch's fused recurrences take them; cuDNN wants them in one piece."""
    weights = list(w.values())
    if not weights[0].is_cuda:
        return weights
    parts = torch.cat([w.flatten() for w in weights]).split([w.numel() for w in weights])
    return [part.view_as(w) for part, w in zip(parts, weights, strict=True)]


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


LSTM, GRU, ELMAN = (register(cell) for cell in (_LSTM(), _GRU(), _Elman()))
RECTIFIED = _Rectified()
TORCHS: dict[str, Cell] = {"LSTM": LSTM, "GRU": GRU, "RNN_TANH": ELMAN, "RNN_RELU": RECTIFIED}


def weights_of(part: nn.RNNBase | nn.RNNCellBase) -> list[Weights]:
    """The weights of a recurrent part of torch, per layer and direction, as they are now: wrappers
    may rewrite them.
    """
    if isinstance(part, nn.RNNBase):
        names = _NAMES if part.bias else _NAMES[:2]
        names += ("w_p",) if part.proj_size else ()
        return [dict(zip(names, tensors, strict=True)) for tensors in part.all_weights]
    biases = (part.bias_ih, part.bias_hh) if part.bias else ()
    return [dict(zip(_NAMES, (part.weight_ih, part.weight_hh, *biases), strict=False))]


def completed(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """Kinds of a module of torch's layers, of which older files hold less: with what the cells
    declare of them.
    """
    layers: dict[tuple[str, int, bool], dict[str, Kind]] = {}
    every = [kind.named() for kind in kinds]
    for kind in every:
        if kind.letter not in ("", INPUT, JOINED):
            layers.setdefault((kind.part, kind.layer, kind.reverse), {})[kind.letter] = kind
    declared: dict[str, Kind] = {}
    for beside in layers.values():
        ids = {letter: kind.id for letter, kind in beside.items()}
        cells = [cell for cell in TORCHS.values() if {kind.id for kind in cell.kinds} == {*ids}]
        for one in cells[0].kinds if cells and not any(k.output for k in beside.values()) else ():
            declared[ids[one.id]] = replace(
                beside[one.id],
                range=one.range,
                gate=one.gate,
                output=one.output,
                memory=one.memory and one.memory.placed(ids.__getitem__),
            )
    return tuple(declared.get(kind.id, kind) for kind in every)
