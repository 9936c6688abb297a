"""The readout: the kind that a module's prediction is a linear map of."""

from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter import modules
from rnnlens.adapter.adapter import Adapter, Trace
from rnnlens.adapter.linear import fitting, maps
from rnnlens.adapter.untouched import untouched
from rnnlens.model.kinds import Kind


def readout(adapter: Adapter, batch: Any) -> tuple[str, Tensor, Tensor] | None:
    """The kind, weight (V, H) and bias (V,) whose product is the module's logits; else None.

    Found by trying the module's own matrices on its own states: a Linear, weights tied to the
    embedding, or two in a row. A module that returns log-probabilities counts too, as they are a
    softmax's logits. Of a classifier of whole sequences, it is the last state's readout.
    """
    traced = adapter.trace(batch)
    logits = traced.logits
    if logits is None or logits.shape[-1] < 2:
        return None
    with untouched(adapter.module, modules.devices(adapter.module)):
        for candidates in maps(adapter.module, logits.shape[-1]):
            for kind in reversed(adapter.kinds):
                rows = _rows(kind, traced, logits)
                found = None if rows is None else fitting(*rows, candidates)
                if found is not None:
                    return kind.id, *found.folded()
    return None


def _rows(kind: Kind, traced: Trace, logits: Tensor) -> tuple[Tensor, Tensor] | None:
    """States (N, H) and the logits (N, V) beside them, without what follows a sequence's end."""
    states, lengths = traced.states[kind.id], traced.lengths
    steps, batch = states.shape[:2]
    if lengths is None or len(lengths) != batch:
        lengths = states.new_full((batch,), steps, dtype=torch.long)
    if logits.shape[:2] == (1, batch) and steps > 1:
        last = torch.zeros_like(lengths) if kind.reverse else lengths - 1
        return states[last, torch.arange(batch, device=states.device)], logits[0]
    if logits.shape[:2] != states.shape[:2]:
        return None
    valid = torch.arange(steps, device=lengths.device)[:, None] < lengths
    return states[valid], logits[valid]
