"""Linear attention with decays: GLA (Yang and others, 2023) and the gated delta rule (Yang, Kautz
and Hatamizadeh, 2024), each head normed and gated after it is read.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, sigmoid

from rnnlens.model.block import (
    PAST,
    Block,
    Curve,
    Shape,
    Size,
    convolved,
    kinds_of,
    of_heads,
    silu,
    unit,
)
from rnnlens.model.cell import Change, States, Weights, register
from rnnlens.model.cells.linear_memories import GatedDelta, LinearAttention
from rnnlens.model.kinds import BELOW, Edge, Kind

_BELOW, _PAST, _SHARE = (Edge(BELOW),), (Edge(BELOW), Edge("p", 1)), (0.0, 1.0)
_GATE = Kind("o", "output gate", "o", "o = SiLU(W_o norm(x))", _BELOW, gate=True)
_SLOW = 16  # the root of a decay that is taken, so that it begins near 1
_RANK = 16  # numbers through which decays are computed
_READ = "x + W_h (o ∘ norm(r))"


class _Heads(Block):
    """Heads of keys by values, of which each is normed when it is read."""

    undecayed = (*Block.undecayed, "b_a", "A")
    in_browser = True

    @property
    def keys(self) -> int:
        """The keys of all heads."""
        return self.size.heads * self.size.keys

    def scale(self, now: States, w: Weights) -> Tensor:
        return of_heads(now["r"], self.size.heads) * w["norm_r"] * now["o"]


class GLA(_Heads):
    """Gated linear attention: each key decays as the input says."""

    name = "gla"
    carried = ("S",)
    holds = ("q", "K", "a", "o")
    kinds = kinds_of(
        LinearAttention.kinds,
        Kind("q", "question", "q", "q = W_q norm(x) / √keys", _BELOW),
        Kind("K", "key", "K", "K = W_K norm(x)", _BELOW),
        Kind("v", "value", "v", "v = W_v norm(x)", _BELOW),
        Kind("a", "decay", "α", "α = σ(W_α norm(x) + b_α)^(1/16)", _BELOW, range=_SHARE, gate=True),
        _GATE,
        Kind("k", "kept memory", "k", "k = α ∘ S₋₁", (Edge("a"), Edge("S", 1))),
        output=_READ,
        sources="o",
    )

    def family(self, size: Size) -> LinearAttention:
        return LinearAttention.of(size.heads, size.keys, size.values, size.keys)

    def own_shapes(self, inputs: int) -> dict[str, Shape]:
        width = self.size.width
        return {
            "w_x": (2 * self.keys + 2 * width + _RANK, inputs), "w_a": (self.keys, _RANK),
            "b_a": (self.keys,), "norm_r": (width,),
        }  # fmt: skip

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        w["b_a"].uniform_(-2, 4, generator=generator)  # memories of half-lives from 5 words on

    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:  # noqa: ARG002
        keys, width = self.keys, self.size.width
        parts = F.linear(x, w["w_x"]).split([keys, keys, width, width, _RANK], -1)
        q = put("q", parts[0] * self.size.keys**-0.5)
        key, v = put("K", parts[1]), put("v", parts[2])
        a = put("a", torch.exp(F.logsigmoid(F.linear(parts[4], w["w_a"], w["b_a"])) / _SLOW))
        return {"q": q, "K": key, "v": v, "a": a, "o": put("o", F.silu(parts[3]))}


class DeltaNet(_Heads):
    """The gated delta rule: a head decays as a whole, and what it says of a key is erased before
    the key's value is written. Questions, keys and values are convolved; the first two have length
    1.
    """

    name = "deltanet"
    carried = ("p", "S")
    holds = ("q", "K", "b", "a", "o")
    kinds = kinds_of(
        GatedDelta.kinds,
        PAST,
        Kind("q", "question", "q", "q = SiLU(conv(W_q norm(x))), of length 1", _PAST,
             range=(-1.0, 1.0)),
        Kind("K", "key", "K", "K = SiLU(conv(W_K norm(x))), of length 1", _PAST, range=(-1.0, 1.0)),
        Kind("v", "value", "v", "v = SiLU(conv(W_v norm(x)))", _PAST),
        Kind("b", "strength of the write", "β", "β = σ(W_β norm(x) + b_β)", _BELOW, range=_SHARE,
             gate=True),
        Kind("a", "decay", "α", "α = exp(-A softplus(W_α norm(x) + b_α))", _BELOW, range=_SHARE,
             gate=True),
        _GATE,
        output=_READ,
        sources="o",
    )  # fmt: skip

    def family(self, size: Size) -> LinearAttention:
        return GatedDelta.of(size.heads, size.keys, size.values)

    def own_shapes(self, inputs: int) -> dict[str, Shape]:
        width, heads = self.size.width, self.size.heads
        seen = 2 * self.keys + width
        return {
            "w_x": (seen + width + 2 * heads, inputs), "conv": (seen, 4), "b_conv": (seen,),
            "b_a": (2 * heads,), "A": (heads,), "norm_r": (width,),
        }  # fmt: skip

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        w["A"].uniform_(1, 16, generator=generator).log_()
        steps = torch.exp(w["b_a"][self.size.heads :].uniform_(
            math.log(1e-3), math.log(1e-1), generator=generator))  # fmt: skip
        w["b_a"][self.size.heads :] = torch.log(torch.expm1(steps))

    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:
        width, heads, keys = self.size.width, self.size.heads, self.keys
        seen, gate, small = F.linear(x, w["w_x"]).split([2 * keys + width, width, 2 * heads], -1)
        summed, p = convolved(seen, before["p"], w)
        p = put("p", p)
        q, key, v = silu(summed, curve).split([keys, keys, width], -1)
        q, key = (unit(one.unflatten(-1, (heads, -1))).flatten(-2) for one in (q, key))
        q, key, v = put("q", q), put("K", key), put("v", v)
        b, a = (small + w["b_a"]).chunk(2, -1)
        b, a = put("b", sigmoid(b)), put("a", torch.exp(-w["A"].exp() * F.softplus(a)))
        return {"p": p, "q": q, "K": key, "v": v, "b": b, "a": a, "o": put("o", F.silu(gate))}


register(GLA())
register(DeltaNet())
