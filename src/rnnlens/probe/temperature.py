"""A temperature for each kind: what its logits are best divided by, found on validation data.

What is drawn is not divided by it. It says how much too sure a probe is, and what would be left of
that: the calibration error and the perplexity on test states with it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats
from rnnlens.model.train.perplexity import perplexity
from rnnlens.probe.dataset import Chunk, Dataset
from rnnlens.probe.probes import Probes
from rnnlens.probe.tally import Tally, Units

STATES = 2**12  # that it is found on, and as many that it is tried on
_TRIED = np.exp(np.linspace(np.log(0.5), np.log(4.0), 13))


@dataclass(frozen=True)
class Temperature:
    """What a kind's logits are best divided by."""

    value: float  #: Above 1: the probe is too sure.
    perplexity: float  #: On test states, with it.
    calibration: float  #: The calibration error there, with it.
    states: int  #: That it was found on.


@torch.no_grad()
def temperatures(
    probes: Probes, dataset: Dataset, semantic: str, advance: Callable[[int], object] = int
) -> dict[str, Temperature]:
    """The temperature of every kind under a semantic; `advance` is told the states of chunks."""
    if "valid" not in dataset.splits:
        raise RnnlensError(
            'a temperature is found on validation data; give it too: {"valid": ..., "test": ...}'
        )
    answers = dataset.answers_to(semantic)
    losses = {kind: np.zeros(len(_TRIED)) for kind in probes.kinds}
    seen = 0
    for chunk in _some(dataset, "valid", semantic):
        for kind in probes.kinds:
            logits = probes.logits(kind, chunk.states[kind], semantic)
            for k, value in enumerate(_TRIED):
                rows = answers.questions(logits / value, chunk.labels)
                losses[kind][k] += float(F.cross_entropy(*rows, reduction="sum"))
        seen += len(chunk.labels)
        advance(len(chunk.labels))
    best = {kind: lowest(np.log(_TRIED), found) for kind, found in losses.items()}
    tallies = {kind: Tally(answers, dataset.device) for kind in probes.kinds}
    units = Units()
    for chunk in _some(dataset, "test", semantic):
        at = units.of(chunk)
        for kind, tally in tallies.items():
            logits = probes.logits(kind, chunk.states[kind], semantic)
            tally.add(logits / float(np.exp(best[kind])), chunk, at)
        advance(len(chunk.labels))
    found = {}
    for kind, tally in tallies.items():
        pairs, loss = tally.sums(units.count).sum(0)[:2]
        worth = perplexity(float(loss), int(pairs))
        found[kind] = Temperature(float(np.exp(best[kind])), worth, tally.calibration(), seen)
    return found


def _some(dataset: Dataset, split: str, semantic: str) -> Iterator[Chunk]:
    """Chunks until there are enough states."""
    count = 0
    stream = dataset.stream(split, semantic)
    for chunk in stream.chunks((0, 9)) if stream.pairs else ():
        if len(chunk.labels):
            yield chunk
        count += len(chunk.labels)
        if count >= STATES:
            return
    if not count:
        raise RnnlensError(f"no {split} sentence is long enough for the semantic {semantic!r}")


def lowest(places: Floats, values: Floats) -> float:
    """Where a curve through points is lowest: by a parabola through the lowest and its neighbours,
    or at the end.
    """
    k = int(values.argmin())
    if k in (0, len(values) - 1):
        return float(places[k])
    a, b, _ = np.polyfit(places[k - 1 : k + 2], values[k - 1 : k + 2], 2)
    return float(-b / (2 * a)) if a > 0 else float(places[k])
