"""What all kinds of some timesteps say: their logits, piece by piece."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from rnnlens.model.cells import States
from rnnlens.model.traceable import product
from rnnlens.probe.probes import Probes
from rnnlens.probe.stream import OWN
from rnnlens.view.models import Model

_PIECE = 40  # states at once: their distributions stay in the processor's cache


@dataclass(frozen=True)
class Piece:
    """Some states whose logits are still to be computed."""

    count: int
    logits: Callable[[], Tensor]  # (count, V)


@dataclass(frozen=True)
class Reader:
    """The model's own readout and, where there are probes, theirs under one semantic."""

    model: Model
    probes: Probes | None
    semantic: str
    kinds: tuple[str, ...]  # that are read
    maps: Tensor  # (K, H, r + K) of shared probes, so that all kinds take one product
    offsets: Tensor  # (K, 1, r + K); of the last K coordinates a kind's own is 1
    labels: Tensor  # (V, r + K); the last K columns are the kinds' biases

    @classmethod
    def of(cls, model: Model, probes: Probes | None, semantic: str) -> "Reader":
        """Lay the maps of shared probes side by side."""
        kinds = probes.kinds if probes else ()
        if probes is None or probes.family != "shared":
            empty = torch.empty(0)
            return cls(model, probes, semantic, kinds, empty, empty, empty)
        tensors = probes.tensors
        weights = [tensors[f"{semantic}/{kind}/weight"] for kind in kinds]  # (r, H) each
        rank, widest = len(weights[0]), max(weight.shape[1] for weight in weights)
        maps = torch.zeros(len(kinds), widest, rank + len(kinds), dtype=torch.float32)
        for k, weight in enumerate(weights):
            maps[k, : weight.shape[1], :rank] = weight.T
        offsets = torch.stack([tensors[f"{semantic}/{kind}/bias"] for kind in kinds])
        offsets = torch.cat([offsets, torch.eye(len(kinds), dtype=torch.float32)], 1)[:, None]
        biases = torch.stack([tensors[f"{semantic}/{kind}/label_bias"] for kind in kinds], 1)
        labels = torch.cat([tensors[f"{semantic}/labels"], biases], 1)
        return cls(model, probes, semantic, kinds, maps, offsets, labels)

    def pieces(self, states: States) -> list[Piece]:
        """Of states (N, H) by kind: pieces whose logits follow the order of `kinds`, then `y`."""
        made: list[Piece] = []
        if self.probes and self.probes.family == "shared":
            made += [_product(z, self.labels) for z in self._narrow(states).split(_PIECE)]
        elif self.probes:
            for kind in self.kinds:
                weight = self.probes.tensors[f"{self.semantic}/{kind}/weight"]
                bias = self.probes.tensors[f"{self.semantic}/{kind}/bias"]
                made += [_product(part, weight, bias) for part in states[kind].split(_PIECE)]
        return made + [
            Piece(len(part), partial(self.model.own, part)) for part in states[OWN].split(_PIECE)
        ]

    def _narrow(self, states: States) -> Tensor:
        """All kinds' states through their maps at once, (N of all kinds, r + K)."""
        counts = [len(states[kind]) for kind in self.kinds]
        x = torch.zeros(len(self.kinds), max(counts), self.maps.shape[1], dtype=torch.float32)
        for k, kind in enumerate(self.kinds):
            x[k, : counts[k], : states[kind].shape[1]] = states[kind]
        z = torch.baddbmm(self.offsets, x, self.maps)
        return torch.cat([z[k, :count] for k, count in enumerate(counts)])


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Piece:
    return Piece(len(x), lambda: product(x, weight, bias))
