"""The scalar memory of xLSTM: exponential gates that read the output of the step before.

Its gates depend on its own past, so that it is computed step by step; once they are known, its
memory is carried like every other.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, sigmoid, tanh

from rnnlens.model.cell import Cell, Change, States, Weights, unchanged
from rnnlens.model.kinds import BELOW, Edge, Kind, Memory

_FROM = (Edge(BELOW), Edge("r", 1))
_SHARE = (0.0, 1.0)


class SLSTM(Cell):
    """sLSTM: a numerator `c` and a denominator `n`, whose largest exponent is `m`. Its output gate
    is `g` and its output `r`, as in other families: of a model, `o` is what a layer gives to the
    residual stream, and `h` that stream.

    Weights: `w_x` (4H, I), `w_h` (4, heads, H / heads, H / heads) and `b` (4H,), for i, f, z and o
    in this order; units see the output of their own head alone. Without `w_x` what is read has been
    multiplied already, (4H,).
    """

    name = "slstm"
    carried = ("r", "c", "n", "m")
    convolved = ("i", "f")
    kinds = (
        Kind("i", "input gate, as exponent", "i", "i = W_i x + R_i r₋₁ + b_i", _FROM, gate=True),
        Kind("f", "forget gate, as exponent", "f", "f = log σ(W_f x + R_f r₋₁ + b_f)", _FROM,
             range=(None, 0.0), gate=True),
        Kind("z", "cell input", "z", "z = tanh(W_z x + R_z r₋₁ + b_z)", _FROM, range=(-1.0, 1.0),
             gate=True),
        Kind("g", "output gate", "o", "o = σ(W_o x + R_o r₋₁ + b_o)", _FROM, range=_SHARE,
             gate=True),
        Kind("m", "largest exponent", "m", "m = max(f + m₋₁, i)",
             (Edge("f"), Edge("i"), Edge("m", 1))),
        Kind("a", "decay", "a", "a = exp(f + m₋₁ - m)", (Edge("f"), Edge("m"), Edge("m", 1)),
             range=_SHARE, gate=True),
        Kind("b", "strength of the write", "b", "b = exp(i - m)", (Edge("i"), Edge("m")),
             range=_SHARE, gate=True),
        Kind("k", "kept memory", "k", "k = a ∘ c₋₁", (Edge("a"), Edge("c", 1))),
        Kind("w", "written memory", "w", "w = b ∘ z", (Edge("b"), Edge("z"))),
        Kind("c", "memory", "c", "c = k + w", (Edge("k"), Edge("w")),
             memory=Memory(decay="a", write="w", kept="k")),
        Kind("l", "kept weight", "l", "l = a ∘ n₋₁", (Edge("a"), Edge("n", 1))),
        Kind("n", "weight", "n", "n = l + b", (Edge("l"), Edge("b")),
             memory=Memory(decay="a", write="b", kept="l")),
        Kind("r", "read", "r", "r = o ∘ c / n", (Edge("g"), Edge("c"), Edge("n")), output=True),
    )  # fmt: skip

    def __init__(self, heads: int = 1) -> None:
        """`heads`: how many parts of the units see each other."""
        self.heads = heads

    def shapes(self, inputs: int, width: int) -> dict[str, tuple[int, ...]]:
        size = width // self.heads
        return {"w_x": (4 * width, inputs), "w_h": (4, self.heads, size, size), "b": (4 * width,)}

    def start(self, w: Weights, batch: int) -> States:
        zeros = w["b"].new_zeros(batch, len(w["b"]) // 4)
        return {"r": zeros, "c": zeros, "n": zeros, "m": zeros - 1e38}  # nothing was written yet

    def sums(self, x: Tensor, w: Weights) -> Tensor:
        return F.linear(x, w["w_x"], w["b"]) if "w_x" in w else x + w["b"]

    def step(self, a: Tensor, prev: States, w: Weights, edit: Change = unchanged) -> States:
        before = prev["r"].unflatten(-1, (self.heads, -1))
        back = torch.einsum("ghij,bhj->bghi", w["w_h"], before).flatten(1)
        a_i, a_f, a_z, a_o = (a + back).chunk(4, -1)
        i = edit("i", a_i)
        f = edit("f", F.logsigmoid(a_f))
        z = edit("z", tanh(a_z))
        o = edit("g", sigmoid(a_o))
        m = edit("m", torch.maximum(f + prev["m"], i))
        decay = edit("a", torch.exp(f + prev["m"] - m))
        b = edit("b", torch.exp(i - m))
        k = edit("k", decay * prev["c"])
        written = edit("w", b * z)
        c = edit("c", k + written)
        l = edit("l", decay * prev["n"])  # noqa: E741 - as in mLSTM
        n = edit("n", l + b)
        r = edit("r", o * c / n)
        return {"i": i, "f": f, "z": z, "g": o, "m": m, "a": decay, "b": b, "k": k, "w": written,
                "c": c, "l": l, "n": n, "r": r}  # fmt: skip

    def true_decay(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return now["f"].exp()

    def read_back(self, through: Tensor, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return through * now["g"] / now["n"]
