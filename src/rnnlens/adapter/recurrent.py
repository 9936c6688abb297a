"""Torch's recurrences from their weights: every kind of every timestep, by name.

The kinds and their equations are those of rnnlens.model.cells; what is computed here is
torch.nn.LSTM, GRU and RNN to the letter, projections and missing biases included. On a CPU, where
arithmetic is dear, each timestep is one product and every number is computed once. Elsewhere, where
starting a kernel is dear, torch's fused recurrence gives the outputs, and one product the gates of
all timesteps.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.model.cells import GRU, LSTM, Elman, States
from rnnlens.model.kinds import Kind


class Weights(NamedTuple):
    """The weights of one layer and direction, in torch's layout."""

    w_x: Tensor  # (gates * H, I)
    w_h: Tensor  # (gates * H, H), or (4 * H, P) with a projection
    b_x: Tensor | None = None
    b_h: Tensor | None = None
    w_p: Tensor | None = None  # (P, H), an LSTM's projection of its output

    @property
    def bias(self) -> Tensor | None:
        """Both biases as one, for the cells that only ever add them."""
        return None if self.b_x is None or self.b_h is None else self.b_x + self.b_h

    def flat(self) -> list[Tensor]:
        """The weights as torch's fused recurrences take them; cuDNN wants them in one piece."""
        weights = [w for w in self if w is not None]
        if not self.w_x.is_cuda:
            return weights
        parts = torch.cat([w.flatten() for w in weights]).split([w.numel() for w in weights])
        return [part.view_as(w) for part, w in zip(parts, weights, strict=True)]


def lstm(x: Tensor, start: States, w: Weights, fused: bool) -> States:
    """Every kind of an LSTM at every timestep."""
    a = F.linear(x, w.w_x, w.bias)  # (T, B, 4H)
    i, f, g, o = a.chunk(4, -1)  # views: hold the gates once `_squash` has been over them
    h, c = start["h"], start["c"]
    cs, hs = torch.empty_like(i), h.new_empty(*x.shape[:2], h.shape[-1])
    if fused:
        state = [h[None].contiguous(), c[None].contiguous()]
        has_bias = w.b_x is not None
        real = torch.lstm(x, state, w.flat(), has_bias, 1, 0.0, False, False, False)[0]
        _squash(_plus(a, _before(real, h), w.w_h))
        s = i * g
        for t in range(len(x)):
            c = torch.addcmul(s[t], f[t], c, out=cs[t])
        hs = _projected(o * cs.tanh(), w)
    else:
        for t, gates in enumerate(a):
            _squash(gates.addmm_(h, w.w_h.t()))
            c = torch.addcmul(i[t] * g[t], f[t], c, out=cs[t])
            h = hs[t].copy_(_projected(o[t] * c.tanh(), w))
        s = i * g
    l = f * _before(cs, start["c"])  # noqa: E741 - the paper's letter
    return {"f": f, "i": i, "o": o, "g": g, "l": l, "s": s, "c": cs, "h": hs}


def _squash(a: Tensor) -> None:
    """Turn an LSTM's sums into its gates, in place."""
    width = a.shape[-1] // 4
    a[..., : 2 * width].sigmoid_()
    a[..., 2 * width : 3 * width].tanh_()
    a[..., 3 * width :].sigmoid_()


def _projected(h: Tensor, w: Weights) -> Tensor:
    return h if w.w_p is None else F.linear(h, w.w_p)


def gru(x: Tensor, start: States, w: Weights, fused: bool) -> States:
    """Every kind of a GRU at every timestep."""
    a = F.linear(x, w.w_x, w.b_x)  # (T, B, 3H)
    h = start["h"]
    if fused:
        has_bias = w.b_x is not None
        hs = torch.gru(
            x, h[None].contiguous(), w.flat(), has_bias, 1, 0.0, False, False, False
        )[0]  # fmt: skip
        _squash_gru(a, F.linear(_before(hs, h), w.w_h, w.b_h))
    else:
        hs = h.new_empty(*x.shape[:2], h.shape[-1])
        for t, gates in enumerate(a):
            r, z, n = _squash_gru(gates, F.linear(h, w.w_h, w.b_h))
            h = torch.lerp(n, h, z, out=hs[t])
    r, z, n = a.chunk(3, -1)
    k = z * _before(hs, start["h"])
    written = n - z * n
    return {"r": r, "z": z, "n": n, "k": k, "w": written, "h": k + written}


def _squash_gru(a: Tensor, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Turn a GRU's sums, over the input and over the state, into r, z and n, in place."""
    width = a.shape[-1] // 3
    gates = a[..., : 2 * width].add_(u[..., : 2 * width]).sigmoid_()
    r, z = gates.chunk(2, -1)
    return r, z, a[..., 2 * width :].addcmul_(r, u[..., 2 * width :]).tanh_()


def elman(x: Tensor, start: States, w: Weights, fused: bool) -> States:
    """The output of a simple recurrent network."""
    return _elman(x, start, w, torch.rnn_tanh if fused else None, Tensor.tanh_)


def elman_relu(x: Tensor, start: States, w: Weights, fused: bool) -> States:
    """The output of a simple recurrent network with rectified units."""
    return _elman(x, start, w, torch.rnn_relu if fused else None, Tensor.relu_)


def _elman(
    x: Tensor,
    start: States,
    w: Weights,
    fused: Callable[..., tuple[Tensor, Tensor]] | None,
    squash: Callable[[Tensor], Tensor],
) -> States:
    h = start["h"]
    if fused:
        has_bias = w.b_x is not None
        state = h[None].contiguous()
        return {"h": fused(x, state, w.flat(), has_bias, 1, 0.0, False, False, False)[0]}
    hs = F.linear(x, w.w_x, w.bias)  # (T, B, H)
    for step in hs:
        h = squash(step.addmm_(h, w.w_h.t()))
    return {"h": hs}


def _before(values: Tensor, start: Tensor) -> Tensor:
    """(T, B, H) one timestep earlier."""
    return torch.cat([start[None], values[:-1]])


def _plus(a: Tensor, h: Tensor, w_h: Tensor) -> Tensor:
    """Add W h to a, in place."""
    a.view(-1, a.shape[-1]).addmm_(h.view(-1, h.shape[-1]), w_h.t())
    return a


@dataclass(frozen=True)
class Family:
    """One of torch's recurrences: its kinds, and how they are computed."""

    kinds: tuple[Kind, ...]
    carried: tuple[str, ...]  # the kinds that the next timestep needs
    compute: Callable[[Tensor, States, Weights, bool], States]

    def states(self, x: Tensor, start: States, w: Weights) -> States:
        """Every kind (T, B, H) for inputs x (T, B, I), from the carried states (B, H) on.

        In the weights' precision, whatever an autocast around the call would make of them.
        """
        start = {kind: values.to(w.w_x.dtype) for kind, values in start.items()}
        with torch.autocast(x.device.type, enabled=False):
            fused = x.device.type != "cpu" and len(x) > 1
            return self.compute(x.to(w.w_x.dtype), start, w, fused)


_RELU = tuple(replace(k, equation=k.equation.replace("tanh", "relu")) for k in Elman.kinds)
FAMILIES = {  # by torch's own names for them
    "LSTM": Family(LSTM.kinds, LSTM.carried, lstm),
    "GRU": Family(GRU.kinds, GRU.carried, gru),
    "RNN_TANH": Family(Elman.kinds, Elman.carried, elman),
    "RNN_RELU": Family(_RELU, Elman.carried, elman_relu),
}


def equation_of(kind: Kind, weights: Weights) -> str:
    """A kind's equation with the weights that there are: a projection, no biases."""
    equation = kind.equation
    if weights.w_p is not None and kind.id == "h":
        equation = "h = W_p (o ∘ tanh(c))"
    if weights.b_x is None:
        equation = re.sub(r" \+ [bd](_\w)?(?=\))", "", equation.replace(" + b_n", ""))
    return equation
