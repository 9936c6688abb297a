"""How the states of a kind vary together: what a change of them needs to stay among the usual."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Spread:
    """The deviation of every unit of a kind, and the correlations between them.

    Correlations are kept in half precision, of the symmetric matrix the lower triangle alone.
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
