"""The loss of labels and its gradient by the way, for training on a CPU.

The logits of a step are the largest thing in it by far. Written by one pass and read by the next,
they go through memory about ten times; here a block of rows stays in the processor's cache from
its logits to what it adds to the gradients, and there is never more than one.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from rnnlens.corpus.split import PADDING
from rnnlens.model.packed import product_once

_LOGITS = 2**20  # of a block, which a cache of some MB holds
_ROWS = 192  # of a block at least: each reads all weights and adds to all of their gradients


def rows_at_once(labels: int) -> int:
    """How many rows of so many logits make a block."""
    return max(_ROWS, _LOGITS // max(1, labels))


def softmax_less_targets_(logits: Tensor, targets: Tensor) -> Tensor:
    """Turn logits (N, V) into softmax - one-hot, their gradient, in place; return the NLL (N,)."""
    at = targets[:, None]
    largest, wanted = logits.amax(-1), logits.gather(1, at)[:, 0]
    torch.softmax(logits, -1, out=logits)
    nll = largest - logits.amax(-1).log() - wanted  # the largest has a logarithm, always
    logits.scatter_add_(1, at, logits.new_full((1, 1), -1.0).expand_as(at))
    return nll


def linear_nll(y: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """The summed NLL of targets (N,) by the softmax of y (N, H) @ weight (V, H) transposed + bias,
    as `F.cross_entropy(F.linear(y, weight, bias), targets, reduction="sum")`; rows whose target is
    padding count for nothing, and nothing is computed of them.
    """
    if len(y) * len(weight) <= _LOGITS:  # these stay in the cache anyway
        return F.cross_entropy(F.linear(y, weight, bias), targets, reduction="sum")
    nll: Tensor = _LinearNLL.apply(y, weight, bias, targets)  # type: ignore[no-untyped-call]
    return nll


class _LinearNLL(torch.autograd.Function):
    """The gradients are computed with the loss; to go back is to scale them."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        of_y, of_weight, of_bias = (torch.zeros_like(t) for t in (y, weight, bias))
        real = (targets != PADDING).nonzero()[:, 0]  # (M,)
        nll = y.new_zeros(())
        for chosen in real.split(rows_at_once(len(weight))):
            states = y[chosen]  # (R, H)
            logits = product_once(states, weight, bias)  # (R, V)
            nll += softmax_less_targets_(logits, targets[chosen]).sum()
            of_y[chosen] = product_once(logits, weight.t())
            of_weight.addmm_(logits.t(), states)
            of_bias += logits.sum(0)
        ctx.save_for_backward(of_y, of_weight, of_bias)
        return nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        of_y, of_weight, of_bias = ctx.saved_tensors
        return of_y * scale, of_weight * scale, of_bias * scale, None
