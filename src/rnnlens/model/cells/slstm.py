"""The scalar memory of xLSTM: exponential gates that read the output of the step before.

Its gates depend on its own past, so that it is computed step by step; once they are known, its
memory is carried like every other. To train, one kernel takes it through time on CUDA and a loop
does elsewhere; gradients go the same way back.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, sigmoid, tanh
from torch.autograd.function import once_differentiable

from rnnlens.model.cell import Cell, Change, States, Weights, unchanged
from rnnlens.model.kinds import BELOW, Edge, Kind, Memory

_FROM = (Edge(BELOW), Edge("r", 1))
_SHARE = (0.0, 1.0)
_LARGEST = 64  # units of a head whose four matrices one program of a GPU can hold


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

    def reads(self, sums: Tensor, start: States, weights: Tensor) -> Tensor:
        """What is read at every timestep, (T, B, H), of the sums over the input, biases and all,
        (T, B, 4H), and of `w_h`; for training.
        """
        carried = (start[kind] for kind in self.carried)
        keep = torch.is_grad_enabled()  # which is never so within a function
        read: Tensor = _Reads.apply(self, keep, sums, weights, *carried)  # type: ignore[no-untyped-call]
        return read

    def true_decay(self, memory: str, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return now["f"].exp()

    def read_back(self, through: Tensor, now: States, w: Weights) -> Tensor:  # noqa: ARG002
        return through * now["g"] / now["n"]


class _Reads(torch.autograd.Function):
    """What is read at every timestep, with gradients.

    r = o ∘ c / n is the same whatever `m` is, which scales c and n alike: what goes to it by way of
    the one is taken back by way of the other, so that `m` counts as a constant. That of the start
    scales the others of the start, and has a gradient by that.
    """

    @staticmethod
    def forward(
        ctx: Any, cell: SLSTM, keep: bool, sums: Tensor, weights: Tensor, *start: Tensor
    ) -> Tensor:
        sums, weights, *carried = (one.contiguous() for one in (sums, weights, *start))
        ctx.fits = _fits(sums, weights)
        made: tuple[Tensor, ...]  # what is read, and what to keep
        if ctx.fits:
            made = _triton().forward(sums, weights, carried, keep)
        else:
            made = _forward(cell, sums, weights, carried, keep)
        ctx.save_for_backward(weights, carried[0], *made)
        return made[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        weights, first, reads, memories, gates = ctx.saved_tensors
        back = _triton().backward if ctx.fits else _backward
        of_sums, of_r, of_c, of_n = back(weights, memories, gates, slopes[0].contiguous())
        before = torch.cat([first[None], reads[:-1]])
        of_weights = torch.einsum(
            "tbghi,tbhj->ghij", of_sums.unflatten(-1, weights.shape[:3]),
            before.unflatten(-1, weights.shape[1:3]),
        )  # fmt: skip
        c, n = memories[:, 0]
        return None, None, of_sums, of_weights, of_r, of_c, of_n, c * of_c + n * of_n


def _forward(
    cell: SLSTM, sums: Tensor, weights: Tensor, start: list[Tensor], keep: bool
) -> tuple[Tensor, ...]:
    """What is read (T, B, H); and, to `keep` for gradients, c and n before every timestep and after
    the last, (2, T + 1, B, H), and gates (5, T, B, H): 1 - exp(f), a, b, z and o.
    """
    now = dict(zip(cell.carried, start, strict=True))
    reads, memories, gates = [], [torch.stack([now["c"], now["n"]])], []
    for a in sums:
        now = cell.step(a, now, {"w_h": weights})
        reads.append(now["r"])
        if keep:
            memories.append(torch.stack([now["c"], now["n"]]))
            gates.append(torch.stack([-now["f"].expm1(), *(now[kind] for kind in "abzg")]))
    read = torch.stack(reads)
    return (read, torch.stack(memories, 1), torch.stack(gates, 1)) if keep else (read,)


def _backward(
    weights: Tensor, memories: Tensor, gates: Tensor, slopes: Tensor
) -> tuple[Tensor, ...]:
    """Gradients of sums (T, B, 4H) and of what r, c and n started with, each (B, H)."""
    of_sums = slopes.new_empty(*slopes.shape[:-1], 4 * slopes.shape[-1])
    of_r = of_c = of_n = torch.zeros_like(slopes[0])
    for t in reversed(range(len(slopes))):
        (c_before, n_before), (c, n) = memories[:, t], memories[:, t + 1]
        closing, decay, b, z, o = gates[:, t]
        through = (slopes[t] + of_r) / n
        of_c, of_n = of_c + through * o, of_n - through * o * c / n
        torch.cat([
            (of_c * z + of_n) * b, (of_c * c_before + of_n * n_before) * decay * closing,
            of_c * b * (1 - z * z), through * c * o * (1 - o),
        ], -1, out=of_sums[t])  # fmt: skip
        gated = of_sums[t].unflatten(-1, weights.shape[:3])
        of_r = torch.einsum("bghi,ghij->bhj", gated, weights).flatten(1)
        of_c, of_n = of_c * decay, of_n * decay
    return of_sums, of_r, of_c, of_n


def _fits(sums: Tensor, weights: Tensor) -> bool:
    """Whether a kernel can hold a head, and multiply its numbers. GPUs before Ampere have less
    memory for a program than four matrices of the largest take; AMD's generations have other
    numbers.
    """
    small = sums.dtype == torch.float32 and weights.shape[-1] <= _LARGEST
    if not small or not sums.is_cuda or torch.version.hip is not None:
        return False
    return torch.cuda.get_device_capability(sums.device) >= (8, 0)


def _triton() -> Any:
    from rnnlens.model import slstm_cuda

    return slstm_cuda
