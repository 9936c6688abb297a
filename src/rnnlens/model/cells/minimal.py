"""minGRU and minLSTM, whose gates see the input alone (Feng and others, "Were RNNs All We
Needed?", 2024), in a block like that of their language models: a norm, a short convolution, the
memory, and a residual. Behind each memory the paper has a network of two layers, without which all
would be linear but for the gates; here a gate of what is read is in its place, which is smaller.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, sigmoid

from rnnlens.model.block import PAST, Block, Curve, Shape, Size, convolved, kinds_of
from rnnlens.model.cell import Change, States, Weights, register
from rnnlens.model.cells.linear_memories import Gated
from rnnlens.model.kinds import BELOW, Edge, Kind

_U, _SHARE = (Edge("u"),), (0.0, 1.0)
_INPUT = Kind("u", "convolved input", "u", "u = conv(norm(x))", (Edge(BELOW), Edge("p", 1)))
_CANDIDATE = Kind("n", "candidate", "n", "n = W_n u + b_n", _U, gate=True)
_GATE = Kind("o", "output gate", "o", "o = SiLU(W_o u + b_o)", _U, gate=True)


class _Minimal(Block):
    """A vector that is written to by gates of the convolved input."""

    carried = ("p", "c")
    in_browser = True
    rows: int  # of blocks of weights: gates, and the candidate

    def family(self, size: Size) -> Gated:
        return Gated.of(size.width)

    def scale(self, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return now["o"]

    def own_shapes(self, inputs: int) -> dict[str, Shape]:
        rows = self.rows * self.size.width
        return {"conv": (inputs, 4), "b_conv": (inputs,), "w_x": (rows, inputs), "b_x": (rows,)}

    def _convolved(self, x: Tensor, before: States, w: Weights, put: Change) -> States:
        u, p = convolved(x, before["p"], w)
        return {"p": put("p", p), "u": put("u", u)}


class MinGRU(_Minimal):
    """A gated recurrent unit of which nothing but the memory itself depends on the past."""

    name = "mingru"
    rows = 3
    holds = ("z", "a", "o")
    kinds = kinds_of(
        Gated.kinds,
        PAST,
        _INPUT,
        Kind("z", "update gate", "z", "z = σ(W_z u + b_z)", _U, range=_SHARE, gate=True),
        _CANDIDATE,
        _GATE,
        Kind("a", "decay", "a", "a = 1 - z", (Edge("z"),), range=_SHARE, gate=True),
        Kind("w", "written memory", "w", "w = z ∘ n", (Edge("z"), Edge("n"))),
        output="x + W_h (o ∘ c)",
        sources="o",
    )

    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:  # noqa: ARG002
        past = self._convolved(x, before, w, put)
        z, n, o = F.linear(past["u"], w["w_x"], w["b_x"]).chunk(3, -1)
        z = put("z", sigmoid(z))
        n, o = put("n", n), put("o", F.silu(o))
        return {**past, "z": z, "n": n, "o": o, "a": put("a", 1 - z), "w": put("w", z * n)}

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        w["b_x"][:width].uniform_(-4, 0, generator=generator)  # memories of all half-lives


class MinLSTM(_Minimal):
    """Long short-term memory of which nothing but the memory itself depends on the past."""

    name = "minlstm"
    rows = 4
    holds = ("f", "i", "a", "o")
    kinds = kinds_of(
        Gated.kinds,
        PAST,
        _INPUT,
        Kind("f", "forget gate", "f", "f = σ(W_f u + b_f)", _U, range=_SHARE, gate=True),
        Kind("i", "input gate", "i", "i = σ(W_i u + b_i)", _U, range=_SHARE, gate=True),
        _CANDIDATE,
        _GATE,
        Kind("a", "decay", "a", "a = f / (f + i)", (Edge("f"), Edge("i")), range=_SHARE, gate=True),
        Kind("w", "written memory", "w", "w = i / (f + i) ∘ n", (Edge("f"), Edge("i"), Edge("n"))),
        output="x + W_h (o ∘ c)",
        sources="o",
    )

    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:  # noqa: ARG002
        past = self._convolved(x, before, w, put)
        f, i, n, o = F.linear(past["u"], w["w_x"], w["b_x"]).chunk(4, -1)
        f = put("f", sigmoid(f))
        i = put("i", sigmoid(i))
        n, o = put("n", n), put("o", F.silu(o))
        share = i / (f + i + 1e-6)  # gates that an edit has closed both write nothing
        a = put("a", f / (f + i + 1e-6))
        return {**past, "f": f, "i": i, "n": n, "o": o, "a": a, "w": put("w", share * n)}

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        w["b_x"][:width].uniform_(0, 4, generator=generator)  # memories of all half-lives


register(MinGRU())
register(MinLSTM())
