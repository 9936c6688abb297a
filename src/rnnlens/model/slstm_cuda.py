"""All timesteps of an sLSTM in one Triton kernel, and their gradients in another; imported on CUDA
only.

Heads do not see each other, nor do texts: a program takes one head of some texts from the first
timestep to the last. It holds their states and the head's four matrices, so that a timestep costs
four small products and no launch. Gradients go the same way back.
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

_ROWS = 16  # texts that a program takes through time: the least that a product can have
_WARPS = 8
_PRECISION = "ieee"  # products as exact as those of a step by itself
# One compiled kernel serves every shape: a CUDA graph that records a new one must not compile.
_NUMBERS = ["steps", "rows", "heads", "size"]


@triton.jit
def _places(rows, heads, size, ROWS: tl.constexpr, SIZE: tl.constexpr):
    """Where this program's texts and units are in (B, H) and in (B, 4H), and which there are."""
    row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    unit, width = tl.arange(0, SIZE)[None, :], heads * size
    column = tl.program_id(1) * size + unit
    return row * width + column, row * 4 * width + column, (row < rows) & (unit < size)


@triton.jit
def _matrix(weights, gate, heads, size, down, along, SIZE: tl.constexpr):
    """A gate's matrix for this program's head: `down` to the next row, `along` to the column."""
    row, column = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    first = (gate * heads + tl.program_id(1)) * size * size
    inside = (row < size) & (column < size)
    return tl.load(weights + first + row * down + column * along, mask=inside, other=0.0)


@triton.jit
def _tanh(a):
    """Near zero by the first terms of its series, where the difference would cancel: up to 0.1 what
    follows them is less than single precision rounds.
    """
    square = a * a
    near = a * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0)))
    return tl.where(tl.abs(a) < 0.1, near, 2.0 * tl.sigmoid(2.0 * a) - 1.0)


@triton.jit(do_not_specialize=_NUMBERS, do_not_specialize_on_alignment=[
    "sums", "weights", "r_0", "c_0", "n_0", "m_0", "reads", "memories", "gates"])  # fmt: skip
def _forward(
    sums, weights, r_0, c_0, n_0, m_0, reads, memories, gates, steps, rows, heads, size,
    ROWS: tl.constexpr, SIZE: tl.constexpr, KEEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    at, wide, inside = _places(rows, heads, size, ROWS, SIZE)
    width = heads * size
    area = rows.to(tl.int64) * width
    plane = area * steps  # of one gate
    w_i = _matrix(weights, 0, heads, size, 1, size, SIZE)
    w_f = _matrix(weights, 1, heads, size, 1, size, SIZE)
    w_z = _matrix(weights, 2, heads, size, 1, size, SIZE)
    w_o = _matrix(weights, 3, heads, size, 1, size, SIZE)
    r = tl.load(r_0 + at, mask=inside, other=0.0)
    c = tl.load(c_0 + at, mask=inside, other=0.0)
    n = tl.load(n_0 + at, mask=inside, other=0.0)
    m = tl.load(m_0 + at, mask=inside, other=0.0)
    for _ in range(steps):
        a_i = tl.load(sums + wide, mask=inside, other=0.0)
        a_f = tl.load(sums + wide + width, mask=inside, other=0.0)
        a_z = tl.load(sums + wide + 2 * width, mask=inside, other=0.0)
        a_o = tl.load(sums + wide + 3 * width, mask=inside, other=0.0)
        i = tl.dot(r, w_i, acc=a_i, input_precision=PRECISION)
        a_f = tl.dot(r, w_f, acc=a_f, input_precision=PRECISION)
        a_z = tl.dot(r, w_z, acc=a_z, input_precision=PRECISION)
        a_o = tl.dot(r, w_o, acc=a_o, input_precision=PRECISION)
        f = tl.minimum(a_f, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(a_f)))
        z = _tanh(a_z)
        o = tl.sigmoid(a_o)
        before, m = m, tl.maximum(f + m, i)
        decay, b = tl.exp(f + before - m), tl.exp(i - m)
        if KEEP:
            tl.store(memories + at, c, mask=inside)
            tl.store(memories + plane + area + at, n, mask=inside)
            tl.store(gates + at, tl.sigmoid(-a_f), mask=inside)
            tl.store(gates + plane + at, decay, mask=inside)
            tl.store(gates + 2 * plane + at, b, mask=inside)
            tl.store(gates + 3 * plane + at, z, mask=inside)
            tl.store(gates + 4 * plane + at, o, mask=inside)
        c, n = decay * c + b * z, decay * n + b
        r = o * c / n
        tl.store(reads + at, r, mask=inside)
        at += area
        wide += 4 * area
    if KEEP:
        tl.store(memories + at, c, mask=inside)
        tl.store(memories + plane + area + at, n, mask=inside)


@triton.jit(do_not_specialize=_NUMBERS, do_not_specialize_on_alignment=[
    "weights", "memories", "gates", "slopes", "of_sums", "of_r", "of_c", "of_n"])  # fmt: skip
def _backward(
    weights, memories, gates, slopes, of_sums, of_r, of_c, of_n, steps, rows, heads, size,
    ROWS: tl.constexpr, SIZE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    first, wide, inside = _places(rows, heads, size, ROWS, SIZE)
    width = heads * size
    area = rows.to(tl.int64) * width
    plane, last = area * steps, (steps - 1).to(tl.int64)
    at, wide = first + last * area, wide + last * 4 * area
    w_i = _matrix(weights, 0, heads, size, size, 1, SIZE)
    w_f = _matrix(weights, 1, heads, size, size, 1, SIZE)
    w_z = _matrix(weights, 2, heads, size, size, 1, SIZE)
    w_o = _matrix(weights, 3, heads, size, size, 1, SIZE)
    c = tl.load(memories + at + area, mask=inside, other=0.0)
    n = tl.load(memories + plane + area + at + area, mask=inside, other=1.0)
    of_r_now = tl.zeros((ROWS, SIZE), tl.float32)  # by way of the gates of the next timestep
    of_c_now = tl.zeros((ROWS, SIZE), tl.float32)
    of_n_now = tl.zeros((ROWS, SIZE), tl.float32)
    for _ in range(steps):
        slope = of_r_now + tl.load(slopes + at, mask=inside, other=0.0)
        c_before = tl.load(memories + at, mask=inside, other=0.0)
        n_before = tl.load(memories + plane + area + at, mask=inside, other=1.0)
        closing = tl.load(gates + at, mask=inside, other=0.0)
        decay = tl.load(gates + plane + at, mask=inside, other=0.0)
        b = tl.load(gates + 2 * plane + at, mask=inside, other=0.0)
        z = tl.load(gates + 3 * plane + at, mask=inside, other=0.0)
        o = tl.load(gates + 4 * plane + at, mask=inside, other=0.0)
        through = slope / n
        of_c_now += through * o
        of_n_now -= through * o * c / n
        of_o = through * c * o * (1.0 - o)
        of_z = of_c_now * b * (1.0 - z * z)
        of_i = (of_c_now * z + of_n_now) * b
        of_f = (of_c_now * c_before + of_n_now * n_before) * decay * closing
        tl.store(of_sums + wide, of_i, mask=inside)
        tl.store(of_sums + wide + width, of_f, mask=inside)
        tl.store(of_sums + wide + 2 * width, of_z, mask=inside)
        tl.store(of_sums + wide + 3 * width, of_o, mask=inside)
        of_r_now = tl.dot(of_i, w_i, input_precision=PRECISION)
        of_r_now = tl.dot(of_f, w_f, acc=of_r_now, input_precision=PRECISION)
        of_r_now = tl.dot(of_z, w_z, acc=of_r_now, input_precision=PRECISION)
        of_r_now = tl.dot(of_o, w_o, acc=of_r_now, input_precision=PRECISION)
        of_c_now *= decay
        of_n_now *= decay
        c, n = c_before, n_before
        at -= area
        wide -= 4 * area
    tl.store(of_r + first, of_r_now, mask=inside)
    tl.store(of_c + first, of_c_now, mask=inside)
    tl.store(of_n + first, of_n_now, mask=inside)


def forward(
    sums: Tensor, weights: Tensor, start: tuple[Tensor, ...], keep: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """What is read at every timestep (T, B, H), of sums (T, B, 4H), weights (4, heads, size, size)
    and what r, c, n and m start with. To `keep` for gradients: c and n before every timestep and
    after the last, (2, T + 1, B, H), and gates, (5, T, B, H): closing, decay, b, z and o.
    """
    (steps, rows, _), (_, heads, size, _) = sums.shape, weights.shape
    width = heads * size
    reads = sums.new_empty(steps, rows, width)
    memories = sums.new_empty((2, steps + 1, rows, width) if keep else 1)
    gates = sums.new_empty((5, steps, rows, width) if keep else 1)
    _forward[(triton.cdiv(rows, _ROWS), heads)](
        sums, weights, *start, reads, memories, gates, steps, rows, heads, size,
        KEEP=keep, **_compiled_for(size),
    )  # fmt: skip
    return reads, memories, gates


def backward(
    weights: Tensor, memories: Tensor, gates: Tensor, slopes: Tensor
) -> tuple[Tensor, ...]:
    """Gradients of sums (T, B, 4H) and of what r, c and n started with, each (B, H)."""
    (steps, rows, width), (_, heads, size, _) = slopes.shape, weights.shape
    of_sums = slopes.new_empty(steps, rows, 4 * width)
    of_start = [slopes.new_empty(rows, width) for _ in range(3)]
    _backward[(triton.cdiv(rows, _ROWS), heads)](
        weights, memories, gates, slopes, of_sums, *of_start, steps, rows, heads, size,
        **_compiled_for(size),
    )  # fmt: skip
    return of_sums, *of_start


def _compiled_for(size: int) -> dict[str, Any]:
    side = max(16, triton.next_power_of_2(size))
    return {"ROWS": _ROWS, "SIZE": side, "PRECISION": _PRECISION, "num_warps": _WARPS,
            "num_stages": 1}  # fmt: skip
