"""States straight from the model: traced chunk by chunk, never written to disk."""

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

_SIDE_BY_SIDE = 1024  # sentences traced together


@dataclass(frozen=True)
class Chunk:
    """The states of some sentences that have a label."""

    states: dict[str, Tensor]  # kind -> (N, H)
    labels: Tensor  # (N,)


@dataclass(frozen=True)
class Stream:
    """All states of a split with their labels under one semantic."""

    network: Network
    split: Split
    shift: int
    device: torch.device
    size: int  # states a chunk, about

    def chunks(self, seed: tuple[int, ...] | None = None) -> Iterator[Chunk]:
        """Every state once: sentences in random order, or in their own without a seed."""
        for chosen in self.plan(seed):
            yield self.chunk(chosen)

    def plan(self, seed: tuple[int, ...] | None) -> list[NDArray[np.int64]]:
        """Which sentences make up each chunk."""
        order = np.arange(len(self.split))
        if seed is not None:
            order = np.random.default_rng(seed).permutation(order)
        filled = np.cumsum(self.split.lengths[order] - 1) // self.size
        return np.split(order, np.flatnonzero(np.diff(filled)) + 1)

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
            states, _ = self.network.states(inputs)
            parts.append({kind: v.flatten(0, 1)[keep] for kind, v in states.items()})
        merged = {kind: torch.cat([part[kind] for part in parts]) for kind in parts[0]}
        finite = torch.stack([torch.isfinite(v).all() for v in merged.values()])
        if not finite.all():  # asked once: each answer makes the CPU wait for the GPU
            kind = list(merged)[int(finite.int().argmin())]
            raise RnnlensError(
                f"the model gives states of kind {kind} that are not numbers; train it anew"
            )
        return Chunk(merged, torch.cat(found))
