"""The two blocks of xLSTM (Beck and others, 2024): mLSTM, whose memory is a matrix, and sLSTM,
whose gates see its own last output.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.base.pace import checkpoint
from rnnlens.model.block import (
    PAST,
    SUM,
    Block,
    Curve,
    Shape,
    Size,
    around,
    begin,
    convolved,
    kinds_of,
    normed,
    not_of,
    of_heads,
    output_of_sum,
    residual,
    residual_shapes,
    root_mean_square,
    silu,
    sum_back,
)
from rnnlens.model.cell import Cell, Change, States, Weights, register, unchanged
from rnnlens.model.cells import linear_memories as families
from rnnlens.model.cells import slstm
from rnnlens.model.kinds import BELOW, Edge, Kind

_BELOW, _PAST, _U = (Edge(BELOW),), (Edge(BELOW), Edge("p", 1)), (Edge("u"),)
_EPS = 1e-6  # added to what a read is divided by


class MLSTM(Block):
    """A matrix memory with exponential gates. Questions, keys and gates see the convolved input,
    values the input itself; the convolved input goes around the memory, too.
    """

    name = "mlstm"
    carried = ("p", "S", "n", "m")
    in_browser = True
    holds = ("q", "K", "i", "f", "o")
    undecayed = (*Block.undecayed, "b_u")
    kinds = kinds_of(
        families.MLSTM.kinds,
        Kind("o", "output gate", "o", "o = SiLU(W_o norm(x))", _BELOW, gate=True),
        PAST,
        Kind("u", "convolved input", "u", "u = SiLU(conv(W_u norm(x)))", _PAST),
        Kind("q", "question", "q", "q = W_q u", _U),
        Kind("K", "key", "K", "K = W_K u / √keys", _U),
        Kind("v", "value", "v", "v = W_v norm(x)", _BELOW),
        Kind("i", "input gate, as exponent", "i", "i = W_i u + b_i", _U, gate=True),
        Kind("f", "forget gate, as exponent", "f", "f = log σ(W_f u + b_f)", _U, range=(None, 0.0),
             gate=True),
        output="x + W_h (o ∘ (norm(r) + λ ∘ u))",
        sources="ou",
    )  # fmt: skip

    def family(self, size: Size) -> families.MLSTM:
        return families.MLSTM.of(size.heads, size.keys, size.values)

    def own_shapes(self, inputs: int) -> dict[str, Shape]:
        width, heads = self.size.width, self.size.heads
        return {
            "w_x": (3 * width, inputs), "conv": (width, 4), "b_conv": (width,),
            "w_u": (2 * heads * self.size.keys + 2 * heads, width), "b_u": (2 * heads,),
            "norm_r": (width,), "skip": (width,),
        }  # fmt: skip

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        heads = self.size.heads
        w["b_u"][heads:] = torch.linspace(1, 6, heads)  # memories of all half-lives

    def constants(self, w: Weights) -> Weights:
        return {"eps": w["norm"].new_full((), _EPS)}

    def given(self, x: Tensor, before: States, w: Weights, put: Change, curve: Curve) -> States:
        gate, branch, value = F.linear(x, w["w_x"]).chunk(3, -1)
        o = put("o", F.silu(gate))
        summed, p = convolved(branch, before["p"], w)
        p, u = put("p", p), put("u", silu(summed, curve))
        heads, keys = self.size.heads, self.size.heads * self.size.keys
        q, key, gates = F.linear(u, w["w_u"]).split([keys, keys, 2 * heads], -1)
        i, f = (gates + w["b_u"]).chunk(2, -1)
        q, key, v = put("q", q), put("K", key * self.size.keys**-0.5), put("v", value)
        i, f = put("i", i), put("f", F.logsigmoid(f))
        return {"o": o, "p": p, "u": u, "q": q, "K": key, "v": v, "i": i, "f": f}

    def scale(self, now: States, w: Weights) -> Tensor:
        return of_heads(now["r"], self.size.heads) * w["norm_r"] * now["o"]

    def beside(self, now: States, w: Weights) -> Tensor:
        return w["skip"] * now["u"] * now["o"]


def _own(kind: Kind) -> Kind:
    """A kind of the memory in its block, where two gates see the convolved input."""
    convolved = kind.id in "if"
    sources = (Edge("u") if convolved and one.kind == BELOW else one for one in kind.sources)
    equation = kind.equation.replace(" x + ", " u + " if convolved else " norm(x) + ")
    return replace(kind, equation=equation, sources=tuple(sources), output=False)


class SLSTM(Cell):
    """A scalar memory whose gates see what was read last, by heads; two of them see the convolved
    input. It is computed one timestep after the other, in training, too: on CUDA by one kernel,
    where a head has 64 units at most and numbers are single.
    """

    name = "slstm"
    carried = ("p", "r", "c", "n", "m")
    in_browser = True
    holds = ("i", "f", "g")
    dropped = ("w_s",)
    undecayed = (*Block.undecayed,)
    kinds = (
        PAST,
        Kind("u", "convolved input", "u", "u = SiLU(conv(norm(x)))", _PAST),
        *map(_own, slstm.SLSTM.kinds),
        *around("x + W_h norm(r)", (Edge(BELOW), Edge("r"))),
    )  # fmt: skip

    def __init__(self, heads: int = 1) -> None:
        """`heads`: how many parts of the units see each other."""
        self.heads, self.memory = heads, slstm.SLSTM(heads)

    def sized(self, width: int, heads: int, keys: int) -> "SLSTM":  # noqa: ARG002
        return SLSTM(heads)

    def shapes(self, inputs: int, width: int) -> dict[str, Shape]:
        size = width // self.heads
        return {
            **residual_shapes(inputs, width), "conv": (inputs, 4), "b_conv": (inputs,),
            "w_u": (2 * width, inputs), "w_x": (2 * width, inputs), "b_x": (4 * width,),
            "w_s": (4, self.heads, size, size), "norm_r": (width,),
        }  # fmt: skip

    def initialise(self, w: Weights, width: int, generator: torch.Generator) -> None:
        super().initialise(w, width, generator)
        begin(w, generator)
        w["b_x"][width : 2 * width].uniform_(0, 5, generator=generator)  # of the forget gate

    def start(self, w: Weights, batch: int) -> States:
        first = self.memory.start({"b": w["b_x"]}, batch)
        past = w["norm"].new_zeros(batch, 3 * len(w["conv"]))
        return {"p": past, **first}

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        x = normed(a, w)
        summed, p = convolved(x[None], prev["p"], w)
        p, u = edit("p", p[0]), edit("u", F.silu(summed[0]))
        return self._remembered(a, self._sums(x, u, w), {"p": p, "u": u}, prev, w, edit)

    @staticmethod
    def _sums(x: Tensor, u: Tensor, w: Weights) -> Tensor:
        return torch.cat([F.linear(u, w["w_u"]), F.linear(x, w["w_x"])], -1) + w["b_x"]

    def _remembered(
        self, x: Tensor, sums: Tensor, own: States, prev: States, w: Weights, edit: Change
    ) -> States:
        """Every kind at a timestep, of the sums over its input and over the convolved one."""
        now = self.memory.step(sums, prev, {"w_h": w["w_s"]}, edit)
        t = edit(SUM, residual(x, now["r"] * self._scale(now["r"], w), w))
        return {**own, **now, SUM: t, "h": edit("h", output_of_sum(t))}

    def _scale(self, read: Tensor, w: Weights) -> Tensor:
        return of_heads(read, self.heads) * w["norm_r"].to(read)

    def _states(
        self, x: Tensor, start: States, w: Weights, edits: dict[int, Change], fused: bool
    ) -> States:
        if edits:
            return super()._states(x, start, w, edits, fused)
        normal = normed(x, w)
        summed, p = convolved(normal, start["p"], w)
        u, prev, steps = F.silu(summed), start, list[States]()
        for t, sums in enumerate(self._sums(normal, u, w)):
            checkpoint()
            prev = self._remembered(x[t], sums, {"p": p[t], "u": u[t]}, prev, w, unchanged)
            steps.append(prev)
        return {kind.id: torch.stack([step[kind.id] for step in steps]) for kind in self.kinds}

    def outputs(self, x: Tensor, start: States, w: Weights, training: bool = False) -> Tensor:  # noqa: ARG002
        normal = normed(x, w)
        u = F.silu(convolved(normal, start["p"], w)[0])
        read = self.memory.reads(self._sums(normal, u, w), start, w["w_s"])
        return output_of_sum(residual(x, read * self._scale(read, w), w))

    def held(self, x: Tensor, w: Weights, read: Tensor, real: States) -> States:
        width = real["c"].shape[-1]
        scale, line = self._scale(real["r"], w), _line_of(read)
        w_z, b_z = w["w_x"][:width], w["b_x"][2 * width : 3 * width]
        before = torch.cat([torch.zeros_like(real["r"][:1]), real["r"][:-1]])
        real_sums = F.linear(line(read) * w["norm"], w_z, b_z) + self._own_sums(before, w)
        near = real_sums.abs() < 1e-6
        bend = torch.where(near, 1.0, real["z"] / real_sums.where(~near, 1.0))
        c, r = torch.zeros_like(real["c"][0]), torch.zeros_like(real["r"][0])
        states: dict[str, list[Tensor]] = {kind: [] for kind in ("k", "c", "r")}
        for t, sums in enumerate(F.linear(line(x) * w["norm"], w_z, b_z)):
            kept = real["a"][t] * c
            c = kept + real["b"][t] * bend[t] * (sums + self._own_sums(r, w))
            r = real["g"][t] * c / real["n"][t]
            for kind, value in zip(states, (kept, c, r), strict=True):
                states[kind].append(value)
        found = {kind: torch.stack(values) for kind, values in states.items()}
        weights = real["n"]  # of gates alone, which are held
        whole = residual(x, found["r"] * scale, w)
        return {**found, "n": weights, "l": real["l"], SUM: whole,
                "h": whole * root_mean_square(real[SUM])}  # fmt: skip

    def _own_sums(self, read: Tensor, w: Weights) -> Tensor:
        """What the cell input sees of what was read before."""
        heads = read.unflatten(-1, (self.heads, -1))
        return torch.einsum("hij,...hj->...hi", w["w_s"][2], heads).flatten(-2)

    def true_decay(self, memory: str, now: States, w: Weights) -> Tensor:
        return self.memory.true_decay(memory, now, w)

    @property
    def read_kind(self) -> str:
        return "r"

    def read_kind_back(self, through: Tensor, now: States, w: Weights) -> Tensor:
        return self.memory.read_back(through, now, w)

    def read_back(self, through: Tensor, now: States, w: Weights) -> Tensor:
        back = sum_back(through, now, w) * self._scale(now["r"], w)
        return self.read_kind_back(back, now, w)

    def unstored(self, now: States, w: Weights) -> Tensor:
        return not_of(now["r"] * self._scale(now["r"], w), now, w)


def _line_of(read: Tensor) -> Callable[[Tensor], Tensor]:
    """The norm of an input, as the line that it is for what was really `read`."""
    factor = root_mean_square(read)
    return lambda x: x * factor


register(MLSTM())
register(SLSTM())
