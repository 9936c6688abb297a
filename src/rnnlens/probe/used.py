"""Read beside used: does the model's own prediction go by what a probe reads?

Four ways to ask, each with something to set it against, and all by interventions:

- *push*: a state is moved so that its probe reads more of a label, by two deviations of the states
  themselves, so that it stays where states are. What the model's own log-probability of the label
  gains is `read`; along the gradient it gains `gradient`, towards another label `shuffled`, in a
  random direction `random`. `used` is read over gradient. How far the predictions after that move
  is `later`.
- *interchange*: the state of another sentence is put in its place. How well the change of what the
  probe says agrees with that of the prediction is `interchange`.
- *erasure*: what tells the labels is taken out of all states of a kind in closed form (see
  `rnnlens.probe.erasure`), and texts are read anew: what that costs the model's own predictions is
  `erased`; taking out as many random directions costs `erased_random`.

Intervals are over sentences, of each of which one state is looked at.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.base.errors import NotFiniteError, RnnlensError, RnnlensWarning
from rnnlens.base.intervals import Floats, Interval, Resamples
from rnnlens.model.kinds import Kind
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.erasure import RANK, Concept, Eraser
from rnnlens.probe.places import Places, drawn, places
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import OUTPUT

SENTENCES, LABELS = 500, 200
DEVIATIONS = 2.0  # of the states' own covariance, that a push is long
LATER = 3  # predictions after the push that are looked at, too
_ROUNDS = 8  # labels that each sequence is pushed towards, of all LABELS
_ROUNDS_ANEW = 4  # where each has to be read again for it
_ROUNDS_LATER = 2  # labels for which the predictions after that are looked at
_FREQUENT = 2000  # labels among which some are taken, content words too
_AGREEMENT = 1000  # labels over which an interchange is looked at
_LEARNT = 20_000  # states that erasing is learnt from
_ROOM = {"cpu": 2**26, "cuda": 2**31}  # bytes of logits at once
_BITS = 1 / np.log(2)

#: What is measured of each sentence, in the order of its columns: a sum and how many it is of.
_NAMES = ("read", "gradient", "random", "shuffled", "later", "later_random", "interchange",
          "interchange_shuffled", "moved", "moved_later", "erased", "erased_random")  # fmt: skip
_USED = "used"
_LEAST_GAIN = 1e-4  # nats
#: Up to which share what is used is called what.
_WORDS = ((0.15, "hardly used"), (0.4, "little used"), (0.7, "partly used"), (np.inf, "used"))


@dataclass(frozen=True)
class Used:
    """How much of what a kind's probe reads the model uses."""

    kind: str
    read: float  #: Gain of a label's log-probability by a push towards it, in nats.
    gradient: float  #: By a push of equal size along the gradient.
    random: float  #: By one in a random direction.
    shuffled: float  #: By one towards another label.
    later: float | None  #: How far the push moves the next predictions, in bits each.
    later_random: float | None  #: How far one in a random direction does.
    #: Where states are interchanged between texts: how well the change of what the probe says
    #: agrees with that of the prediction, as a correlation over labels.
    interchange: float | None
    interchange_shuffled: float | None  #: With what the probe says of another interchange.
    moved: float | None  #: How far an interchange moves the prediction, in bits.
    moved_later: float | None  #: And how far the next ones, in bits each.
    erased: float | None  #: What erasing the labels costs each prediction, in nats.
    erased_random: float | None  #: What erasing as many random directions costs.
    sentences: int = 0  #: That states were taken from, one of each.
    deviations: float = DEVIATIONS  #: How long a push is, in the states' own covariance.
    rank: int = 0  #: Directions that were erased.
    intervals: Mapping[str, Interval] = field(default_factory=dict)  #: Of each number, by 95%.

    @property
    def used(self) -> float:
        """What a push towards a label does over one along the gradient: 0 nothing."""
        return self.read / self.gradient if self.gradient > 0 else 0.0

    @property
    def called(self) -> str:
        """What is said of it in a word, where the whole interval says so; else nothing."""
        sure = self.intervals.get(_USED)
        return word_of(sure.low, sure.high) if sure else ""

    def to_json(self) -> dict[str, Any]:
        """What evaluation.json holds of it."""
        numbers = {name: getattr(self, name) for name in (_USED, *_NAMES)}
        about = {"sentences": self.sentences, "deviations": self.deviations, "rank": self.rank}
        ends = {n: {"low": one.low, "high": one.high} for n, one in self.intervals.items()}
        return {**numbers, **about, "called": self.called, "intervals": ends}


def word_of(low: float, high: float) -> str:
    """What is said of a share that lies between these; nothing where that is not clear."""
    words = [next(word for most, word in _WORDS if end < most) for end in (low, high)]
    return words[0] if words[0] == words[1] else ""


def used(
    probes: Probes,
    dataset: Dataset,
    sentences: int = SENTENCES,
    labels: int = LABELS,
    seed: int = 0,
    advance: Callable[[int], object] = int,
) -> list[Used]:
    """How much of what every kind's probe reads is used, on some of the test data. Kinds of which
    no push gains anything, whichever way it goes, are left out: of nothing there is no share.

    `advance` is told the number of states after each kind of each group of sequences.
    """
    dataset.model.check_reads("what is used of a state")
    _check(probes, dataset)
    # What is read of a source stands beside no prediction of its own.
    kinds = [kind for kind in dataset.model.kinds
             if kind.id in probes.kinds
             and kind.id in probes.spreads  # memories that are asked questions have none
             and kind.id not in dataset.model.source_kinds]  # fmt: skip
    generator = torch.Generator(dataset.device).manual_seed(seed)
    chosen = frequent(probes, dataset, labels)
    directions = [_Directions(probes, kind, chosen, dataset.device) for kind in kinds]
    found: dict[str, list[Floats]] = {kind.id: [] for kind in kinds}
    broken: dict[str, NotFiniteError] = {}
    read = 0
    for place in places(dataset, sentences, seed, LATER):
        for along in directions:
            with _unless(broken, along.kind):
                found[along.kind].append(_Pushes(along, place, generator, read).measured())
            advance(len(place))
        read += len(place)
    if not read:
        raise RnnlensError("no test sequence is long enough to push a state of it; give more data")
    erasers, ranks = _erasers(probes, dataset, [kind.id for kind in kinds])
    lost = _erased(dataset, erasers, sentences, seed, advance, broken)
    if len(broken) == len(kinds):
        raise next(iter(broken.values()))
    if broken:
        warnings.warn(
            f"what is used of {', '.join(broken)} is not measured: with pushed, interchanged or "
            "erased states of these, those of the model become NaN or infinite",
            RnnlensWarning,
            stacklevel=2,
        )
    every = (
        _summed(kind, np.concatenate(rows), np.concatenate(lost[kind]), ranks[kind])
        for kind, rows in found.items()
        if kind not in broken
    )
    return [one for one in every if _is_pushed(one)]


def _is_pushed(one: Used) -> bool:
    """Whether a push along the gradient gains something, and more than rounding, for certain."""
    sure = one.intervals.get("gradient")
    return one.gradient > _LEAST_GAIN and (sure is None or sure.low > 0)


@contextmanager
def _unless(broken: dict[str, NotFiniteError], kind: str) -> Iterator[None]:
    """Take note of a kind whose changed states make others NaN or infinite, and go on."""
    try:
        yield
    except NotFiniteError as error:
        broken[kind] = error


def _check(probes: Probes, dataset: Dataset) -> None:
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


def _summed(kind: str, pushed: Floats, lost: Floats, rank: int) -> Used:
    """Means over sentences, from sums and counts of each, (S, names, 2), and their intervals.

    Those that were pushed and those that were read without a label need not be the same ones.
    """
    numbers: dict[str, float | None] = {}
    intervals: dict[str, Interval] = {}
    for first, rows in ((0, pushed), (_NAMES.index("erased"), lost)):
        resamples = Resamples(len(rows))
        drawn_sums = resamples.sums(rows) if resamples.enough else None
        sums = rows.sum(0)
        names = _NAMES[first : first + rows.shape[1]]
        for k, name in enumerate(names):
            there = sums[k, 1] > 0
            numbers[name] = float(sums[k, 0] / sums[k, 1]) if there else None
            if drawn_sums is not None and there:
                intervals |= _named(name, resamples, drawn_sums[:, k, 0], drawn_sums[:, k, 1])
        if not first and drawn_sums is not None:
            gained = drawn_sums[:, 1, 0]  # along the gradient
            intervals |= _named(_USED, resamples, drawn_sums[:, 0, 0], np.maximum(gained, 1e-30))
    measured: dict[str, Any] = numbers
    return Used(kind, **measured, sentences=len(pushed), rank=rank, intervals=intervals)


def _named(name: str, resamples: Resamples, above: Floats, below: Floats) -> dict[str, Interval]:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = resamples.interval(np.where(below > 0, above / below, np.nan))
    return {} if found is None else {name: found}


def frequent(probes: Probes, dataset: Dataset, count: int) -> list[int]:
    """Labels at even distances among the frequent ones, content words too."""
    counts = probes.counts.get("output")
    counts = dataset.counts("output") if counts is None else counts
    order = counts.argsort(descending=True, stable=True)[:_FREQUENT].tolist()
    order = [label for label in order if counts[label] > 0]
    return [order[k] for k in np.linspace(0, len(order) - 1, min(count, len(order))).astype(int)]


class _Directions:
    """Where the states of one kind are pushed."""

    def __init__(
        self, probes: Probes, kind: Kind, labels: Sequence[int], device: torch.device
    ) -> None:
        self.probes, self.kind, self.within = probes, kind.id, kind.within
        covariance = probes.spreads[kind.id].covariance.double()
        values, vectors = torch.linalg.eigh(covariance)
        values = values.clamp_min(0)  # correlations are rounded
        self.root = (vectors * values.sqrt()).float().to(device)  # (H, H)
        self.labels = torch.tensor(labels, device=device)
        self.rows = probes.rows(kind.id, labels)[0].float().to(device)  # (L, H)

    def pushed(self, states: Tensor, along: Tensor) -> Tensor:
        """States (B, H) pushed to raise what is linear along (K, B, H) most, among all pushes that
        are as long in the states' own covariance; gates stay within their range.
        """
        return self._moved(states, along @ self.root)

    def at_random(self, states: Tensor, noise: Tensor) -> Tensor:
        """States pushed as far in a direction that is drawn at random, (K, B, H)."""
        return self._moved(states, noise)

    def _moved(self, states: Tensor, white: Tensor) -> Tensor:
        """By a direction in coordinates in which states have a deviation of 1 everywhere."""
        unit = white / white.norm(dim=-1, keepdim=True).clamp_min(1e-30)
        return self.within(states + DEVIATIONS * unit @ self.root.T)


class _Pushes:
    """The pushes and interchanges of one kind at some places."""

    def __init__(
        self, along: _Directions, place: Places, generator: torch.Generator, read: int
    ) -> None:
        """`read`: how many sequences were pushed at places before."""
        self.along, self.place, self.generator, self.read = along, place, generator, read
        self.state = place.states[along.kind].float()  # (B, H)
        self.before = place.logits.log_softmax(-1)  # (1 + later, B, V)
        self.sums = np.zeros((len(place), _NAMES.index("erased"), 2))

    @torch.no_grad()
    def measured(self) -> Floats:
        """Of each sequence the sums of all numbers but those of erasing, and how many of each."""
        targets = self._targets()
        room = _ROOM.get(self.state.device.type, 2**26)
        at_once = max(1, room // (4 * self.before[0].numel()))
        for numbers in targets[:_ROUNDS_LATER].split(max(1, at_once // (1 + LATER))):
            self._push(numbers, LATER)
        if len(targets) > _ROUNDS_LATER:  # splitting nothing gives one part of it
            for numbers in targets[_ROUNDS_LATER:].split(at_once):
                self._push(numbers, 0)
        self._interchange()
        return self.sums

    def _targets(self) -> Tensor:
        """Which label each sequence is pushed towards, (K, B): a few each, and the next sequence
        towards the next ones, so that many sequences are pushed towards all labels.
        """
        count = len(self.along.labels)
        rounds = min(count, _ROUNDS if self.place.model.causal else _ROUNDS_ANEW)
        columns = torch.arange(len(self.state), device=self.state.device)
        numbers = torch.arange(rounds, device=columns.device)[:, None]
        return (rounds * (self.read + columns) + numbers) % count

    def _add(self, name: str, sums: Tensor, counts: Tensor | int) -> None:
        """Take in the sums (B,) of a number, and of how many."""
        column = self.sums[:, _NAMES.index(name)]
        column[:, 0] += sums.double().cpu().numpy()
        column[:, 1] += counts if isinstance(counts, int) else counts.cpu().numpy()

    def _push(self, numbers: Tensor, later: int) -> None:
        """Push each sequence's state towards some labels (K, B), given by their places."""
        labels, rows = self.along.labels[numbers], self.along.rows[numbers]
        base = self.before[0].gather(1, labels.T).T
        noise = torch.randn(rows.shape, generator=self.generator, device=rows.device)
        moved = self.along.pushed
        ways = {
            "read": (moved(self.state, rows), later),
            "gradient": (moved(self.state, self._gradient(labels)), 0),
            "random": (self.along.at_random(self.state, noise), later),
            "shuffled": (moved(self.state, self.along.rows[self._others(numbers)]), 0),
        }
        for name, (states, behind) in ways.items():
            logits = self.place.predictions(self.along.kind, states, behind)  # (K, 1 + later, B, V)
            self._add(name, (_log_p(logits[:, 0], labels) - base).sum(0), len(labels))
            if logits.shape[1] > 1:
                moves = self._moved(logits[:, 1:], self.before[1:], self.place.counts[1:])
                self._add("later" if name == "read" else "later_random", *moves)

    def _others(self, numbers: Tensor) -> Tensor:
        """Other labels, drawn at random."""
        count = len(self.along.labels)
        if count < 2:
            return numbers
        steps = torch.randint(
            1, count, numbers.shape, generator=self.generator, device=numbers.device
        )
        return (numbers + steps) % count

    def _gradient(self, labels: Tensor) -> Tensor:
        """Of a label's log-probability by the state, (K, B, H)."""
        with torch.enable_grad():
            states = self.state.expand(len(labels), -1, -1).clone().requires_grad_()
            logits = self.place.predictions(self.along.kind, states)[:, 0]
            total = _log_p(logits, labels).sum()
            (slope,) = torch.autograd.grad(total, states, allow_unused=True)
        return torch.zeros_like(states) if slope is None else slope

    def _moved(self, logits: Tensor, before: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """How far predictions (K, L, B, V) lie from what they were (L, B, V), in bits, as sums (B,)
        over those that count (L, B), and how many these are.
        """
        apart = (before.exp() * (before - logits.log_softmax(-1))).sum(-1)  # (K, L, B)
        return (apart * there).sum((0, 1)) * _BITS, there.sum(0) * len(logits)

    def _interchange(self) -> None:
        """Put another sequence's state in the place of each."""
        if len(self.state) < 2:
            return
        other, after = self.place.interchanged(self.along.kind, LATER)
        self._add("moved", *self._moved(after[None, :1], self.before[:1], self.place.counts[:1]))
        if len(after) > 1:
            self._add(
                "moved_later", *self._moved(after[None, 1:], self.before[1:], self.place.counts[1:])
            )
        some = torch.linspace(0, after.shape[2] - 1, min(_AGREEMENT, after.shape[2])).long()
        logits = self.along.probes.logits(self.along.kind, torch.stack([other, self.state]))
        change = (after[0] - self.place.logits[0])[:, some]
        said = (logits[0] - logits[1])[:, some]
        self._add("interchange", _agreement(change, said), 1)
        self._add("interchange_shuffled", _agreement(change, said.roll(1, 0)), 1)


def _log_p(logits: Tensor, labels: Tensor) -> Tensor:
    """The log-probabilities of labels (K, B) by logits (K, B, V)."""
    log_p: Tensor = logits.gather(2, labels[..., None])[..., 0] - logits.logsumexp(-1)
    return log_p


def _agreement(first: Tensor, second: Tensor) -> Tensor:
    """The correlation over labels of changes (B, V), (B,)."""
    near = [change - change.mean(1, keepdim=True) for change in (first, second)]
    sizes = near[0].norm(dim=1) * near[1].norm(dim=1)
    agreed: Tensor = (near[0] * near[1]).sum(1) / sizes.clamp_min(1e-30)
    return agreed


def _erasers(
    probes: Probes, dataset: Dataset, kinds: Sequence[str]
) -> tuple[dict[str, tuple[Eraser, Eraser]], dict[str, int]]:
    """Of each kind the eraser of its labels and one of as many random directions, learnt from
    training data where there is any.
    """
    counts = probes.counts.get(OUTPUT)
    concept = Concept(kinds, dataset.counts(OUTPUT) if counts is None else counts)
    split = "train" if "train" in dataset.splits else "test"
    concept.of(dataset.stream(split, OUTPUT, kinds=kinds).chunks((0,)), _LEARNT)
    both = {}
    for kind in kinds:
        eraser = concept.eraser(kind, RANK)
        both[kind] = eraser, concept.random(kind, eraser.rank)
    return both, {kind: pair[0].rank for kind, pair in both.items()}


@torch.no_grad()
def _erased(
    dataset: Dataset, erasers: Mapping[str, tuple[Eraser, Eraser]], sentences: int, seed: int,
    advance: Callable[[int], object], broken: dict[str, NotFiniteError],
) -> dict[str, list[Floats]]:  # fmt: skip
    """What erasing costs all predictions of some texts, in nats: of each kind and text the sums and
    how many they are of, (S, 2, 2), batch by batch. Kinds that are `broken` are left out.
    """
    found: dict[str, list[Floats]] = {kind: [] for kind in erasers}
    read, model, stream = 0, dataset.model, dataset.stream("test", OUTPUT)
    for batch in drawn(dataset, sentences, np.random.default_rng((seed, 3))):
        if read >= sentences:
            break
        trace = model.trace(batch.inputs)
        labels = stream.numbered(batch, trace).to(model.device)
        before, steps = _losses(dataset, trace.prediction, labels), len(labels)
        there = before[:, 1] > 0
        for kind, pair in erasers.items():
            rows = torch.zeros(len(before), 2, 2, dtype=torch.float64, device=before.device)
            with _unless(broken, kind):
                for k, eraser in enumerate(pair):
                    after = model.trace(batch.inputs, edits=eraser.edits(kind, steps)).prediction
                    rows[:, k] = _losses(dataset, after, labels)
                    rows[:, k, 0] -= before[:, 0]
                found[kind].append(rows[there].cpu().numpy())
            advance(int(there.sum()))
        read += int(there.sum())
    return found


def _losses(dataset: Dataset, y: Tensor, labels: Tensor) -> Tensor:
    """-log p of the labels (T, B) that there are, sums of each sequence, and how many, (B, 2)."""
    y = y.expand(len(labels), *y.shape[1:]) if len(y) == 1 < len(labels) else y
    keep = labels >= 0
    loss = F.cross_entropy(dataset.model.predict(y[keep]), labels[keep], reduction="none").double()
    sums = torch.zeros(labels.shape[1], 2, dtype=torch.float64, device=labels.device)
    columns = keep.nonzero()[:, 1]
    return sums.index_add_(0, columns, torch.stack([loss, torch.ones_like(loss)], 1))
