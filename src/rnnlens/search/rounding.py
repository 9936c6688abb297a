"""Numbers of an index, rounded so that a column has a few hundred values and packs well."""

import torch
from torch import Tensor

_MANTISSA = 23  # bits of a float32 after its leading one
_KEPT = 6  # of them
STEPS = {"share": 256, "entropy": 32, "differs": 256, "surprisal": 64}  # to 1


def rounded(values: Tensor, what: str) -> Tensor:
    """To the nearest of so many steps to 1 as `STEPS` says; probabilities to 7 significant bits,
    so that small ones keep their order of magnitude.
    """
    if what in STEPS:
        return (values * STEPS[what]).round_().div_(STEPS[what])
    drop = _MANTISSA - _KEPT
    bits = values.float().contiguous().view(torch.int32)
    return (bits + (1 << (drop - 1))).bitwise_and_(-1 << drop).view(torch.float32)
