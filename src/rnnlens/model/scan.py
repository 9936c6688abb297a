"""The states of a linear memory at every timestep at once: S = T(S₋₁) + W, for training.

Two steps of such a memory are one step of the same sort: so of pairs of neighbours, then of pairs
of pairs, every state is known after as many rounds as a sequence can be halved. Nothing is divided
by a decay, so that numbers stay as good as those of one step after the other. Gradients go the same
way back.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from rnnlens.model.cell import States, Weights
from rnnlens.model.linear import LinearCell
from rnnlens.model.transition import Transition

_CHUNK = 64  # timesteps at once; of longer sequences states are computed again to learn


def scanned(change: Tensor, write: Tensor, start: Tensor, whole: bool = False) -> Tensor:
    """Every state (T, ...) of a memory that begins with `start` (...).

    `change` (T, ...) is what stays of each number; where it is `whole`, a matrix (T, ..., K, K)
    that the memory (..., K, V) is multiplied with.
    """
    states: Tensor = _Scan.apply(change, write, start, whole)  # type: ignore[no-untyped-call]
    return states


class _Scan(torch.autograd.Function):
    """What `scanned` computes, which keeps no more for its gradients than the states."""

    @staticmethod
    def forward(ctx: Any, change: Tensor, write: Tensor, start: Tensor, whole: bool) -> Tensor:
        first = write[:1] + _through(change[:1], start[None], whole)
        states = _prefixes(change, torch.cat([first, write[1:]]), whole)
        ctx.save_for_backward(change, states, start)
        ctx.whole = whole
        return states

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        change, states, start = ctx.saved_tensors
        turned = change.mT if ctx.whole else change
        later = torch.cat([torch.zeros_like(turned[:1]), turned[1:].flip(0)])
        write = _prefixes(later, slopes[0].flip(0), ctx.whole).flip(0)
        before = torch.cat([start[None], states[:-1]])
        of_change = write @ before.mT if ctx.whole else (write * before).sum_to_size(change.shape)
        return of_change, write, _through(turned[:1], write[:1], ctx.whole)[0], None


def _through(change: Tensor, states: Tensor, whole: bool) -> Tensor:
    return change @ states if whole else change * states


def _prefixes(change: Tensor, write: Tensor, whole: bool) -> Tensor:
    """The states from nothing on: after a round, each is of twice as many timesteps."""
    step = 1
    while step < len(write):
        write = torch.cat(
            [write[:step], write[step:] + _through(change[step:], write[:-step], whole)]
        )
        change = torch.cat([change[:step], _through(change[step:], change[:-step], whole)])
        step *= 2
    return write


def read_at_once(cell: LinearCell, given: States, start: States, w: Weights) -> Tensor:
    """What a cell reads at every timestep, (T, B, ...), as a `Scan` of it does one by one."""
    length, reads = len(next(iter(given.values()))), list[Tensor]()
    kinds, carried = list(given), list(cell.carried)

    def chunk(*tensors: Tensor) -> tuple[Tensor, ...]:
        now = dict(zip(kinds, tensors, strict=False))
        before = dict(zip(carried, tensors[len(kinds) :], strict=True))
        read, after = _chunk(cell, now, before, w)
        return read, *(after[kind] for kind in carried)

    learns = torch.is_grad_enabled() and length > _CHUNK
    for first in range(0, length, _CHUNK):
        tensors = [given[kind][first : first + _CHUNK] for kind in kinds]
        tensors += [start[kind] for kind in carried]
        if learns:
            read, *last = checkpoint(chunk, *tensors, use_reentrant=False, preserve_rng_state=False)
        else:
            read, *last = chunk(*tensors)
        start = dict(zip(carried, last, strict=True))
        reads.append(read)
    return torch.cat(reads)


def _chunk(cell: LinearCell, given: States, start: States, w: Weights) -> tuple[Tensor, States]:
    """What is read at some timesteps, and what is carried after the last."""
    now = given | cell.gates_at_once(given, start, w)
    every = {kind: now[kind] for kind in cell.carried if kind in now}  # such as a maximum
    for memory in cell.memories:
        change, write = cell.transition(memory, now, w), cell.write(memory, now, w)
        every[memory] = _scan_of(change, write, start[memory])
    last = {kind: values[-1] for kind, values in every.items()}
    if cell.output.id in every:
        return every[cell.output.id], last
    if not cell.reads_before:
        return cell.read(every, now, w), last
    before = {kind: torch.cat([start[kind][None], every[kind][:-1]]) for kind in cell.carried}
    return cell.read(before, now, w), last


def _scan_of(change: Transition, write: Tensor, start: Tensor) -> Tensor:
    write = write.expand(len(write), *start.shape)
    if change.put is None or change.ask is None:
        return scanned(change.decay, write, start)
    keys = change.decay[..., 0].expand_as(change.put)
    matrix = torch.diag_embed(keys) + change.put[..., :, None] * change.ask[..., None, :]
    return scanned(matrix, write, start, whole=True)
