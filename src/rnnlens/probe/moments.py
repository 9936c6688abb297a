"""Means and covariances of all kinds in one pass, and a probe in closed form from them.

The closed form is the best linear guess of the last output, read by the model's own classifier. For
the last output itself that is the model's own prediction, F(h) = G(last output, h); for every other
kind it is a start from which fitting has little left to do.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet
from rnnlens.probe.dataset import Chunk

_RIDGE = 1e-4  # share of the mean variance, so that a kind with idle units still has an inverse
_MORE, _TIMES = 4, 8  # factor of a ridge that rounding is larger than, and how often at most
_STILL = 1e-6  # share of a unit's mean: a smaller deviation is rounding


@dataclass
class Moments:
    """Sums over the states of each kind, of their squares, and of products with the last kind.

    Sums are float64, and of states relative to the mean and deviation of the first chunk: squares
    of large numbers that differ little would leave no digits for the difference.
    """

    last: str
    standardise: bool = True
    count: int = 0
    about: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)  # of the first chunk
    sums: dict[str, Tensor] = field(default_factory=dict)  # (H,)
    squares: dict[str, Tensor] = field(default_factory=dict)  # (H, H)
    products: dict[str, Tensor] = field(default_factory=dict)  # (H, H of the last kind)
    answers: LabelSet | None = None  # whose frequencies are counted
    label_counts: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))

    def add(self, chunk: Chunk) -> None:
        """Add the states of a chunk to the sums."""
        if not len(chunk.labels):
            return
        if not self.count:
            self.about = {kind: _about(v) for kind, v in chunk.states.items()}
        self.count += len(chunk.labels)
        if self.answers:
            self.label_counts += self.answers.counts(chunk.labels).cpu()
        last = self._near(self.last, chunk.states[self.last])
        for kind, states in chunk.states.items():
            v = self._near(kind, states)
            terms = (v.double().sum(0), (v.T @ v).double(), (v.T @ last).double())
            for sums, term in zip((self.sums, self.squares, self.products), terms, strict=True):
                sums[kind] = sums[kind] + term if kind in sums else term

    def _near(self, kind: str, states: Tensor) -> Tensor:
        centre, spread = self.about[kind]
        return (states - centre) / spread

    def mean(self, kind: str) -> Tensor:
        """The mean of a kind, (H,)."""
        centre, spread = self.about[kind]
        return centre.double() + spread * (self.sums[kind] / self.count)

    def covariance(self, kind: str) -> Tensor:
        """The covariance of a kind, (H, H)."""
        return self._covariance(kind, self.squares[kind], kind)

    def _covariance(self, kind: str, products: Tensor, other: str) -> Tensor:
        means = torch.outer(self.sums[kind], self.sums[other]) / self.count**2
        spreads = torch.outer(self.about[kind][1].double(), self.about[other][1].double())
        return spreads * (products / self.count - means)

    def centre(self, kind: str) -> Tensor:
        """What preparing a state for a probe takes off it, (H,)."""
        return self.mean(kind) * self.standardise

    def scale(self, kind: str) -> Tensor:
        """What preparing a state then divides it by, (H,); 1 for a unit that never moves."""
        if not self.standardise:
            return torch.ones_like(self.sums[kind])
        spread = self.covariance(kind).diagonal().clamp_min(0).sqrt()
        moves = spread > _STILL * self.mean(kind).abs()
        return torch.where(moves, spread, torch.ones_like(spread))

    def regression(self, kind: str) -> Tensor:
        """The matrix (H, H of last) with (v - mean) @ matrix closest to last - mean of last."""
        across = self._covariance(kind, self.products[kind], self.last)
        within = self.covariance(kind)
        within.diagonal().add_(_ridge(within))
        matrix: Tensor = torch.linalg.solve(within, across)
        return matrix

    def unexplained(self, kind: str, weight: Tensor) -> float:
        """The variance of a number, weight (1, H) @ last, that a kind leaves to be guessed."""
        across = self._covariance(kind, self.products[kind], self.last)
        left = self.covariance(self.last) - across.T @ self.regression(kind)
        return max(0.0, float((weight @ left @ weight.T).sum()))


def _ridge(within: Tensor) -> Tensor:
    """What is added to the variances of a covariance (H, H) before it is inverted.

    Of kinds of thousands of units that move together some directions hardly vary, and rounding of
    the sums leaves them a variance below zero. The ridge is at least twice as large as that, so
    that no weight of the inverse is made of rounding.
    """
    size = within.diagonal().mean()
    ridge = _RIDGE * torch.where(size > 0, size, torch.ones_like(size))
    for _ in range(_TIMES):
        raised = within.clone()
        raised.diagonal().add_(ridge / 2)
        if not torch.linalg.cholesky_ex(raised).info:
            break
        ridge = ridge * _MORE
    return ridge


def _about(states: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and deviation (H,) of some states; 1 for a unit that does not move."""
    centre = states.double().mean(0).to(states.dtype)
    spread = (states - centre).double().square().mean(0).sqrt().to(states.dtype)
    return centre, torch.where(spread > 0, spread, torch.ones_like(spread))


def measure(chunks: Iterable[Chunk], last: str, answers: LabelSet | None = None) -> Moments:
    """The moments of all chunks, and how often each label occurs in them."""
    counts = answers.no_counts() if answers else torch.zeros(0, dtype=torch.int64)
    moments = Moments(last, answers=answers, label_counts=counts)
    for chunk in chunks:
        moments.add(chunk)
    if not moments.count:
        raise RnnlensError("there are no states to fit to; give more text or another semantic")
    return moments


@dataclass(frozen=True)
class Spread:
    """The deviation of every unit of a kind, and the correlations between them.

    Correlations are measured in half precision and kept in that or in less, of the symmetric matrix
    the lower triangle alone.
    """

    deviation: Tensor  # (H,)
    packed: Tensor  # (H * (H + 1) / 2,), rows of the lower triangle one after the other

    @classmethod
    def of(cls, covariance: Tensor) -> "Spread":
        """The spread of states with this covariance, (H, H)."""
        variance = covariance.diagonal().clamp_min(0)
        deviation = variance.sqrt()
        inverse = torch.where(deviation > 0, 1 / deviation, torch.zeros_like(deviation))
        correlation = (covariance * torch.outer(inverse, inverse)).clamp(-1, 1)
        rows, columns = torch.tril_indices(*correlation.shape, device=correlation.device)
        return cls(deviation.float().cpu(), correlation[rows, columns].half().cpu())

    @property
    def size(self) -> float:
        """The kind's deviation as a whole: how far its states lie from their mean, root mean
        square.
        """
        return float(self.deviation.double().square().sum().sqrt())

    @cached_property
    def covariance(self) -> Tensor:
        """(H, H)"""
        width = len(self.deviation)
        rows, columns = torch.tril_indices(width, width)
        correlation = torch.zeros(width, width)
        correlation[rows, columns] = correlation[columns, rows] = self.packed.float()
        return correlation * torch.outer(self.deviation, self.deviation)

    def tensors(self, kind: str) -> dict[str, Tensor]:
        """Its tensors by their names in a file."""
        return {f"spread/{kind}/deviation": self.deviation, f"spread/{kind}/packed": self.packed}

    @staticmethod
    def shapes(kind: str, width: int) -> dict[str, tuple[int, ...]]:
        """The shapes of its tensors in a file, for states of so many units."""
        packed = (width * (width + 1) // 2,)
        return {f"spread/{kind}/deviation": (width,), f"spread/{kind}/packed": packed}

    @classmethod
    def read(cls, tensors: Mapping[str, Tensor], kind: str) -> "Spread | None":
        """The inverse of `tensors`; None where the probes are older than spreads."""
        names = [f"spread/{kind}/{name}" for name in ("deviation", "packed")]
        if not all(name in tensors for name in names):
            return None
        deviation, packed = (tensors[name] for name in names)
        return cls(deviation.float(), packed)
