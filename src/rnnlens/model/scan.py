"""The states of a linear memory at every timestep of a sequence at once: S = T(S₋₁) + W, whose
decays and writes are all known beforehand. For training, and on CUDA for all that nothing is learnt
from.

On CUDA one kernel takes every number through time, elsewhere a loop does, in place; neither keeps
more for its gradients than the states, which go the same way back. Nothing is divided by a decay,
so that numbers are those of one step after the other.
"""

from typing import Any

import torch
from torch import Tensor

from rnnlens.model.transition import Transition

_REGISTERS = 1 << 13  # numbers of a head, the sides as powers of 2, that one program can hold


def scanned(change: Transition, write: Tensor, start: Tensor) -> Tensor:
    """Every state (T, ...) of a memory that begins with `start` (...), of what stays and what is
    written at each timestep.
    """
    write = write.expand(len(write), *start.shape)
    if change.put is None or change.ask is None:
        states: Tensor = _Decaying.apply(change.decay, write, start)  # type: ignore[no-untyped-call]
        return states
    decay = change.decay[..., 0].expand_as(change.put)
    given = [one.expand(write.shape[:-1]) for one in (decay, change.put, change.ask)]
    erased: Tensor = _Erasing.apply(*given, write, start)  # type: ignore[no-untyped-call]
    return erased


class _Decaying(torch.autograd.Function):
    """Numbers of which `change` (T, ...) stays, 1 long where that is the same along an axis."""

    @staticmethod
    def forward(ctx: Any, change: Tensor, write: Tensor, start: Tensor) -> Tensor:
        ctx.shape = change.shape
        if write.is_cuda:
            change, write, start = _contiguous(change.expand_as(write), write, start)
            states: Tensor = _triton().decaying(change, write, start)
        else:
            states, before = write.new_empty(write.shape), start
            for t in range(len(write)):
                before = torch.addcmul(write[t], change[t], before, out=states[t])
        ctx.save_for_backward(change, states, start)
        return states

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        change, states, start = ctx.saved_tensors
        if states.is_cuda:
            of_change, *others = _triton().decaying_back(
                change, states, start, slopes[0].contiguous()
            )
            return of_change.sum_to_size(ctx.shape), *others
        of_write = slopes[0].clone(memory_format=torch.contiguous_format)
        for t in range(len(states) - 1, 0, -1):
            of_write[t - 1].addcmul_(change[t], of_write[t])
        of_change = of_write * torch.cat([start[None], states[:-1]])
        return of_change.sum_to_size(ctx.shape), of_write, change[0] * of_write[0]


class _Erasing(torch.autograd.Function):
    """Memories (T, ..., K, V) whose keys decay, are asked and put to, each (T, ..., K)."""

    @staticmethod
    def forward(ctx: Any, *given: Tensor) -> Tensor:
        decay, put, ask, write, start = _contiguous(*given)
        ctx.fits = _fits(start)
        if ctx.fits:
            states: Tensor = _triton().erasing(decay, put, ask, write, start)
        else:
            states, before = write.new_empty(write.shape), start
            for t in range(len(write)):
                before = torch.add(write[t], _through(t, before, decay, put, ask), out=states[t])
        ctx.save_for_backward(decay, put, ask, states, start)
        return states

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, ...]:
        decay, put, ask, states, start = ctx.saved_tensors
        if ctx.fits:
            made: tuple[Tensor, ...] = _triton().erasing_back(
                decay, put, ask, states, start, slopes[0].contiguous()
            )
            return made
        slope = slopes[0].clone(memory_format=torch.contiguous_format)
        for t in range(len(states) - 1, 0, -1):
            slope[t - 1] += _through(t, slope[t], decay, ask, put)
        before = torch.cat([start[None], states[:-1]])
        asked, through = ask[..., None, :] @ before, put[..., None, :] @ slope  # (T, ..., 1, V)
        return (
            (slope * before).sum(-1), (slope @ asked.mT)[..., 0], (before @ through.mT)[..., 0],
            slope, _through(0, slope[0], decay, ask, put),
        )  # fmt: skip


def _through(t: int, memory: Tensor, decay: Tensor, put: Tensor, ask: Tensor) -> Tensor:
    """What timestep t leaves of a memory; with `put` and `ask` changed, its transpose."""
    return Transition(decay[t, ..., None], put[t], ask[t])(memory)


def _fits(start: Tensor) -> bool:
    """Whether a kernel can hold a head."""
    keys, values = (1 << (side - 1).bit_length() for side in start.shape[-2:])
    return start.is_cuda and keys * values <= _REGISTERS


def _contiguous(*tensors: Tensor) -> tuple[Tensor, ...]:
    return tuple(one.contiguous() for one in tensors)


def _triton() -> Any:
    from rnnlens.model import scan_cuda

    return scan_cuda
