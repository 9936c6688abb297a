"""Is a module's prediction a linear map of its states? Its own matrices are tried on them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-4}
_SCREENED = 16  # rows that a candidate must fit before it is tried on all


@dataclass(frozen=True)
class Map:
    """W h + b, perhaps after another such map."""

    weight: Tensor  # (V, H)
    bias: Tensor | None = None  # (V,)
    first: "Map | None" = None

    def __call__(self, states: Tensor) -> Tensor:
        """Logits (..., V) of states (..., H)."""
        return F.linear(self.first(states) if self.first else states, self.weight, self.bias)

    @property
    def width(self) -> int:
        """H, the width of the states that it takes."""
        return self.first.width if self.first else self.weight.shape[1]

    def folded(self) -> tuple[Tensor, Tensor]:
        """The whole as one weight (V, H) and bias (V,), copied."""
        weight = self.weight @ self.first.weight if self.first else self.weight.clone()
        return weight, self(self.weight.new_zeros(self.width))


def maps(module: nn.Module, labels: int) -> tuple[list[Map], list[Map]]:
    """The maps to V labels among a module's weights, and those through a projection before them."""
    linears = [Map(m.weight, m.bias) for m in module.modules() if isinstance(m, nn.Linear)]
    plain: list[Tensor] = [p for p in module.parameters() if p.dim() == 2]
    plain += [m.weight for m in module.modules() if isinstance(m, nn.Embedding)]
    biases: list[Tensor | None] = [None]
    biases += [p for p in module.parameters() if p.shape == (labels,)]
    singles = [m for m in linears if len(m.weight) == labels]
    singles += [Map(w, b) for w, b in product(_distinct(plain), biases) if len(w) == labels]
    chains = [
        replace(last, first=first)
        for last, first in product(singles, linears)
        if last.weight.shape[1] == len(first.weight)
    ]
    return singles, chains


def _distinct(weights: list[Tensor]) -> list[Tensor]:
    return list({id(weight): weight for weight in weights}.values())


def fitting(states: Tensor, logits: Tensor, candidates: Iterable[Map]) -> Map | None:
    """The candidate that gives the logits (N, V) from the states (N, H), all of them."""
    some = slice(None, None, max(1, len(states) // _SCREENED))
    for candidate in candidates:
        if candidate.width != states.shape[1] or candidate.weight.dtype != states.dtype:
            continue
        if _fits(candidate, states[some], logits[some]) and _fits(candidate, states, logits):
            return candidate
    return None


def _fits(candidate: Map, states: Tensor, logits: Tensor) -> bool:
    """Equal but for rounding; log-probabilities need only be those of the map's softmax."""
    made = candidate(states).to(logits.dtype)
    allowed = _TOLERANCE.get(states.dtype, 2e-2) * max(1.0, float(logits.abs().max()))
    if float((made - logits).abs().max()) <= allowed:
        return True
    return bool(float((made.log_softmax(-1) - logits).abs().max()) <= allowed)


def explained(
    module: nn.Module, states: list[Tensor], logits: Tensor, valid: Tensor | None
) -> bool:
    """Whether the logits (T, B, V) are a linear map of any of the states (T, B, H)."""
    wanted = logits.flatten(0, 1) if valid is None else logits[valid]
    rows = [values.flatten(0, 1) if valid is None else values[valid] for values in states]
    both = maps(module, logits.shape[-1])
    return any(fitting(row, wanted, candidates) for candidates in both for row in rows)
