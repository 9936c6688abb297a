"""The two inner loops of fitting: the gradient of a softmax regression, and AdamW's update.

On CUDA each is one pass over memory, written in Triton, which CUDA builds of torch bring along; the
plain versions beside them are what the tests compare with and what the CPU runs. Of many labels the
first goes into the product for the logits instead, on GPUs of the generation it was measured on.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.model.softmax import softmax_less_targets_

_PART = 1 << 22  # weights updated at once on the CPU, which bounds the memory in between
_BETAS, _EPSILON = (0.9, 0.99), 1e-8
_MANY_LABELS = 1024  # that `softmax_regression_` is for; it was timed with 14,787
_HOPPER = 9  # the generation of GPUs that its tiles are for


def softmax_gradient_(logits: Tensor, targets: Tensor, labels: int, scale: float) -> Tensor:
    """Turn logits (N, padded V) into scale * (softmax - one-hot) in place; return the NLL (N,)."""
    if logits.is_cuda:
        nll = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
        _triton().softmax_gradient(logits, targets, nll, labels, scale)
        return nll
    nll = softmax_less_targets_(logits[:, :labels], targets)
    logits.mul_(scale)
    logits[:, labels:] = 0
    return nll


def fuses(weight: Tensor, labels: int) -> bool:
    """Whether `softmax_regression_` is there for weights on this device, and worth it."""
    suits = weight.is_cuda and weight.dtype == torch.bfloat16 and labels >= _MANY_LABELS
    if not suits or torch.version.hip is not None:  # whose GPUs have other numbers
        return False
    return torch.cuda.get_device_capability(weight.device)[0] == _HOPPER


def softmax_regression_(
    gradient: Tensor, weight: Tensor, x: Tensor, targets: Tensor, labels: int, scale: float
) -> Tensor:
    """Add to the gradient by weights (padded V, columns) that of states x (N, columns): what
    `softmax_gradient_` leaves of their logits, times x. Return the NLL (N,).

    Exact to bfloat16's rounding as long as no label is 112 nats above the one that came; those that
    are count as if they were just that, which is what then bounds the NLL as well.
    """
    nll: Tensor = _triton().softmax_regression(gradient, weight, x, targets, labels, scale)
    return nll


def sigmoid_gradient_(logits: Tensor, targets: Tensor, labels: int, scale: float) -> Tensor:
    """Turn logits (N, padded V) into scale * (sigmoid - targets) in place, where each label holds
    or not by itself; targets are (N, V) of 0 and 1. Return the NLL (N,), a mean over the labels.
    """
    real = logits[:, :labels]
    nll = F.binary_cross_entropy_with_logits(real.float(), targets.float(), reduction="none")
    real.sigmoid_().sub_(targets)
    logits.mul_(scale)
    logits[:, labels:] = 0
    return nll.mean(1)


def standardised_rows(
    states: Tensor, rows: Tensor, mean: Tensor, scale: Tensor, dtype: torch.dtype
) -> Tensor:
    """Some rows of states (N, H), in their order, less the mean (columns,) and over the scale, then
    a column of 1, then zeros: (len(rows), columns).
    """
    size, width = (len(rows), len(mean)), states.shape[1]
    if states.is_cuda:
        out = torch.empty(size, dtype=dtype, device=states.device)
        _triton().standardised_rows(states, rows, mean, scale, out)
        return out
    out = torch.zeros(size, dtype=dtype, device=states.device)
    out[:, :width] = (states[rows] - mean[:width]) / scale[:width]
    out[:, width] = 1
    return out


def adamw_(
    weight: Tensor, m: Tensor, v: Tensor, gradient: Tensor, step: int, rate: float, decay: float,
    working: Tensor | None = None,
) -> None:  # fmt: skip
    """One update, in place; `step` counts from 1. The gradient is then zero, for the next step to
    add to, and `working`, the weights as products take them, is up to date. It may be the weights.
    """
    working = weight if working is None else working
    rate_now = rate * math.sqrt(1 - _BETAS[1] ** step) / (1 - _BETAS[0] ** step)
    epsilon = _EPSILON * math.sqrt(1 - _BETAS[1] ** step)
    if weight.is_cuda:
        _triton().adamw(weight, m, v, gradient, working, rate_now, 1 - rate * decay, epsilon)
        return
    parts = (t.view(-1).split(_PART) for t in (weight, m, v, gradient, working))
    for w, a, b, g, rounded in zip(*parts, strict=True):
        a.lerp_(g, 1 - _BETAS[0])
        b.mul_(_BETAS[1]).addcmul_(g, g, value=1 - _BETAS[1])
        w.mul_(1 - rate * decay).addcdiv_(a, b.sqrt().add_(epsilon), value=-rate_now)
        g.zero_()
        if working.data_ptr() != weight.data_ptr():
            rounded.copy_(w)


def _triton() -> Any:
    from rnnlens.probe import kernels_cuda

    return kernels_cuda
