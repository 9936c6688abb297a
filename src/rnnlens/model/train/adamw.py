"""AdamW as torch has it, without the class around it: the first `torch.optim.Optimizer` that a
process makes imports `torch._dynamo`, which takes seconds and compiles nothing here.

The numbers are those of `torch.optim.AdamW(..., fused=True)`, since the same function computes
them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim.adamw import adamw

_BETAS = (0.9, 0.99)
_LEAST = 1e-8  # that a step is divided by
STATE = ("step", "exp_avg", "exp_avg_sq")  # what is known of each parameter, as files name it


class Group(NamedTuple):
    """Parameters that decay alike."""

    parameters: Sequence[Tensor]
    weight_decay: float


class AdamW:
    """What AdamW knows of the parameters of some groups, and the steps that it takes."""

    def __init__(self, groups: Sequence[Group], rate: Tensor) -> None:
        """`rate` is the learning rate at each step, on the device of the parameters: a CUDA graph
        reads it anew whenever it is replayed.
        """
        self.groups, self.rate = groups, rate
        self.state = {p: _beginning(p) for group in groups for p in group.parameters}

    @torch.no_grad()
    def step(self) -> None:
        """Change every parameter that has a gradient."""
        for group in self.groups:
            moved = [p for p in group.parameters if p.grad is not None]
            known = [self.state[p] for p in moved]
            adamw(
                moved,
                [p.grad for p in moved if p.grad is not None],
                [one["exp_avg"] for one in known],
                [one["exp_avg_sq"] for one in known],
                [],
                [one["step"] for one in known],
                fused=True,
                capturable=self.rate.is_cuda,
                amsgrad=False,
                beta1=_BETAS[0],
                beta2=_BETAS[1],
                lr=self.rate,
                weight_decay=group.weight_decay,
                eps=_LEAST,
                maximize=False,
            )


def _beginning(p: Tensor) -> dict[str, Tensor]:
    """What is known of a parameter before the first step."""
    count = torch.zeros((), dtype=torch.float32, device=p.device)
    return dict(zip(STATE, (count, torch.zeros_like(p), torch.zeros_like(p)), strict=True))
