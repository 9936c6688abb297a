"""The time mixing of RWKV-7 (Peng and others, 2025), whose layers see the word before besides."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, sigmoid

from rnnlens.model.block import Block, Curve, Shape, Size, kinds_of, of_heads, unit
from rnnlens.model.cell import Change, States, Weights, register
from rnnlens.model.cells import linear_memories as families
from rnnlens.model.kinds import BELOW, Edge, Kind

_SHIFTED, _SHARE = (Edge(BELOW), Edge("p", 1)), (0.0, 1.0)
_MIXED = 6  # mixtures of a word and the one before: of q, K, v, a, b and o
_RANK = 16  # numbers through which decay and removal are computed
_GATE_RANK = 64  # and the gate, which makes more of what is read
_SLOW = -math.exp(-0.5)  # the largest exponent of a decay


class RWKV7(Block):
    """A delta rule that erases one key and writes another.

    `mix` says how much of the word before is in each of the six inputs. The bonus ρ lets a word be
    read at once. Two things are plainer than in the paper: values of the first layer are not mixed
    into those of later ones, and what is read has a norm without means and biases.
    """

    name = "rwkv7"
    carried = ("p", "S")
    in_browser = True
    holds = ("q", "K", "g", "b", "a", "o")
    undecayed = (*Block.undecayed, "mix", "b_a", "b_b", "erased", "added", "bonus")
    kinds = kinds_of(
        families.RWKV7.kinds,
        Kind("p", "word before", "p", "p = norm(x), for the next word", (Edge(BELOW),)),
        Kind("q", "question", "q", "q = W_q x_q, where x_j = norm(x) + μ_j ∘ (p₋₁ - norm(x))",
             _SHIFTED),
        Kind("v", "value", "v", "v = W_v x_v", _SHIFTED),
        Kind("b", "strength of the removal", "b", "b = σ(W_b x_b + b_b)", _SHIFTED, range=_SHARE,
             gate=True),
        Kind("a", "decay", "a", "a = exp(-e^(-1/2) σ(W_a tanh(V_a x_a) + b_a))", _SHIFTED,
             range=_SHARE, gate=True),
        Kind("g", "removed key", "κ", "κ = ξ ∘ W_K x_K, of length 1", _SHIFTED, range=(-1.0, 1.0)),
        Kind("K", "key", "K", "K = W_K x_K ∘ (1 + (b - 1) ∘ α)", (*_SHIFTED, Edge("b"))),
        Kind("o", "output gate", "o", "o = W_o σ(V_o x_o)", _SHIFTED, gate=True),
        output="x + W_h (o ∘ (norm(r) + (q ∘ ρ · K) v))",
        sources="oqKv",
    )  # fmt: skip

    def family(self, size: Size) -> families.LinearAttention:
        return families.RWKV7.of(size.heads, size.keys, size.values, size.keys)

    @property
    def keys(self) -> int:
        """The keys of all heads."""
        return self.size.heads * self.size.keys

    def past(self, w: Weights) -> int:
        return len(w["norm"])

    def own_shapes(self, inputs: int) -> dict[str, Shape]:
        width, keys = self.size.width, self.keys
        return {
            "mix": (_MIXED, inputs), "w_q": (keys, inputs), "w_k": (keys, inputs),
            "w_x": (width, inputs), "v_a": (_RANK, inputs), "w_a": (keys, _RANK), "b_a": (keys,),
            "v_b": (_RANK, inputs), "w_b": (keys, _RANK), "b_b": (keys,),
            "v_o": (_GATE_RANK, inputs), "w_o": (width, _GATE_RANK),
            "erased": (keys,), "added": (keys,), "bonus": (keys,), "norm_r": (width,),
        }  # fmt: skip

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        w["mix"].uniform_(0, 1, generator=generator)
        w["b_a"].uniform_(-6, 1, generator=generator)  # memories of all half-lives
        for name in ("erased", "added"):
            w[name].fill_(1)

    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:  # noqa: ARG002
        p = put("p", x)
        earlier = torch.cat([before["p"][None], x[:-1]])
        x_q, x_k, x_v, x_a, x_b, x_o = x + w["mix"][:, None, None] * (earlier - x)
        q = put("q", F.linear(x_q, w["w_q"]))
        v = put("v", F.linear(x_v, w["w_x"]))
        b = put("b", sigmoid(F.linear(F.linear(x_b, w["v_b"]), w["w_b"], w["b_b"])))
        slow = F.linear(torch.tanh(F.linear(x_a, w["v_a"])), w["w_a"], w["b_a"])
        a = put("a", torch.exp(_SLOW * sigmoid(slow)))
        key = F.linear(x_k, w["w_k"])
        g = put("g", unit((key * w["erased"]).unflatten(-1, (self.size.heads, -1))).flatten(-2))
        key = put("K", key * (1 + (b - 1) * w["added"]))
        o = put("o", F.linear(sigmoid(F.linear(x_o, w["v_o"])), w["w_o"]))
        return {"p": p, "q": q, "v": v, "b": b, "a": a, "g": g, "K": key, "o": o}

    def scale(self, now: States, w: Weights) -> Tensor:
        return of_heads(now["r"], self.size.heads) * w["norm_r"] * now["o"]

    def beside(self, now: States, w: Weights) -> Tensor:
        parts = (self.size.heads, -1)
        strength: Tensor = (now["q"] * w["bonus"] * now["K"]).unflatten(-1, parts)
        bonus: Tensor = strength.sum(-1, keepdim=True) * now["v"].unflatten(-1, parts)
        return bonus.flatten(-2) * now["o"]


register(RWKV7())
