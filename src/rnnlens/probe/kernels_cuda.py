"""The Triton versions of kernels.py; imported on CUDA only."""

import triton
import triton.language as tl
from torch import Tensor

LOG2_E = tl.constexpr(1.4426950408889634)


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


@triton.jit
def _adamw(
    weight, m, v, gradient, rate, keep, epsilon, size,
    BETA_1: tl.constexpr, BETA_2: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
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


def softmax_gradient(
    logits: Tensor, targets: Tensor, nll: Tensor, labels: int, scale: float
) -> None:
    """See kernels.softmax_gradient_."""
    _softmax_gradient[(len(logits),)](
        logits, targets, nll, labels, logits.stride(0), scale, BLOCK=4096, num_warps=8
    )


def adamw(
    weight: Tensor, m: Tensor, v: Tensor, gradient: Tensor, rate: float, keep: float, epsilon: float
) -> None:
    """See kernels.adamw_."""
    block, size = 2048, weight.numel()
    _adamw[(triton.cdiv(size, block),)](
        weight, m, v, gradient, rate, keep, epsilon, size, BETA_1=0.9, BETA_2=0.99, BLOCK=block
    )
