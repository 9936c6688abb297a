"""The coordinates in which a fit of few labels takes its steps.

Units of a kind are correlated, often nearly all of the way. In coordinates in which they are not,
every direction is as quickly learnt as any other, and a fit comes to its end instead of creeping.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from rnnlens.probe.moments import Moments

NARROW = 128  # columns of weights up to which products of all kinds together are quicker
_WIDEST = 512  # units that are told apart; what is wider keeps its own coordinates
_NOISE = 1e-5  # of the variance of a unit: in a direction that varies less nothing is learnt
_FEW_UNITS = 128  # of which a fit to its end was better with any number of states
_LEAST = 10  # states for each weight of a kind that has more, to fit it so at all
_ENOUGH = 50  # states for each weight, with which steps may be as long as the recipe has them


def suits(pairs: int, labels: int, width: int) -> bool:
    """Whether a fit to its end is for states of up to `width` units: of wide kinds with few states
    for each weight it learns the training data by heart (docs/results.md).
    """
    return width <= _FEW_UNITS or (width <= _WIDEST and pairs >= _LEAST * labels * width)


class Frames:
    """For each kind a symmetric matrix that makes its units uncorrelated, times what its steps are
    to be shortened by.
    """

    def __init__(
        self, moments: Moments, kinds: Sequence[str], sizes: Sequence[float], columns: int,
        device: torch.device,
    ) -> None:  # fmt: skip
        """`columns` are those of weights; `sizes` what the steps of each kind are multiplied by."""
        self.matrices = [
            _frame(moments, kind, size).to(device) for kind, size in zip(kinds, sizes, strict=True)
        ]
        self.together: Tensor | None = None  # (K, columns, columns), where these are few
        if columns <= NARROW:
            self.together = self.matrices[0].new_zeros(len(kinds), columns, columns)
            for whole, frame in zip(self.together, self.matrices, strict=True):
                whole[: len(frame), : len(frame)] = frame

    def turned(self, values: Tensor, kinds: int | slice) -> Tensor:
        """Rows (R, columns) of one kind, or (K, R, columns) of all, from one side of the frame to
        the other: a gradient into it, or a step out of it.
        """
        if self.together is not None:
            return values @ self.together[kinds]
        found = torch.zeros_like(values)
        if isinstance(kinds, int):
            self._turn(kinds, values, found)
        else:
            for k in range(len(self.matrices)):
                self._turn(k, values[k], found[k])
        return found

    def _turn(self, k: int, rows: Tensor, out: Tensor) -> None:
        frame = self.matrices[k]
        out[:, : len(frame)] = rows[:, : len(frame)] @ frame


def shortened(pairs: int, labels: int, width: int) -> float:
    """What the steps of a kind are multiplied by: with few states for each of its weights, long
    ones lead at once to where validation data is told worse.
    """
    return min(1.0, math.sqrt(pairs / (_ENOUGH * labels * (width + 1))))


def _frame(moments: Moments, kind: str, size: float) -> Tensor:
    """The frame of one kind, with a last row and column for the constant, (H + 1, H + 1)."""
    width = len(moments.mean(kind))
    frame = torch.eye(width + 1, dtype=torch.float64)
    if width <= _WIDEST:
        scale = moments.scale(kind)
        values, vectors = torch.linalg.eigh(moments.covariance(kind) / torch.outer(scale, scale))
        # Weights in a direction of rounding alone would wander off to where no file can hold them.
        root = torch.where(values > _NOISE, values.clamp_min(_NOISE).rsqrt(), 0.0)
        frame[:width, :width] = vectors * root @ vectors.T
    return (size * frame).float()
