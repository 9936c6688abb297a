"""Reading both ways: every sequence of a batch turned round, whatever its length."""

from collections.abc import Sequence

import torch
from torch import Tensor

from rnnlens.model.cell import Change


def side_by_side(outputs: Sequence[Tensor]) -> Tensor:
    """The outputs (T, B, H) of all directions as what the next layer reads."""
    return outputs[0] if len(outputs) == 1 else torch.cat(list(outputs), -1)


def lengths_of(targets: Tensor) -> Tensor:
    """How many steps of each sequence (T, B) there are up to its last target, (B,)."""
    steps = torch.arange(1, len(targets) + 1, device=targets.device)[:, None]
    return (steps * (targets >= 0)).amax(0)


def turned(values: Tensor, lengths: Tensor | None) -> Tensor:
    """(T, B, H) with every sequence turned round; what follows its end stays where it is."""
    if lengths is None:
        return values.flip(0)
    steps = torch.arange(len(values), device=values.device)[:, None]  # (T, 1)
    places = torch.where(steps < lengths, lengths - 1 - steps, steps)  # (T, B)
    return values.gather(0, places[..., None].expand_as(values))


def at_end(values: Tensor, lengths: Tensor | None) -> Tensor:
    """(T, B, H) -> (B, H) at each sequence's last word."""
    if lengths is None:
        return values[-1]
    return values[lengths - 1, torch.arange(values.shape[1], device=values.device)]


def turned_edits(edits: dict[int, Change], steps: int, lengths: Tensor | None) -> dict[int, Change]:
    """Changes by timestep as a layer meets them that reads `steps` timesteps backwards.

    Where lengths differ, each sequence meets a timestep at another moment, and is changed then.
    """
    if lengths is None:
        return {steps - 1 - step: change for step, change in edits.items()}
    moments: dict[int, list[tuple[Tensor, Change]]] = {}
    for step, change in edits.items():
        for length in lengths[lengths > step].unique().tolist():
            here = (lengths == length)[:, None]  # (B, 1)
            moments.setdefault(length - 1 - step, []).append((here, change))
    return {moment: _where(changes) for moment, changes in moments.items()}


def _where(changes: list[tuple[Tensor, Change]]) -> Change:
    """One change of a whole batch, of several that each are for some of its sequences."""

    def change(letter: str, value: Tensor) -> Tensor:
        for here, by in changes:
            value = torch.where(here, by(letter, value), value)
        return value

    return change
