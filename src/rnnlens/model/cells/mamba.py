"""The blocks of Mamba (Gu and Dao, 2023) and Mamba-2 (Dao and Gu, 2024): an input that is convolved
and remembered, and another that gates what is read.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.model.block import (
    PAST,
    Block,
    Curve,
    Shape,
    Size,
    convolved,
    kinds_of,
    root_mean_square,
    silu,
)
from rnnlens.model.cell import Change, States, Weights, register
from rnnlens.model.cells.linear_memories import S6, SSD
from rnnlens.model.kinds import BELOW, Edge, Kind

_BELOW, _PAST = (Edge(BELOW),), (Edge(BELOW), Edge("p", 1))
_GATE = Kind("o", "output gate", "z", "z = SiLU(W_z norm(x))", _BELOW, gate=True)
_STEPS = (1e-3, 1e-1)  # the step sizes that a layer begins with


def _begin_steps(bias: Tensor, generator: torch.Generator) -> None:
    """Let steps begin with sizes spread evenly over their logarithms."""
    low, high = map(math.log, _STEPS)
    sizes = torch.exp(bias.uniform_(low, high, generator=generator))
    bias.copy_(torch.log(torch.expm1(sizes)))


class Mamba(Block):
    """The selective state space: every channel has a few numbers of memory, and steps of its own
    size; the step size is computed through a few numbers.
    """

    name = "mamba"
    carried = ("p", "S")
    in_browser = True
    holds = ("o", "d", "B", "C")
    undecayed = (*Block.undecayed, "b_d", "A", "D")
    kinds = kinds_of(
        S6.kinds,
        _GATE,
        PAST,
        Kind("u", "value", "u", "u = SiLU(conv(W_u norm(x)))", _PAST),
        Kind("d", "step size", "Δ", "Δ = softplus(W_Δ u + b_Δ)", (Edge("u"),), range=(0.0, None),
             gate=True),
        output="x + W_h (z ∘ r)",
        sources="o",
    )  # fmt: skip

    def family(self, size: Size) -> S6:
        return S6.of(size.width, size.keys)

    @property
    def _rank(self) -> int:
        return math.ceil(self.size.width / 16)

    def own_shapes(self, inputs: int) -> dict[str, Shape]:
        width, keys = self.size.width, self.size.keys
        return {
            "w_x": (2 * width, inputs), "conv": (width, 4), "b_conv": (width,),
            "w_u": (self._rank + 2 * keys, width), "w_d": (width, self._rank), "b_d": (width,),
            "A": (width, keys), "D": (width,),
        }  # fmt: skip

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        w["A"].copy_(torch.arange(1, self.size.keys + 1).log().expand_as(w["A"]))
        _begin_steps(w["b_d"], generator)

    def constants(self, w: Weights) -> Weights:
        return {"A": -w["A"].exp(), "D": w["D"]}

    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:
        branch, gate = F.linear(x, w["w_x"]).chunk(2, -1)
        o = put("o", F.silu(gate))
        summed, p = convolved(branch, before["p"], w)
        p, u = put("p", p), put("u", silu(summed, curve))
        few, key, question = F.linear(u, w["w_u"]).split([self._rank, *[self.size.keys] * 2], -1)
        d = put("d", F.softplus(F.linear(few, w["w_d"], w["b_d"])))
        return {"o": o, "p": p, "u": u, "d": d, "B": put("B", key), "C": put("C", question)}

    def scale(self, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return now["o"]


class Mamba2(Block):
    """The state space of heads with one decay each, whose keys and questions are convolved, too."""

    name = "mamba2"
    carried = ("p", "S")
    in_browser = True
    holds = ("o", "d", "B", "C")
    undecayed = (*Block.undecayed, "b_d", "A", "D")
    kinds = kinds_of(
        SSD.kinds,
        _GATE,
        PAST,
        Kind("u", "value", "u", "u = SiLU(conv(W_u norm(x)))", _PAST),
        Kind("B", "key", "B", "B = SiLU(conv(W_B norm(x)))", _PAST),
        Kind("C", "question", "C", "C = SiLU(conv(W_C norm(x)))", _PAST),
        Kind("d", "step size", "Δ", "Δ = softplus(W_Δ norm(x) + b_Δ)", _BELOW, range=(0.0, None),
             gate=True),
        output="x + W_h norm(z ∘ r)",
        sources="o",
    )  # fmt: skip

    def family(self, size: Size) -> SSD:
        return SSD.of(size.heads, size.values, size.keys, 1)

    def own_shapes(self, inputs: int) -> dict[str, Shape]:
        width, heads, keys = self.size
        seen = width + 2 * keys
        return {
            "w_x": (width + seen + heads, inputs), "conv": (seen, 4), "b_conv": (seen,),
            "b_d": (heads,), "A": (heads,), "D": (heads, 1), "norm_r": (width,),
        }  # fmt: skip

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        w["A"].uniform_(1, 16, generator=generator).log_()
        _begin_steps(w["b_d"], generator)

    def constants(self, w: Weights) -> Weights:
        return {"A": -w["A"].exp(), "D": w["D"]}

    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:
        width, heads, keys = self.size
        parts = [width, width + 2 * keys, heads]
        gate, seen, step = F.linear(x, w["w_x"]).split(parts, -1)
        o = put("o", F.silu(gate))
        summed, p = convolved(seen, before["p"], w)
        p = put("p", p)
        u, key, question = silu(summed, curve).split([width, keys, keys], -1)
        u, key, question = put("u", u), put("B", key), put("C", question)
        d = put("d", F.softplus(step + w["b_d"]))
        return {"o": o, "p": p, "u": u, "B": key, "C": question, "d": d}

    def scale(self, now: States, w: Weights) -> Tensor:
        return now["o"] * root_mean_square(now["o"] * now["r"]) * w["norm_r"]


register(Mamba())
register(Mamba2())
