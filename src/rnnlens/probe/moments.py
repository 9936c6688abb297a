"""A probe in closed form: the best linear guess of the last output, read by the model's readout.

One pass over the states gives means, deviations and covariances. For the last output itself the
result is the model's own classifier, F(h) = G(last output, h); for every other kind it is a start
from which fitting has little left to do.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.probe.stream import Chunk

_RIDGE = 1e-4  # of the mean variance, so that a kind with idle units still has an inverse


@dataclass
class Moments:
    """Sums over states in float64: of each kind, its squares, its products with the last kind."""

    last: str
    standardise: bool = True
    count: int = 0
    sums: dict[str, Tensor] = field(default_factory=dict)  # (H,)
    squares: dict[str, Tensor] = field(default_factory=dict)  # (H, H)
    products: dict[str, Tensor] = field(default_factory=dict)  # (H, H of the last kind)

    def add(self, chunk: Chunk) -> None:
        """Take in the states of a chunk."""
        self.count += len(chunk.labels)
        last = chunk.states[self.last]
        for kind, v in chunk.states.items():
            found = (v.double().sum(0), (v.T @ v).double(), (v.T @ last).double())
            for kept, new in zip((self.sums, self.squares, self.products), found, strict=True):
                kept[kind] = kept[kind] + new if kind in kept else new

    def mean(self, kind: str) -> Tensor:
        """(H,)"""
        return self.sums[kind] / self.count

    def covariance(self, kind: str) -> Tensor:
        """(H, H)"""
        return self.squares[kind] / self.count - torch.outer(self.mean(kind), self.mean(kind))

    def centre(self, kind: str) -> Tensor:
        """What is taken off a state before fitting, (H,)."""
        return self.mean(kind) * self.standardise

    def scale(self, kind: str) -> Tensor:
        """What a state is then divided by, (H,); 1 for a unit that never moves."""
        if not self.standardise:
            return torch.ones_like(self.sums[kind])
        spread = self.covariance(kind).diagonal().clamp_min(0).sqrt()
        return torch.where(spread > 1e-8, spread, torch.ones_like(spread))

    def regression(self, kind: str) -> Tensor:
        """The matrix (H, H of last) with (v - mean) @ matrix closest to last - mean of last."""
        across = self.products[kind] / self.count
        across -= torch.outer(self.mean(kind), self.mean(self.last))
        own = self.covariance(kind)
        ridge = _RIDGE * own.diagonal().mean().clamp_min(1e-12)
        found: Tensor = torch.linalg.solve(
            own + ridge * torch.eye(len(own), device=own.device), across
        )
        return found


def measure(chunks: Iterable[Chunk], last: str) -> Moments:
    """The moments of all chunks."""
    moments = Moments(last)
    for chunk in chunks:
        moments.add(chunk)
    if not moments.count:
        raise RnnlensError("there are no states to fit to; give more text or another semantic")
    return moments
