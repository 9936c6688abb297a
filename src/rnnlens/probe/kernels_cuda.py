"""The Triton versions of kernels.py; imported on CUDA only."""

from functools import cache
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

LOG2_E = tl.constexpr(1.4426950408889634)
# Exponentials of a state's logits are such that the one of the label that came is 2**-62, which is
# far from both ends of bfloat16's range; none is more than 2**100, so that their sum is a number.
CAME = tl.constexpr(2.0**-62)
DOWN, MOST = tl.constexpr(62.0), tl.constexpr(100.0)  # as powers of 2


class Tile(NamedTuple):
    """How the product for the logits is cut up; a tile is what a program holds in registers. These
    sizes were the quickest of twenty on an H200 (docs/results.md).
    """

    states: int = 128
    labels: int = 128
    columns: int = 64  # multiplied at once
    programs: int = 2  # for each multiprocessor: one multiplies while the other has exponentials
    warps: int = 4
    stages: int = 3


TILE = Tile()


@triton.jit
def _softmax_gradient(logits, targets, nll, labels, stride, scale, BLOCK: tl.constexpr):
    # Twice over the row in blocks: the second time it comes from the cache, and blocks this small
    # leave registers for many rows at once. Whole blocks need no mask; powers are of 2, since that
    # is one instruction. Both matter: this loop is bound by instructions as much as by memory.
    row = tl.program_id(0).to(tl.int64)
    at = logits + row * stride
    target = tl.load(targets + row)
    came = tl.load(at + target).to(tl.float32) * LOG2_E
    whole = labels // BLOCK * BLOCK
    largest = -float("inf")
    total = 0.0
    for start in range(0, whole, BLOCK):
        x = tl.load(at + start + tl.arange(0, BLOCK)).to(tl.float32)
        larger = tl.maximum(largest, tl.max(x, 0) * LOG2_E)
        total = total * tl.exp2(largest - larger) + tl.sum(tl.exp2(x * LOG2_E - larger), 0)
        largest = larger
    for start in range(whole, labels, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        # Masked at the aligned end, so that loads are wide; the padding is then taken out.
        x = tl.load(at + columns, mask=columns < stride, other=0.0).to(tl.float32)
        x = tl.where(columns < labels, x, -float("inf"))
        larger = tl.maximum(largest, tl.max(x, 0) * LOG2_E)
        total = total * tl.exp2(largest - larger) + tl.sum(tl.exp2(x * LOG2_E - larger), 0)
        largest = larger
    tl.store(nll + row, (tl.log2(total) + largest - came) / LOG2_E)
    down = largest + tl.log2(total)
    for start in range(0, whole, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(at + columns).to(tl.float32)
        gradient = tl.exp2(x * LOG2_E - down) * scale
        tl.store(at + columns, gradient.to(logits.dtype.element_ty))
    for start in range(whole, stride, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(at + columns, mask=columns < stride, other=0.0).to(tl.float32)
        gradient = tl.where(columns < labels, tl.exp2(x * LOG2_E - down) * scale, 0.0)
        tl.store(at + columns, gradient.to(logits.dtype.element_ty), mask=columns < stride)
    tl.debug_barrier()  # the target is written last, over what another thread has written
    gradient = (tl.exp2(came - down) - 1) * scale
    tl.store(at + target, gradient.to(logits.dtype.element_ty))


# Counts of rows and labels are not compiled in: no step waits for a compiler because it is shorter.
@triton.jit(do_not_specialize=["count"])
def _shift(x, weight, targets, shift, count, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    # What a state's logits are taken off, as a power of 2: exact to float32, since it is also what
    # its likelihood is told by.
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    row, wanted = at.to(tl.int64)[:, None], tl.load(targets + at, mask=inside, other=0)[:, None]
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.static_range(0, COLUMNS, 64):
        columns = start + tl.arange(0, 64)[None, :]
        a = tl.load(x + row * COLUMNS + columns, mask=inside[:, None], other=0.0)
        b = tl.load(weight + wanted * COLUMNS + columns, mask=inside[:, None], other=0.0)
        total += tl.sum(a.to(tl.float32) * b.to(tl.float32), 1)
    tl.store(shift + at, total * LOG2_E + DOWN, mask=inside)


@triton.jit(do_not_specialize=["count", "labels", "padded_labels"])
def _exponentials(
    x, weight, out, shift, sums, count, labels, padded_labels,
    COLUMNS: tl.constexpr, STATES: tl.constexpr, LABELS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    # The first three are descriptors: what they load beyond the end is 0, and they store nothing
    # there. A program has tiles one after the other, so that it stays with its states. The loops
    # are one to the compiler, so that a tile's first operands are on their way while the last
    # tile's exponentials are computed.
    across = tl.cdiv(padded_labels, LABELS)
    tiles = tl.cdiv(count, STATES) * across
    each = tl.cdiv(tiles, tl.num_programs(0))
    begin = min(tl.program_id(0) * each, tiles)
    for tile in tl.range(begin, min(begin + each, tiles), flatten=True):
        row, place = tile // across * STATES, tile % across
        label = place * LABELS
        logits = tl.zeros((STATES, LABELS), tl.float32)
        for start in range(0, COLUMNS, STEP):
            a, b = x.load([row, start]), weight.load([label, start])
            logits = tl.dot(a, b.T, logits)
        at = row + tl.arange(0, STATES)
        taken = tl.load(shift + at, mask=at < count, other=0.0)
        e = tl.exp2(
            tl.minimum(logits * LOG2_E - taken[:, None], MOST, propagate_nan=tl.PropagateNan.ALL)
        )
        if label + LABELS > labels:  # labels that pad the others have no probability
            e = tl.where((label + tl.arange(0, LABELS) < labels)[None, :], e, 0.0)
        tl.store(sums + place * count + at, tl.sum(e, 1), mask=at < count)
        # Written in two parts, which take half as much of the memory that operands wait in.
        left, right = e.to(out.dtype).reshape(STATES, 2, LABELS // 2).permute(0, 2, 1).split()
        out.store([row, label], left)
        out.store([row, label + LABELS // 2], right)


@triton.jit(do_not_specialize=["count", "tiles"])
def _finish(
    x, targets, e, sums, nll, weighted, count, stride, tiles, scale,
    COLUMNS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside, row = at < count, at.to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, tiles, 32):
        tile = (start + tl.arange(0, 32))[:, None]
        mask = (tile < tiles) & inside[None, :]
        total += tl.sum(tl.load(sums + tile * count + at[None, :], mask=mask, other=0.0), 0)
    total = tl.where(inside, total, 1.0)
    tl.store(nll + at, (tl.log2(total) + DOWN) / LOG2_E, mask=inside)
    target = tl.load(targets + at, mask=inside, other=0)
    tl.store(e + row * stride + target, (-total + CAME).to(e.dtype.element_ty), mask=inside)
    factor = (scale / total)[:, None]
    for start in tl.static_range(0, COLUMNS, 64):
        place = row[:, None] * COLUMNS + start + tl.arange(0, 64)[None, :]
        v = tl.load(x + place, mask=inside[:, None], other=0.0).to(tl.float32)
        tl.store(weighted + place, (v * factor).to(x.dtype.element_ty), mask=inside[:, None])


@triton.jit(do_not_specialize=["count"])
def _standardised_rows(
    states, rows, mean, scale, out, count,
    WIDTH: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at < count)[:, None]
    row = tl.load(rows + at, mask=at < count, other=0).to(tl.int64)[:, None]
    for start in tl.static_range(0, COLUMNS, 64):
        columns = start + tl.arange(0, 64)[None, :]
        unit = columns < WIDTH
        v = tl.load(states + row * WIDTH + columns, mask=inside & unit, other=0.0).to(tl.float32)
        v = (v - tl.load(mean + columns)) / tl.load(scale + columns)
        v = tl.where(unit, v, tl.where(columns == WIDTH, 1.0, 0.0))
        place = at.to(tl.int64)[:, None] * COLUMNS + columns
        tl.store(out + place, v.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _adamw(
    weight, m, v, gradient, working, rate, keep, epsilon, size,
    BETA_1: tl.constexpr, BETA_2: tl.constexpr, ROUNDS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # This is bound by memory: what would pass over it again is done while it is here.
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    g = tl.load(gradient + at, mask=inside).to(tl.float32)
    new_m = BETA_1 * tl.load(m + at, mask=inside) + (1 - BETA_1) * g
    new_v = BETA_2 * tl.load(v + at, mask=inside) + (1 - BETA_2) * g * g
    w = tl.load(weight + at, mask=inside)
    w = w * keep - rate * new_m / (tl.sqrt(new_v) + epsilon)
    tl.store(m + at, new_m, mask=inside)
    tl.store(v + at, new_v, mask=inside)
    tl.store(weight + at, w, mask=inside)
    tl.store(gradient + at, tl.zeros_like(g).to(gradient.dtype.element_ty), mask=inside)
    if ROUNDS:
        tl.store(working + at, w.to(working.dtype.element_ty), mask=inside)


def softmax_gradient(
    logits: Tensor, targets: Tensor, nll: Tensor, labels: int, scale: float
) -> None:
    """See kernels.softmax_gradient_."""
    _softmax_gradient[(len(logits),)](
        logits, targets, nll, labels, logits.stride(0), scale, BLOCK=4096, num_warps=8
    )


def softmax_regression(
    gradient: Tensor, weight: Tensor, x: Tensor, targets: Tensor, labels: int, scale: float,
    tile: Tile = TILE,
) -> Tensor:  # fmt: skip
    """See kernels.softmax_regression_.

    The logits are never in memory: the product for them leaves their exponentials e, over that of
    the label that came, and sums of them. What these sum up to for a state divides its x and not
    its e, which are thus read once, by the product for the weights. The one that came is mended
    before that, in one place a state: e - sum, where the others have e.
    """
    count, columns = x.shape
    x, targets = x.contiguous(), targets.contiguous()
    shift, nll = (x.new_empty(count, dtype=torch.float32) for _ in range(2))
    if not count:
        return nll
    e = x.new_empty(count, len(weight))  # (N, padded V)
    tiles = triton.cdiv(len(weight), tile.labels)
    sums = x.new_empty(tiles, count, dtype=torch.float32)
    _shift[(triton.cdiv(count, 16),)](x, weight, targets, shift, count, COLUMNS=columns, BLOCK=16)
    exponentials(x, weight, e, shift, sums, labels, tile)
    weighted = torch.empty_like(x)
    _finish[(triton.cdiv(count, 32),)](
        x, targets, e, sums, nll, weighted, count, len(weight), tiles, scale,
        COLUMNS=columns, BLOCK=32,
    )  # fmt: skip
    gradient.addmm_(e.T, weighted)
    return nll


def exponentials(
    x: Tensor, weight: Tensor, e: Tensor, shift: Tensor, sums: Tensor, labels: int, tile: Tile
) -> None:
    """Write into e (N, padded V) the exponentials of logits less shift (N,), and into sums (tiles,
    N) what those of each tile of labels sum up to.
    """
    (count, columns), padded = x.shape, len(weight)
    tiles = triton.cdiv(count, tile.states) * triton.cdiv(padded, tile.labels)
    programs = min(tiles, tile.programs * _multiprocessors(x.device))
    _exponentials[(programs,)](
        TensorDescriptor.from_tensor(x, [tile.states, tile.columns]),
        TensorDescriptor.from_tensor(weight, [tile.labels, tile.columns]),
        TensorDescriptor.from_tensor(e, [tile.states, tile.labels // 2]),
        shift, sums, count, labels, padded,
        COLUMNS=columns, STATES=tile.states, LABELS=tile.labels, STEP=tile.columns,
        num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip


def standardised_rows(
    states: Tensor, rows: Tensor, mean: Tensor, scale: Tensor, out: Tensor
) -> None:
    """See kernels.standardised_rows."""
    states, (count, columns) = states.contiguous(), out.shape
    _standardised_rows[(triton.cdiv(count, 16),)](
        states, rows, mean, scale, out, count,
        WIDTH=states.shape[1], COLUMNS=columns, BLOCK=16,
    )  # fmt: skip


@cache
def _multiprocessors(device: torch.device) -> int:
    if device.type != "cuda":
        return 2  # by the interpreter
    return torch.cuda.get_device_properties(device).multi_processor_count


def adamw(
    weight: Tensor, m: Tensor, v: Tensor, gradient: Tensor, working: Tensor,
    rate: float, keep: float, epsilon: float,
) -> None:  # fmt: skip
    """See kernels.adamw_."""
    block, size = 2048, weight.numel()
    _adamw[(triton.cdiv(size, block),)](
        weight, m, v, gradient, working, rate, keep, epsilon, size,
        BETA_1=0.9, BETA_2=0.99, ROUNDS=working.data_ptr() != weight.data_ptr(), BLOCK=block,
    )  # fmt: skip
