"""The states of a linear memory one timestep after the other, in one Triton kernel; imported on
CUDA only.

A number of a memory that decays goes through time by itself, and so does a column of one that is
also asked and put to: each stays in registers from the first timestep to the last, so that decays
and writes are read once and states written once. Gradients go the same way back.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 256  # numbers that a program takes through time
# One compiled kernel serves every shape: a CUDA graph that records a new one must not compile.
_NUMBERS = ["steps", "size"]


@triton.jit(do_not_specialize=_NUMBERS, do_not_specialize_on_alignment=[
    "change", "write", "start", "states"])  # fmt: skip
def _decaying(change, write, start, states, steps, size, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    state = tl.load(start + at, mask=inside, other=0.0)
    for _ in range(steps):
        stays = tl.load(change + at, mask=inside, other=0.0)
        state = stays * state + tl.load(write + at, mask=inside, other=0.0)
        tl.store(states + at, state, mask=inside)
        at += size


@triton.jit(do_not_specialize=_NUMBERS, do_not_specialize_on_alignment=[
    "change", "states", "start", "slopes", "of_change", "of_write", "of_start"])  # fmt: skip
def _decaying_back(
    change, states, start, slopes, of_change, of_write, of_start, steps, size, BLOCK: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = first < size
    at = first + (steps - 1).to(tl.int64) * size
    slope = tl.load(slopes + at, mask=inside, other=0.0)
    for _ in range(steps - 1):
        tl.store(of_write + at, slope, mask=inside)
        before = tl.load(states + at - size, mask=inside, other=0.0)
        tl.store(of_change + at, slope * before, mask=inside)
        stays = tl.load(change + at, mask=inside, other=0.0)
        at -= size
        slope = tl.load(slopes + at, mask=inside, other=0.0) + stays * slope
    tl.store(of_write + at, slope, mask=inside)
    tl.store(of_change + at, slope * tl.load(start + at, mask=inside, other=0.0), mask=inside)
    stays = tl.load(change + at, mask=inside, other=0.0)
    tl.store(of_start + at, stays * slope, mask=inside)


@triton.jit(do_not_specialize=["steps", "rows", "keys", "values"], do_not_specialize_on_alignment=[
    "decay", "put", "ask", "write", "start", "states"])  # fmt: skip
def _erasing(
    decay, put, ask, write, start, states, steps, rows, keys, values,
    KEYS: tl.constexpr, VALUES: tl.constexpr,
):  # fmt: skip
    row, k, v = tl.program_id(0).to(tl.int64), tl.arange(0, KEYS), tl.arange(0, VALUES)
    key, at = row * keys + k, (row * keys + k[:, None]) * values + v[None, :]
    of_key, inside = k < keys, (k[:, None] < keys) & (v[None, :] < values)
    state = tl.load(start + at, mask=inside, other=0.0)
    for _ in range(steps):
        stays = tl.load(decay + key, mask=of_key, other=0.0)
        puts = tl.load(put + key, mask=of_key, other=0.0)
        asks = tl.load(ask + key, mask=of_key, other=0.0)
        asked = tl.sum(asks[:, None] * state, 0)
        new = tl.load(write + at, mask=inside, other=0.0)
        state = stays[:, None] * state + puts[:, None] * asked[None, :] + new
        tl.store(states + at, state, mask=inside)
        key += rows * keys
        at += rows * keys * values


@triton.jit(do_not_specialize=["steps", "rows", "keys", "values"], do_not_specialize_on_alignment=[
    "decay", "put", "ask", "states", "start", "slopes", "of_decay", "of_put", "of_ask", "of_write",
    "of_start"])  # fmt: skip
def _erasing_back(
    decay, put, ask, states, start, slopes, of_decay, of_put, of_ask, of_write, of_start,
    steps, rows, keys, values, KEYS: tl.constexpr, VALUES: tl.constexpr,
):  # fmt: skip
    row, k, v = tl.program_id(0).to(tl.int64), tl.arange(0, KEYS), tl.arange(0, VALUES)
    of_key, inside = k < keys, (k[:, None] < keys) & (v[None, :] < values)
    first = (row * keys + k[:, None]) * values + v[None, :]
    one, last = (rows * keys).to(tl.int64), (steps - 1).to(tl.int64)
    key, at = row * keys + k + last * one, first + last * one * values
    slope = tl.zeros((KEYS, VALUES), states.dtype.element_ty)
    for t in range(steps):
        slope += tl.load(slopes + at, mask=inside, other=0.0)
        tl.store(of_write + at, slope, mask=inside)
        earlier = tl.load(states + at - one * values, mask=inside & (t < steps - 1), other=0.0)
        before = earlier + tl.load(start + first, mask=inside & (t == steps - 1), other=0.0)
        stays = tl.load(decay + key, mask=of_key, other=0.0)
        puts = tl.load(put + key, mask=of_key, other=0.0)
        asks = tl.load(ask + key, mask=of_key, other=0.0)
        asked, through = tl.sum(asks[:, None] * before, 0), tl.sum(puts[:, None] * slope, 0)
        tl.store(of_decay + key, tl.sum(slope * before, 1), mask=of_key)
        tl.store(of_put + key, tl.sum(slope * asked[None, :], 1), mask=of_key)
        tl.store(of_ask + key, tl.sum(before * through[None, :], 1), mask=of_key)
        slope = stays[:, None] * slope + asks[:, None] * through[None, :]
        key -= one
        at -= one * values
    tl.store(of_start + first, slope, mask=inside)


def decaying(change: Tensor, write: Tensor, start: Tensor) -> Tensor:
    """States (T, ...) of numbers of which `change` (T, ...) stays."""
    states, size = torch.empty_like(write), start.numel()
    _decaying[(triton.cdiv(size, _BLOCK),)](
        change, write, start, states, len(write), size, BLOCK=_BLOCK, num_warps=2
    )
    return states


def decaying_back(
    change: Tensor, states: Tensor, start: Tensor, slopes: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of what stays, of what is written and of the start, from those of the states."""
    of_change, of_write, of_start = (torch.empty_like(one) for one in (states, states, start))
    size = start.numel()
    _decaying_back[(triton.cdiv(size, _BLOCK),)](
        change, states, start, slopes, of_change, of_write, of_start, len(states), size,
        BLOCK=_BLOCK, num_warps=2,
    )  # fmt: skip
    return of_change, of_write, of_start


def erasing(decay: Tensor, put: Tensor, ask: Tensor, write: Tensor, start: Tensor) -> Tensor:
    """States (T, ..., K, V) of memories whose keys decay, are asked and put to: (T, ..., K)."""
    states, (keys, values) = torch.empty_like(write), start.shape[-2:]
    rows = start.numel() // (keys * values)
    _erasing[(rows,)](
        decay, put, ask, write, start, states, len(write), rows, keys, values,
        KEYS=triton.next_power_of_2(keys), VALUES=triton.next_power_of_2(values), num_warps=2,
    )  # fmt: skip
    return states


def erasing_back(
    decay: Tensor, put: Tensor, ask: Tensor, states: Tensor, start: Tensor, slopes: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of decays, of what is put and asked, of what is written and of the start."""
    made = tuple(torch.empty_like(one) for one in (decay, put, ask, states, start))
    keys, values = start.shape[-2:]
    rows = start.numel() // (keys * values)
    _erasing_back[(rows,)](
        decay, put, ask, states, start, slopes, *made, len(states), rows, keys, values,
        KEYS=triton.next_power_of_2(keys), VALUES=triton.next_power_of_2(values), num_warps=2,
    )  # fmt: skip
    return made
