"""What intervals of numbers are widened by, so that they hold as much as they say.

A state knows less of a number after one step than after twenty, and its probe, or the one deviation
that a model's own numbers have, does not know which step it is. So held-out numbers tell, for a few
groups of steps, what an interval has to be widened by to hold its share of them.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from rnnlens.labels.sets import SURE, Scale, step_group
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.dataset import CHUNK, Dataset
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import OUTPUT, of_model

FEW = 100  # held-out numbers: of fewer nothing is told
_MOST = 2**20  # that are looked at
_DIGITS = 4


def widths_of(probes: Probes, dataset: Dataset) -> dict[str, dict[str, tuple[float, ...]]]:
    """By semantic and kind, the model's own prediction among them, what intervals are widened by
    at each group of steps; semantics that ask for no numbers, or have too few, are left out.
    """
    probes = probes.to(dataset.device)
    found = {}
    for semantic in probes.semantics:
        scale = dataset.answers_to(semantic).scale
        if scale is None:
            continue
        widths = _measured(probes, dataset, semantic, probes.kinds, scale)
        if of_model(semantic) and dataset.model.predicts:  # whatever is asked, of the next number
            widths |= _measured(probes, dataset, OUTPUT, (PREDICTION,), scale)
        if all(widths.values()):
            found[semantic] = widths
    return found


@torch.no_grad()
def _measured(
    probes: Probes, dataset: Dataset, semantic: str, kinds: Sequence[str], scale: Scale
) -> dict[str, tuple[float, ...]]:
    """The factors of some kinds, by a pass over the validation data."""
    beyond: dict[str, list[Tensor]] = {kind: [] for kind in kinds}
    steps: list[Tensor] = []
    for chunk in dataset.stream("valid", semantic, CHUNK, kinds).chunks():
        if chunk.values is None or chunk.steps is None or sum(map(len, steps)) >= _MOST:
            break
        steps.append(chunk.steps.cpu())
        for kind in kinds:
            if kind == PREDICTION:
                own = chunk.states[kind]
                logits, number = dataset.model.predict(own), own[:, 0]
            else:
                logits, number = probes.logits(kind, chunk.states[kind], semantic), None
            spread = scale.spread(logits.softmax(-1), number)
            beyond[kind].append(scale.beyond(spread, chunk.values.double()).cpu())
    if not steps:
        return dict.fromkeys(kinds, ())
    groups = step_group(torch.cat(steps))
    return {kind: widths_by_group(torch.cat(some), groups) for kind, some in beyond.items()}


def widths_by_group(beyond: Tensor, groups: Tensor) -> tuple[float, ...]:
    """The factor of each group, given what every interval (N,) would have to be widened by; a group
    with too few takes those that follow with it, and the last holds for all later ones.
    """
    found: list[float] = []
    waiting, first = 0, 0
    for group in range(int(groups.max()) + 1):
        some = beyond[(groups >= first) & (groups <= group)]
        waiting += 1
        if len(some) >= FEW:
            found += [_quantile(some)] * waiting
            waiting, first = 0, group + 1
    return tuple(found)


def _quantile(beyond: Tensor) -> float:
    """The factor by which a further interval, exchangeable with these, holds its share."""
    place = min(math.ceil((len(beyond) + 1) * SURE), len(beyond))
    return float(f"{float(beyond.sort().values[place - 1]):.{_DIGITS}g}")
