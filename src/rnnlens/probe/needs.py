"""What a fit takes of memory, told before it begins."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.fit_config import FitConfig

_MUCH = 2e9  # bytes that somebody wants to know of before
_COPIES = 5  # of a weight: itself, its gradient, two moments of it, and the best so far


@dataclass(frozen=True)
class Needs:
    """Bytes that a fit takes, by what for."""

    covariances: int  # of every kind, from which the closed form is computed
    weights: int
    states: int  # of a chunk, and as probes take them
    logits: int  # of the states whose gradient is computed at once
    kinds: int
    labels: int

    @classmethod
    def of(
        cls, config: FitConfig, widths: Sequence[int], labels: int, chunk: int, at_once: int
    ) -> "Needs":
        """For kinds of these widths; `chunk` states of each are held, `at_once` multiplied."""
        inner = labels if config.probe == "linear" else config.rank + len(widths)
        maps = len(widths) * inner * (max(widths) + 1)
        shared = 0 if config.probe == "linear" else labels * inner
        return cls(
            sum(8 * width * (width + max(widths)) for width in widths),
            4 * _COPIES * (maps + shared),
            2 * 4 * chunk * sum(widths),
            2 * 4 * at_once * labels,
            len(widths),
            labels,
        )

    @property
    def total(self) -> int:
        """All of it."""
        return self.covariances + self.weights + self.states + self.logits

    def checked(self, device: torch.device, asked: bool) -> str:
        """A line that says what is needed, empty where that is little; an error where the machine
        has less. `asked`: whether memories are asked questions.
        """
        there = _memory(device)
        parts = {"covariances of states": self.covariances, "weights": self.weights,
                 "states": self.states, "logits": self.logits}  # fmt: skip
        much = max(parts, key=lambda name: parts[name])
        less = ["fewer kinds"]
        if asked:
            less.insert(0, "fewer questions")
        if much == "weights":
            less.insert(0, "probe shared, or a lower rank")
        said = (
            f"fitting {self.kinds} kinds to {self.labels:,} labels takes up to about "
            f"{self.total / 1e9:,.0f} GB of memory beside the model, {parts[much] / 1e9:,.0f} of "
            f"them for {much}; less with {', '.join(less)}"
        )
        if self.total > there:
            raise RnnlensError(f"{said}; this {_called(device)} has {there / 1e9:,.0f} GB")
        return said if self.total >= _MUCH else ""


def _memory(device: torch.device) -> int:
    """How many bytes a device has."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _called(device: torch.device) -> str:
    return "GPU" if device.type == "cuda" else "machine"
