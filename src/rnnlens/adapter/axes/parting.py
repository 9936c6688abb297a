"""Some sequences of a batch as a batch of their own."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter.axes.axes import Axes
from rnnlens.adapter.axes.layout import within
from rnnlens.adapter.axes.targets import Batch
from rnnlens.errors import RnnlensError
from rnnlens.model.traceable import Trace


def some_sequences(batch: Batch, chosen: Tensor, axes: Axes, trace: Trace) -> Batch:
    """The chosen sequences (N,) of a batch that was read as this trace."""
    inputs, targets = batch
    steps, sequences, _ = trace.states[axes.kinds[-1]].shape
    if targets.dim() == 1 and not axes.whole:
        rows = (sequences, steps) if axes.targets_first else (steps, sequences)
        rest = _some(targets.view(rows), chosen, sequences, axes.targets_first).reshape(-1)
    else:
        rest = _some(targets, chosen, sequences, axes.targets_first)
    return _some(inputs, chosen, sequences, axes.words_first), rest


def _some(value: Any, chosen: Tensor, sequences: int, first: bool | None) -> Any:
    """Every tensor along its axis of sequences; `first` where two are as long."""
    if isinstance(value, Tensor):
        axes = [axis for axis in (0, 1) if axis < value.dim() and value.shape[axis] == sequences]
        if len(axes) == 2 and first is None:
            raise RnnlensError("which axis holds the sequences of a batch cannot be told")
        axis = (0 if first else 1) if len(axes) == 2 else next(iter(axes), None)
        return value if axis is None else value.index_select(axis, chosen.to(value.device))
    if isinstance(value, Mapping):
        return {key: _some(inner, chosen, sequences, first) for key, inner in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_some(inner, chosen, sequences, first) for inner in value)
    return value


def is_part(whole: Trace, part: Trace, chosen: Tensor, kinds: tuple[str, ...]) -> bool:
    """Whether sequences are read alone as they were among the others."""
    for kind in kinds:
        found = part.states[kind]
        wanted = whole.states[kind].index_select(1, chosen.to(found.device))[: len(found)]
        if found.shape != wanted.shape:
            return False
        if part.lengths is not None:
            there = within(len(found), part.lengths.to(found.device))
            found, wanted = found[there], wanted[there]
        if not torch.allclose(found, wanted, rtol=1e-3, atol=1e-4):
            return False
    return True
