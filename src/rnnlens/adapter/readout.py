"""The readout: the kind that a module's prediction is a linear map of, if it is one.

The module's matrices are tried on its states: a Linear, weights tied to the embedding, or two of
these in a row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.adapter.axes.layout import within
from rnnlens.model.kinds import Kind
from rnnlens.model.traceable import Readout, Trace

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
    distinct = {id(weight): weight for weight in plain}.values()
    biases: list[Tensor | None] = [None]
    biases += [p for p in module.parameters() if p.shape == (labels,)]
    singles = [m for m in linears if len(m.weight) == labels]
    singles += [Map(w, b) for w, b in product(distinct, biases) if len(w) == labels]
    chains = [
        replace(last, first=first)
        for last, first in product(singles, linears)
        if last.weight.shape[1] == len(first.weight)
    ]
    return singles, chains


def fitting(states: Tensor, logits: Tensor, candidates: Iterable[Map]) -> Map | None:
    """The candidate that maps all states (N, H) to the logits (N, V)."""
    some = slice(None, None, max(1, len(states) // _SCREENED))
    for candidate in candidates:
        if candidate.width != states.shape[1] or candidate.weight.dtype != states.dtype:
            continue
        if _fits(candidate, states[some], logits[some]) and _fits(candidate, states, logits):
            return candidate
    return None


def _fits(candidate: Map, states: Tensor, logits: Tensor) -> bool:
    """Equal but for rounding; log-probabilities need only be those of the map's softmax."""
    outputs = candidate(states).to(logits.dtype)
    allowed = _TOLERANCE.get(states.dtype, 2e-2) * max(1.0, float(logits.abs().max()))
    if float((outputs - logits).abs().max()) <= allowed:
        return True
    return bool(float((outputs.log_softmax(-1) - logits).abs().max()) <= allowed)


def explained(module: nn.Module, states: list[Tensor], logits: Tensor) -> bool:
    """Whether the logits (N, V) are a linear map of any of the states (N, H)."""
    both = maps(module, logits.shape[-1])
    return any(fitting(rows, logits, candidates) for candidates in both for rows in states)


def readout(module: nn.Module, kinds: Sequence[Kind], trace: Trace) -> Readout | None:
    """The kind and the map whose product is the module's logits in this trace; else None.

    Log-probabilities count too, as they are logits of the same softmax. In a classifier of whole
    sequences, the map is from the last state of each.
    """
    logits = trace.logits
    if logits is None:
        return None
    for candidates in maps(module, logits.shape[-1]):
        for kind in reversed(kinds):
            rows = _rows(kind, trace, logits)
            match = None if rows is None else fitting(*rows, candidates)
            if match is not None:
                weight, bias = match.folded()
                return Readout(kind.id, weight.float(), bias.float())
    return None


def _rows(kind: Kind, trace: Trace, logits: Tensor) -> tuple[Tensor, Tensor] | None:
    """States (N, H) and the logits (N, V) beside them, without what follows a sequence's end."""
    states, lengths = trace.states[kind.id], trace.lengths
    steps, batch = states.shape[:2]
    if lengths is None or len(lengths) != batch:
        lengths = states.new_full((batch,), steps, dtype=torch.long)
    if logits.shape[:2] == (1, batch) and steps > 1:
        last = torch.zeros_like(lengths) if kind.reverse else lengths - 1
        return states[last, torch.arange(batch, device=states.device)], logits[0]
    if logits.shape[:2] != states.shape[:2]:
        return None
    valid = within(steps, lengths)
    return states[valid], logits[valid]
