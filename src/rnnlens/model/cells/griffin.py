"""The recurrent block of Griffin around its real-gated linear recurrent unit (De and others, 2024).

A branch is convolved and remembered, another gates what is read.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, exp, sigmoid

from rnnlens.model.block import PAST, Block, Curve, Shape, Size, convolved, kinds_of
from rnnlens.model.cell import Change, States, Weights, register
from rnnlens.model.cells.linear_memories import RGLRU, Gated
from rnnlens.model.kinds import BELOW, Edge, Kind

_U, _SHARE = (Edge("u"),), (0.0, 1.0)
_LEAST = 1e-6  # of 1 - a², whose root has no slope at zero


class Griffin(Block):
    """RG-LRU between a convolution and a gate. Λ, `decay`, begins where .9 to .999 stays."""

    name = "rglru"
    carried = ("p", "c")
    in_browser = True
    holds = ("o", "b", "i", "a")
    undecayed = (*Block.undecayed, "decay", "b_u")
    kinds = kinds_of(
        RGLRU.kinds,
        Kind("o", "output gate", "o", "o = GeLU(W_o norm(x) + b_o)", (Edge(BELOW),), gate=True),
        PAST,
        Kind("u", "convolved input", "u", "u = conv(W_u norm(x) + b_u)",
             (Edge(BELOW), Edge("p", 1))),
        Kind("b", "recurrence gate", "r", "r = σ(W_r u + b_r)", _U, range=_SHARE, gate=True),
        Kind("i", "input gate", "i", "i = σ(W_i u + b_i)", _U, range=_SHARE, gate=True),
        Kind("a", "decay", "a", "a = exp(-8 softplus(Λ) r)", (Edge("b"),), range=_SHARE, gate=True),
        Kind("w", "written memory", "w", "w = √(1 - a²) ∘ i ∘ u",
             (Edge("a"), Edge("i"), Edge("u"))),
        output="x + W_h (o ∘ c)",
        sources="o",
    )  # fmt: skip

    def family(self, size: Size) -> Gated:
        return RGLRU.of(size.width)

    def own_shapes(self, inputs: int) -> dict[str, Shape]:
        width = self.size.width
        return {
            "w_x": (2 * width, inputs), "b_x": (2 * width,), "conv": (width, 4), "b_conv": (width,),
            "w_u": (2 * width, width), "b_u": (2 * width,), "decay": (width,),
        }  # fmt: skip

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        stays = w["decay"].uniform_(0.9, 0.999, generator=generator)
        stays.copy_(torch.log(torch.expm1(-torch.log(stays) / 8)))

    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:  # noqa: ARG002
        gate, branch = F.linear(x, w["w_x"], w["b_x"]).chunk(2, -1)
        o = put("o", F.gelu(gate))
        u, p = convolved(branch, before["p"], w)
        p, u = put("p", p), put("u", u)
        r, i = F.linear(u, w["w_u"], w["b_u"]).chunk(2, -1)
        r, i = put("b", sigmoid(r)), put("i", sigmoid(i))
        a = put("a", exp(-8 * F.softplus(w["decay"]) * r))
        written = put("w", (1 - a * a).clamp_min(_LEAST).sqrt() * i * u)
        return {"o": o, "p": p, "u": u, "b": r, "i": i, "a": a, "w": written}

    def scale(self, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return now["o"]


register(Griffin())
