"""Which states a probe has seen the like of.

A probe answers whatever it is given. How far it can be believed ends where states are no longer
like those it was fitted on: one that was set to zero lies in their middle, where none of them is,
and one that was doubled far beyond. So a state's size, the root mean square of its standardised
units, is compared with the sizes of held-out states. docs/results.md has what was tried beside it.
"""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from rnnlens.probe.dataset import CHUNK, Dataset
from rnnlens.probe.probes import Probes, Stack
from rnnlens.probe.probes_file import Bounds

BEYOND = 0.0005  # of held-out states, at either end
_MOST = 2**20  # states of a kind whose sizes are held
_FEW_DEVIATIONS = 4  # of logarithms, where states are too few to tell so small a share
_MARGIN = 0.05  # of a size: who is a little beyond the last of a thousand is no stranger
_TINY = 1e-9


class Sizes:
    """The sizes of states of several kinds, gathered chunk by chunk."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = tuple(kinds)
        self._found: list[list[Tensor]] = [[] for _ in self.kinds]
        self._count = 0

    def add(self, stack: Stack, states: Mapping[str, Tensor]) -> None:
        """Take in the states (N, H) of every kind."""
        left = _MOST - self._count
        if left <= 0:
            return
        for k, kind in enumerate(self.kinds):
            self._found[k].append(stack.sizes(k, states[kind][:left]).cpu())
        self._count += len(states[self.kinds[0]])

    def limits(self) -> dict[str, Bounds]:
        """Of each kind the least and the largest size that a state may have."""
        found = [torch.cat(some) for some in self._found]
        return {kind: limit_of(sizes) for kind, sizes in zip(self.kinds, found, strict=True)}


def limit_of(sizes: Tensor) -> Bounds:
    """The least and the largest size: between those that leave out one state in a thousand, and a
    margin. Where there are too few states to tell, as if the logarithms of sizes were normal.
    """
    ordered = sizes.double().sort().values
    beyond = int(BEYOND * len(ordered))
    low, high = float(ordered[beyond]), float(ordered[-1 - beyond])
    if beyond < 1:
        logs = ordered.clamp_min(_TINY).log()
        middle, width = float(logs.mean()), _FEW_DEVIATIONS * float(logs.std(correction=0))
        low, high = min(low, math.exp(middle - width)), max(high, math.exp(middle + width))
    return _digits(low * (1 - _MARGIN)), _digits(high * (1 + _MARGIN) + _TINY)


def _digits(size: float) -> float:
    return float(f"{size:.5g}")


def measured(probes: Probes, dataset: Dataset) -> dict[str, dict[str, Bounds]]:
    """The limits of probes that are fitted already, by a pass over the validation data."""
    return {semantic: _of(stack, semantic, dataset) for semantic, stack in probes.stacks.items()}


@torch.no_grad()
def _of(stack: Stack, semantic: str, dataset: Dataset) -> dict[str, Bounds]:
    sizes = Sizes(stack.kinds)
    for chunk in dataset.stream("valid", semantic, CHUNK, stack.kinds).chunks():
        sizes.add(stack, chunk.states)
    return sizes.limits()
