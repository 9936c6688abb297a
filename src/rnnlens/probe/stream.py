"""States straight from the model: traced chunk by chunk, never written to disk."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.corpus.batches import Split
from rnnlens.errors import RnnlensError
from rnnlens.model.network import Network
from rnnlens.probe import semantics

OWN = "y"  # the model's own prediction, among states
_SIDE_BY_SIDE = 1024  # sentences traced together


@dataclass(frozen=True)
class Chunk:
    """The states of some sentences that have a label."""

    states: dict[str, Tensor]  # kind -> (N, H)
    labels: Tensor  # (N,)


def chunk_size(device: torch.device) -> int:
    """How many states of every kind are held at once."""
    return 65536 if device.type == "cuda" else 4096


class Source(ABC):
    """States with the labels they are asked about, in pieces that can be had in any order."""

    kinds: tuple[str, ...]
    labels: int  # how many there are
    size: int  # states a chunk, about

    @property
    @abstractmethod
    def counts(self) -> NDArray[np.int64]:
        """States of each piece, about."""

    @property
    @abstractmethod
    def pairs(self) -> int:
        """States that have a label."""

    @abstractmethod
    def frequencies(self) -> NDArray[np.int64]:
        """How often each label occurs, (V,)."""

    def own(self, chunk: Chunk) -> Tensor | None:  # noqa: ARG002 - not every source can tell
        """The model's own logits (N, V) beside a chunk, where it predicts these very labels."""
        return None

    @abstractmethod
    def chunk(self, chosen: NDArray[np.int64]) -> Chunk:
        """The states of some pieces."""

    def chunks(self, seed: tuple[int, ...] | None = None) -> Iterator[Chunk]:
        """Every state once: pieces in random order, or in their own without a seed."""
        for chosen in self.plan(seed):
            yield self.chunk(chosen)

    def plan(self, seed: tuple[int, ...] | None) -> list[NDArray[np.int64]]:
        """Which pieces make up each chunk."""
        counts = self.counts
        order = np.arange(len(counts))
        if seed is not None:
            order = np.random.default_rng(seed).permutation(order)
        filled = np.cumsum(counts[order]) // self.size
        return np.split(order, np.flatnonzero(np.diff(filled)) + 1)


class Stream(Source):
    """All states of our network on a split; the pieces are sentences."""

    def __init__(
        self, network: Network, split: Split, shift: int, device: torch.device, size: int
    ) -> None:
        self.network, self.split, self.shift = network, split, shift
        self.device, self.size = device, size
        self.kinds, self.labels = tuple(kind.id for kind in network.kinds), network.label_count

    @property
    def counts(self) -> NDArray[np.int64]:
        return self.split.lengths - 1

    @property
    def pairs(self) -> int:
        return semantics.count(self.split, self.shift)

    def frequencies(self) -> NDArray[np.int64]:
        return np.bincount(self.split.ids, minlength=self.labels)

    def own(self, chunk: Chunk) -> Tensor | None:
        return self.network.predict(chunk.states[self.kinds[-1]]) if self.shift == 1 else None

    @torch.no_grad()
    def chunk(self, chosen: NDArray[np.int64]) -> Chunk:
        """Trace sentences, those of similar length side by side."""
        chosen = chosen[np.argsort(self.split.lengths[chosen], kind="stable")]
        parts: list[dict[str, Tensor]] = []
        found: list[Tensor] = []
        for k in range(0, len(chosen), _SIDE_BY_SIDE):
            group = chosen[k : k + _SIDE_BY_SIDE]
            inputs = self.split.batch(group).inputs.to(self.device)
            wanted = semantics.labels(self.split, group, self.shift).reshape(-1)
            keep = torch.from_numpy(np.flatnonzero(wanted >= 0)).to(self.device)
            found.append(torch.from_numpy(wanted[wanted >= 0]).to(self.device))
            states = self.network.trace(inputs).states
            parts.append({kind: v.flatten(0, 1)[keep] for kind, v in states.items()})
        return joined(parts, found)


def joined(parts: list[dict[str, Tensor]], labels: list[Tensor]) -> Chunk:
    """One chunk of several parts; refused where a state is no number."""
    merged = {kind: torch.cat([part[kind] for part in parts]) for kind in parts[0]}
    finite = torch.stack([torch.isfinite(v).all() for v in merged.values()])
    if not finite.all():  # asked once: each answer makes the CPU wait for the GPU
        kind = list(merged)[int(finite.int().argmin())]
        raise RnnlensError(
            f"the model gives states of kind {kind} that are not numbers; train it anew"
        )
    return Chunk(merged, torch.cat(labels))
