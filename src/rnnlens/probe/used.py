"""Read beside used: does the model's own prediction move along what a probe reads?

A state is pushed along the probe's row for a label, and the model's own log-probability of that
label is looked at, over what a push of equal size along the gradient does. Random
directions tell what a push of that size does anyway.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import States
from rnnlens.model.kinds import Kind
from rnnlens.model.traceable import StateEdit, Trace, Traceable
from rnnlens.probe.data import Batch
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.probes import Probes

Sums = NDArray[np.float64]
SENTENCES, LABELS = 500, 200
_PUSH = 0.5  # of the kind's deviation
_FREQUENT = 2000  # labels among which some are taken, content words too
_SWAPPED = 1000  # labels over which a swap is looked at
_AT_ONCE = 64  # sequences that share a timestep
_ROOM = {"cpu": 2**26, "cuda": 2**32}  # bytes of logits at once
_ROUNDS = 4  # labels that each sequence is pushed towards where it has to be read again for each
_WAYS = ("read", "most", "random", "shaped")


@dataclass(frozen=True)
class Used:
    """How much of what a kind's probe reads the model uses; effects are in nats."""

    kind: str
    read: float  #: Of a push along the probe's row, on the label's log-probability.
    most: float  #: Of a push of equal size along the gradient.
    random: float  #: Of one in a random direction.
    shaped: float  #: Of one in a random direction in which the kind's states do vary.
    #: Where states are swapped between texts: how well the change of what the probe says agrees
    #: with that of the prediction, as a correlation over labels; None where no two texts were
    #: read side by side.
    swap: float | None

    @property
    def used(self) -> float:
        """What is used of what is read: 0 none of it, about 1 all that could be."""
        return self.read / self.most if self.most > 0 else 0.0

    def to_json(self) -> dict[str, float | None]:
        """What evaluation.json holds of it."""
        names = ("used", "read", "most", "random", "shaped", "swap")
        return {name: getattr(self, name) for name in names}


class _Place:
    """Some sequences at one timestep, whose states can be exchanged for others."""

    def __init__(
        self, model: Traceable, inputs: Any, here: Tensor, step: int, trace: Trace
    ) -> None:
        """`here` says which sequences have a label at this step of the trace."""
        self.model, self.inputs, self.step = model, inputs, step
        self.columns = here.nonzero()[:, 0]
        self.states = {kind: v[step, self.columns] for kind, v in trace.states.items()}
        self.y = self._picked(trace.prediction)
        self.start: States = {}
        if model.causal:
            last = model.trace(inputs[: max(1, step)]).last
            self.start = {k: v[self.columns] * bool(step) for k, v in last.items()}

    def _picked(self, y: Tensor) -> Tensor:
        return y[self.step if len(y) > 1 else 0, self.columns]

    def predictions(self, kind: str, values: Tensor) -> Tensor:
        """The logits (K, B, V) with other states (K, B, H) in the places of a kind's."""
        if self.model.causal:
            return self._at_once(kind, values)
        return torch.stack([self._alone(kind, some) for some in values])

    def _at_once(self, kind: str, values: Tensor) -> Tensor:
        """All of them side by side, from what is carried into this timestep."""
        count, batch = values.shape[:2]
        words = self.inputs[self.step : self.step + 1, self.columns].repeat(1, count)
        start = {kind: v.repeat(count, 1) for kind, v in self.start.items()}
        if values.requires_grad:  # or states would be computed in place
            start = {kind: v.requires_grad_() for kind, v in start.items()}
        put = StateEdit(kind, 0, lambda _: values.flatten(0, 1), values.requires_grad)
        y = self.model.trace(words, start, [put]).prediction[0]
        return self.model.predict(y).view(count, batch, -1)

    def _alone(self, kind: str, values: Tensor) -> Tensor:
        """The whole sequences again, for a model that cannot go on from a timestep."""

        def put(state: Tensor) -> Tensor:
            return state.index_copy(0, self.columns, values.to(state.dtype))

        edit = StateEdit(kind, self.step, put, values.requires_grad)
        trace = self.model.trace(self.inputs, edits=[edit])
        return self.model.predict(self._picked(trace.prediction))


def used(
    probes: Probes,
    dataset: Dataset,
    sentences: int = SENTENCES,
    labels: int = LABELS,
    seed: int = 0,
    advance: Callable[[int], object] = int,
) -> list[Used]:
    """How much of what every kind's probe reads is used, on some of the test data.

    `advance` is told the number of states after each kind of each group of sequences.
    """
    dataset.model.check_reads("what is used of a state")
    if "output" not in probes.stacks:
        raise RnnlensError("there are no probes of the semantic output; fit them to see its use")
    if not probes.spreads:
        raise RnnlensError(
            "the probes do not know how states vary, which a push goes by; fit them anew"
        )
    if dataset.answers_to("output").several:
        raise RnnlensError(
            "what is used is measured of one label of many, and here several hold at once; leave "
            "it out"
        )
    kinds = [kind for kind in dataset.model.kinds if kind.id in probes.kinds]
    generator = torch.Generator(dataset.device).manual_seed(seed)
    chosen = frequent(probes, dataset, labels)
    directions = [_Directions(probes, kind, chosen, dataset.device) for kind in kinds]
    sums = {kind.id: np.zeros(len(_WAYS) + 3) for kind in kinds}
    read = 0
    for place in _places(dataset, sentences, seed):
        for along in directions:
            sums[along.kind] += _Pushes(along, place, generator, read).measured()
            advance(len(place.columns))
        read += len(place.columns)
    if not all(total[-2] for total in sums.values()):
        raise RnnlensError("no test sequence is long enough to push a state of it; give more data")
    return [_mean(kind, total.tolist()) for kind, total in sums.items()]


def _mean(kind: str, sums: Sequence[float]) -> Used:
    read, most, random, shaped, agreed, pushes, swaps = sums
    effects = (read / pushes, most / pushes, random / pushes, shaped / pushes)
    return Used(kind, *effects, agreed / swaps if swaps else None)


def frequent(probes: Probes, dataset: Dataset, count: int) -> list[int]:
    """Labels at even distances among the frequent ones, content words too."""
    counts = probes.counts.get("output")
    counts = dataset.counts("output") if counts is None else counts
    order = counts.argsort(descending=True, stable=True)[:_FREQUENT].tolist()
    order = [label for label in order if counts[label] > 0]
    return [order[k] for k in np.linspace(0, len(order) - 1, min(count, len(order))).astype(int)]


def _places(dataset: Dataset, sentences: int, seed: int) -> Iterator[_Place]:
    """Groups of test sequences, each at a timestep that most of them reach."""
    data, draw = dataset.splits["test"], np.random.default_rng((seed, 2))
    order = draw.permutation(np.flatnonzero(data.counts > 0))
    order = order[: sentences if not data.whole_pieces else None]
    order = order[np.argsort(data.counts[order], kind="stable")]
    size, left = (1 if data.whole_pieces else _AT_ONCE), sentences
    for first in range(0, len(order), size):
        for batch in data.batches(order[first : first + size], dataset.device):
            if left > 0 and (place := _place(dataset.model, batch, draw)):
                left -= len(place.columns)
                yield place


def _place(model: Traceable, batch: Batch, draw: np.random.Generator) -> _Place | None:
    """A timestep of a batch that half of its sequences reach, and not the first if possible."""
    trace = model.trace(batch.inputs)
    there = model.in_time(batch.targets, lambda: trace) >= 0
    reached = np.flatnonzero(there.sum(1).cpu().numpy() * 2 >= there.shape[1])
    if not len(reached):
        return None
    step = int(draw.choice(reached[len(reached) // 3 :]))
    return _Place(model, batch.inputs, there[step].to(model.device), step, trace)


class _Directions:
    """Where the states of one kind are pushed."""

    def __init__(
        self, probes: Probes, kind: Kind, labels: Sequence[int], device: torch.device
    ) -> None:
        spread = probes.spreads[kind.id]
        self.probes, self.kind = probes, kind.id
        self.within = kind.within
        self.size = _PUSH * spread.size
        values, vectors = torch.linalg.eigh(spread.covariance.double())
        self.root = (vectors * values.clamp_min(0).sqrt()).float().to(device)  # (H, H)
        self.labels = torch.tensor(labels, device=device)
        self.rows = probes.rows(kind.id, labels)[0].float().to(device)  # (L, H)

    def pushed(self, states: Tensor, direction: Tensor) -> Tensor:
        """States (B, H) so far along directions (K, B, H); gates stay within their range."""
        push = self.size * direction / direction.norm(dim=-1, keepdim=True).clamp_min(1e-30)
        return self.within(states + push)


class _Pushes:
    """The pushes of one kind at one place."""

    def __init__(
        self, along: _Directions, place: _Place, generator: torch.Generator, read: int
    ) -> None:
        """`read`: how many sequences were pushed at places before."""
        self.along, self.place, self.generator, self.read = along, place, generator, read
        self.state = place.states[along.kind].float()  # (B, H)

    @torch.no_grad()
    def measured(self) -> Sums:
        """Sums of the effects in nats and of the correlations of swaps, and how many of each."""
        before = self.place.model.predict(self.place.y)
        sums, log_p, targets = np.zeros(len(_WAYS)), before.log_softmax(-1), self._targets()
        room = _ROOM.get(self.state.device.type, 2**26)
        for numbers in targets.split(max(1, room // (4 * before.numel()))):  # (K, B)
            labels = self.along.labels[numbers]
            base = log_p.gather(1, labels.T).T
            rows = self.along.rows[numbers]
            noise = torch.randn(rows.shape, generator=self.generator, device=rows.device)
            ways = (rows, self._gradient(labels), noise, noise @ self.along.root.T)
            for k, direction in enumerate(ways):
                states = self.along.pushed(self.state, direction)
                sums[k] += float((self._log_p(states, labels) - base).sum())
        agreed, swaps = self._swapped(before)
        return np.array([*sums, agreed, targets.numel(), swaps])

    def _targets(self) -> Tensor:
        """Which label each sequence is pushed towards, (K, B): where all are pushed side by side,
        towards every label; else each towards a few, and the next sequence towards the next ones,
        so that many sequences are pushed towards all labels.
        """
        batch, count = len(self.state), len(self.along.labels)
        columns = torch.arange(batch, device=self.state.device)
        if self.place.model.causal:
            return torch.arange(count, device=columns.device)[:, None].expand(-1, batch)
        rounds = torch.arange(min(count, _ROUNDS), device=columns.device)[:, None]
        return (_ROUNDS * (self.read + columns) + rounds) % count

    def _log_p(self, states: Tensor, labels: Tensor) -> Tensor:
        """The model's own log-probabilities of labels (K, B) with states (K, B, H), (K, B)."""
        logits = self.place.predictions(self.along.kind, states)
        log_p: Tensor = logits.gather(2, labels[..., None])[..., 0] - logits.logsumexp(-1)
        return log_p

    def _gradient(self, labels: Tensor) -> Tensor:
        """Of a label's log-probability by the state, (K, B, H)."""
        with torch.enable_grad():
            states = self.state.expand(len(labels), -1, -1).clone().requires_grad_()
            total = self._log_p(states, labels).sum()
            (slope,) = torch.autograd.grad(total, states, allow_unused=True)
        return torch.zeros_like(states) if slope is None else slope

    def _swapped(self, before: Tensor) -> tuple[float, int]:
        """How well changes agree where each state is put in the place of the next."""
        if len(self.state) < 2:
            return 0.0, 0
        other = self.state.roll(1, 0)
        some = torch.linspace(0, before.shape[1] - 1, min(_SWAPPED, before.shape[1])).long()
        after = self.place.predictions(self.along.kind, other[None])[0]
        logits = self.along.probes.logits(self.along.kind, torch.stack([other, self.state]))
        changes = [(after - before)[:, some], (logits[0] - logits[1])[:, some]]
        near = [change - change.mean(1, keepdim=True) for change in changes]
        sizes = near[0].norm(dim=1) * near[1].norm(dim=1)
        agreed = (near[0] * near[1]).sum(1) / sizes.clamp_min(1e-30)
        return float(agreed.sum()), len(agreed)
