"""Some sequences of a batch taken as another batch."""

import torch
from torch import Tensor

from rnnlens.adapter.axes.axes import Axes
from rnnlens.adapter.axes.layout import with_tensors, within
from rnnlens.adapter.axes.targets import Batch
from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import Trace


def some_sequences(batch: Batch, chosen: Tensor, axes: Axes, trace: Trace) -> Batch:
    """The chosen sequences (N,) of a batch that was read as this trace."""
    steps, sequences, _ = trace.states[axes.kinds[-1]].shape

    def some(targets: Tensor) -> Tensor:
        if targets.dim() == 1 and not axes.whole:
            rows = (sequences, steps) if axes.targets_first else (steps, sequences)
            return _some(targets.view(rows), chosen, sequences, axes.targets_first).reshape(-1)
        return _some(targets, chosen, sequences, axes.targets_first)

    others = {name: some(targets) for name, targets in batch.others.items()}
    # Targets that are another semantic's stay the very same: so the module is known to have none.
    same = [others[name] for name, targets in batch.others.items() if targets is batch.targets]
    return Batch(
        with_tensors(batch.inputs, lambda t: _some(t, chosen, sequences, axes.words_first)),
        same[0] if same else some(batch.targets),
        others,
        batch.tables,
    )


def _some(values: Tensor, chosen: Tensor, sequences: int, first: bool | None) -> Tensor:
    """The chosen sequences of one tensor.

    `first` says whether the first axis holds sequences, where two axes are as long; a tensor
    without such an axis stays as it is.
    """
    axes = [axis for axis in (0, 1) if axis < values.dim() and values.shape[axis] == sequences]
    if not axes:
        return values
    if len(axes) == 2 and first is None:
        raise RnnlensError(
            f"both axes of a tensor of shape {tuple(values.shape)} may hold the sequences of a "
            "batch; give batch_first=True or False"
        )
    axis = (0 if first else 1) if len(axes) == 2 else axes[0]
    return values.index_select(axis, chosen.to(values.device))


def is_part(whole: Trace, part: Trace, chosen: Tensor, kinds: tuple[str, ...]) -> bool:
    """Whether the chosen sequences have the same states alone as among the others."""
    for kind in kinds:
        alone = part.states[kind]
        among = whole.states[kind].index_select(1, chosen.to(alone.device))[: len(alone)]
        if alone.shape != among.shape:
            return False
        if part.lengths is not None:
            there = within(len(alone), part.lengths.to(alone.device))
            alone, among = alone[there], among[there]
        if not torch.allclose(alone, among, rtol=1e-3, atol=1e-4):
            return False
    return True
