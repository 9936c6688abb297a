"""The code of the bundled run `waves`: a small forecaster, and the series that it reads."""

import math

import torch
from torch import Tensor, nn

from rnnlens.adapter.user_model import UserModel

STEPS, NOISE = 64, 0.1
_SLOW, _FAST = (14.0, 26.0), (4.0, 7.0)  # the periods that a series may have
_WIDTH, _LAYERS = 24, 2
_SIDE_BY_SIDE = 32


class Forecaster(nn.Module):
    """An LSTM that reads numbers (B, T) and predicts of each the one that follows, (B, T)."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrence = nn.LSTM(1, _WIDTH, _LAYERS, batch_first=True)
        self.readout = nn.Linear(_WIDTH, 1)

    def forward(self, numbers: Tensor) -> Tensor:
        """The next number after each."""
        found: Tensor = self.readout(self.recurrence(numbers[..., None])[0])
        return found[..., 0]


def forecaster() -> UserModel:
    """The module that the run's weights are put into."""
    return UserModel(Forecaster())


def series(count: int, seed: int) -> Tensor:
    """So many series (N, STEPS + 1): a slow wave, a fast one half as high, and noise."""
    generator = torch.Generator().manual_seed(seed)
    time = torch.arange(STEPS + 1)

    def wave(periods: tuple[float, float]) -> Tensor:
        low, high = periods
        period = low + (high - low) * torch.rand(count, 1, generator=generator)
        phase = torch.rand(count, 1, generator=generator)
        return (2 * math.pi * (time / period + phase)).sin()

    noise = torch.randn(count, STEPS + 1, generator=generator)
    return wave(_SLOW) + wave(_FAST) / 2 + NOISE * noise


def batches(count: int, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Series as pairs: what is read, and of each number the next."""
    return [(some[:, :-1], some[:, 1:]) for some in series(count, seed).split(_SIDE_BY_SIDE)]
