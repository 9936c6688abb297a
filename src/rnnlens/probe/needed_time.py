"""What a fit takes of time, told before it begins: by a sample that is timed on the device."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.base.progress import duration
from rnnlens.labels.sets import LabelSet
from rnnlens.probe.dataset import Chunk
from rnnlens.probe.families import Family
from rnnlens.probe.kernels import adamw_
from rnnlens.probe.moments import Moments, Spread

MANY = 2e9  # logits of a fit that are worth a sample, which takes a second or more
_LONG = 30.0  # seconds; nothing is said about less
_TRIED = 3  # kinds whose products are timed
_WEIGHTS = 2**22  # of an update that is timed


@dataclass(frozen=True)
class Work:
    """How much there is to do."""

    chunks: int  # of the first pass, and of an epoch where all states are taken
    kept: int  # chunks that are traced once, and not in every epoch
    states: int  # of each kind in an epoch
    validation: int  # states of each kind that are measured before the first epoch and after each
    epochs: int
    steps: int  # of all epochs
    processes: int


@dataclass(frozen=True)
class Estimate:
    """Seconds that a fit takes, by a sample."""

    before: float  # the first pass and the closed form
    epochs: float

    def said(self, machine: str, shorter: tuple[str, float]) -> str:
        """A line that says it; empty where it is little."""
        total = self.before + self.epochs
        if total < _LONG:
            return ""
        what, share = shorter
        return (
            f"about {duration(total)} on this {machine}, estimated from one chunk of states and "
            f"one block of products: {duration(self.before)} before the first epoch; {what} makes "
            f"it about {duration(self.before + self.epochs * share)}"
        )


def _seconds(work: Callable[[], Any], device: torch.device) -> float:
    """How long some work takes, the second time: the first may compile and allocate."""
    for _ in range(2):
        _wait(device)
        start = time.perf_counter()
        work()
        _wait(device)
        taken = time.perf_counter() - start
    return taken


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@torch.no_grad()
def estimate(
    family: Family,
    chunk: Chunk,
    measure: Callable[[], Moments],
    read: float,
    at_once: int,
    work: Work,
) -> Estimate:
    """By probes of the size of the fit's and a chunk that took `read` seconds to trace."""
    device, moments = family.device, measure()
    measured, kinds = _seconds(measure, device), range(len(family.kinds))
    tried = sorted({round(k * (len(kinds) - 1) / (_TRIED - 1)) for k in range(_TRIED)})
    rows = min(at_once, len(chunk.labels))
    labels = chunk.labels[:rows]
    learn = nll = 0.0
    for k in tried:
        x = family.stack.prepare(k, chunk.states[family.kinds[k]][:rows])
        learn += _seconds(lambda k=k, x=x: family.learn(k, x, labels, 0.0), device)  # type: ignore[misc]
        nll += _seconds(lambda k=k, x=x: family.nll(k, x, labels), device)  # type: ignore[misc]
    each = len(kinds) / len(tried) / rows  # of a state of all kinds
    traced = read * (work.chunks + work.epochs * max(0, work.chunks - work.kept))
    before = measured * work.chunks + _closed_form(moments, family)
    epochs = (
        (learn * each * work.states * work.epochs + _update(family) * work.steps) / work.processes
        + nll * each * work.validation * (work.epochs + 1)
    )  # fmt: skip
    first = read * work.chunks
    return Estimate(before + first, epochs + traced - first)


def _closed_form(moments: Moments, family: Family) -> float:
    """Seconds of what goes with the third power of widths: twice the spread of every kind."""
    widths = {kind: len(moments.mean(kind)) for kind in family.kinds}
    kind = min(widths, key=lambda one: abs(widths[one] - 512))
    taken = _seconds(lambda: Spread.of(moments.covariance(kind)), family.device)
    return 2 * taken * sum((width / widths[kind]) ** 3 for width in widths.values())


def _update(family: Family) -> float:
    """Seconds of an update of all weights."""
    total = sum(weight.numel() for weight in family.weights.values())
    size = min(total, _WEIGHTS)
    weight, first, second, gradient = (torch.zeros(size, device=family.device) for _ in range(4))
    taken = _seconds(
        lambda: adamw_(weight, first, second, gradient, 1, 0.0, 0.0), family.device
    )  # fmt: skip
    return taken * total / size


def prior_of(answers: LabelSet, labels: Tensor) -> Tensor:
    """What the frequencies in a chunk say, of probes that are only timed."""
    return answers.prior(answers.counts(labels.cpu())).cpu()
