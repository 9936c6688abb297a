"""A control: the model with its own weights in another order, which has learnt nothing."""

from copy import deepcopy

import torch
from torch import nn

from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import Traceable


def shuffled(model: Traceable, seed: int = 0) -> Traceable:
    """A copy of a model in which the numbers of each weight stand in a random order.

    They are as large as those of the model, and as many are near zero.
    """
    if not isinstance(model, nn.Module):
        raise RnnlensError(
            f"{model.description} is no network of ours, whose weights could be put in another "
            "order; leave the untrained control out"
        )
    copy = deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in copy.parameters():
            order = torch.randperm(weight.numel(), generator=generator).to(weight.device)
            weight.copy_(weight.flatten()[order].view_as(weight))
    return copy
