"""A concept taken out of a kind at every word of a corpus, and everything read again.

LEACE takes the direction out along which a linear probe tells the concept. A state that it was
taken out of is carried on, so that the next ones are others than those it was learned from: it is
learned again from these, before they are erased, until that changes little. What is left is asked
of a probe that is fitted anew, after the erasure, on other texts than were learned from, and asked
of further ones.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats, Interval, Resamples, interval
from rnnlens.base.schema import rounded, sent
from rnnlens.lab.concept import Concept, Labelled, counted
from rnnlens.lab.encoded import EncodedItem
from rnnlens.lab.prefixes import Reader
from rnnlens.lab.result import Result
from rnnlens.lab.scoring import scored
from rnnlens.lab.units import chosen_kinds
from rnnlens.probe.dataset import Chunk
from rnnlens.probe.erasure import Concept as Moments
from rnnlens.probe.erasure import Eraser

ROUNDS = 12  # times that an erasure is learned, each from states that the one before has changed
_ALONE = 5  # of these, in which it takes out one direction
_NOTHING = 1e-4  # share of the concept's variance that is not worth another round
LEAST = 30  # words of each part of which the concept holds, and of which it does not
_RIDGE = 1e-4  # of the mean variance, for probes
_number = rounded(4)


@dataclass(frozen=True)
class ConceptErased:
    """What is left of a model without a concept in one kind."""

    kind: str
    rank: int  #: Directions that were taken out.
    read: float = sent(write=_number)  #: What a probe gets right before, of texts held out.
    #: What one gets right that is fitted after it, on other texts than it was learned from.
    read_after: float = sent(write=_number)
    low: float | None = sent(write=_number)  #: The lower end of its interval.
    high: float | None = sent(write=_number)  #: The upper end.
    #: The mean of what it gets right where the concept holds and where not; half is nothing.
    balanced: float = sent(write=_number)
    balanced_after: float = sent(write=_number)
    balanced_low: float | None = sent(write=_number)  #: The lower end of its interval, over texts.
    balanced_high: float | None = sent(write=_number)  #: The upper end.
    #: The same of the concept of chance, after that is taken out; None: too rare to be asked. What
    #: both have over a half is what few words leave.
    balanced_control: float | None = sent(write=_number)
    loss: float = sent(write=_number)  #: Nats that a word of the texts held out costs the model.
    loss_after: float = sent(write=_number)
    loss_control: float = sent(write=_number)  #: With a concept of chance taken out, as frequent.
    cost_low: float | None = sent(write=_number)  #: Of what a word costs more after it.
    cost_high: float | None = sent(write=_number)
    accuracy: float = sent(write=_number)  #: Share of the suite's items that the model is right in.
    accuracy_after: float = sent(write=_number)
    accuracy_control: float = sent(write=_number)


@dataclass(frozen=True)
class ConceptErasures(Result):
    """A concept taken out of several kinds, one at a time."""

    rows_in: ClassVar[str] = "kinds"

    about: str  #: What the concept is.
    control: str  #: And the one of chance beside it.
    learnt_from: int  #: Words that erasures were learned from.
    probed: int  #: Others, that probes were fitted on.
    asked: int  #: And those that were asked.
    texts: int  #: In so many texts.
    words: int  #: Words that the loss is of.
    items: int  #: Items of the suite.
    rate: float = sent(write=_number)  #: Of words asked, the share that the concept holds of.
    majority: float = sent(write=_number)  #: What a probe gets right that reads nothing.
    kinds: tuple[ConceptErased, ...] = ()


def erased_concept(
    reader: Reader,
    concept: Concept,
    texts: Sequence[Sequence[int]],
    items: Sequence[EncodedItem],
    kinds: Sequence[str] | None = None,
    advance: Callable[[int], object] = int,
) -> ConceptErasures:
    """Take a concept out of kinds; all memories and outputs. The loss is that of `texts`."""
    if not reader.together:
        raise RnnlensError("a concept is erased in a model that reads many texts side by side; "
                           "give a recurrent language model that reads forwards")  # fmt: skip
    counts = [counted(part) for part in concept.parts]
    if min(int(some.min()) for some in counts) < LEAST:
        raise RnnlensError(
            f"{concept.about}: that holds of {', '.join(f'{some[1]:,}' for some in counts)} words "
            f"in three parts of the texts, and not of {', '.join(f'{s[0]:,}' for s in counts)}; "
            f"give texts with {LEAST} or more of each"
        )
    chosen = chosen_kinds(reader.model, kinds)
    before = _Left.of(reader, texts, items)
    rows = []
    for kind in chosen:
        rows.append(_erased(reader, concept, texts, items, kind, before))
        advance(1)
    learnt, probed, asked = (int(some.sum()) for some in counts)
    holds = float(counts[-1][1] / asked)
    return ConceptErasures(
        concept.about, concept.control, learnt, probed, asked, len(concept.parts[-1]),
        before.words, len(items), holds, max(holds, 1 - holds), tuple(rows),
    )  # fmt: skip


def _erased(
    reader: Reader,
    concept: Concept,
    texts: Sequence[Sequence[int]],
    items: Sequence[EncodedItem],
    kind: str,
    before: "_Left",
) -> ConceptErased:
    eraser = fitted(reader, concept.parts[0], kind)
    chance = fitted(reader, concept.by_chance[0], kind)
    erasing, by_chance = (reader.editing(kind, one) for one in (eraser, chance))
    read = told(reader, concept.parts[1], concept.parts[2], kind)
    left = told(erasing, concept.parts[1], concept.parts[2], kind)
    beside = None
    if min(int(counted(some).min()) for some in concept.by_chance[1:]) >= LEAST:
        beside = told(by_chance, concept.by_chance[1], concept.by_chance[2], kind)
    after, control = (_Left.of(one, texts, items) for one in (erasing, by_chance))
    sure = interval(left.right, left.asked)
    cost = interval(after.costs - before.costs, before.counts)
    return ConceptErased(
        kind, eraser.rank, read.share, left.share, *_ends(sure), read.balanced, left.balanced,
        *_ends(left.sure), None if beside is None else beside.balanced,
        before.loss, after.loss, control.loss, *_ends(cost),
        before.accuracy, after.accuracy, control.accuracy,
    )  # fmt: skip


def _ends(sure: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if sure is None else (sure.low, sure.high)


def fitted(reader: Reader, texts: Sequence[Labelled], kind: str) -> Eraser:
    """What takes a concept out of a kind, learned from states as it leaves them: the one of some
    rounds after which least is told. First a direction is looked for that is its own successor;
    where there is none, those of later rounds are taken out together.
    """
    best, least = None, float("inf")
    eraser: Eraser | None = None
    maps = list[Tensor]()
    for number in range(ROUNDS + 1):
        found = Moments([kind], torch.ones(2))
        for states, labels, _ in _states(reader, texts, kind, eraser):
            found.add(Chunk({kind: states}, labels, labels, 1))
        if eraser is not None and (left := found.left(kind, eraser)) < least:
            best, least = eraser, left
        if least < _NOTHING:
            break
        maps = [*(maps if number >= _ALONE else ()), found.telling(kind)]
        eraser = found.taking(kind, torch.cat(maps, 1))
    if best is None:
        raise RnnlensError(f"the states of {kind} are no numbers; restore the model")
    return best


_Some = tuple[Tensor, Tensor, np.ndarray[Any, np.dtype[np.int64]]]


def _states(
    reader: Reader, texts: Sequence[Labelled], kind: str, eraser: Eraser | None = None
) -> Iterator[_Some]:
    """States of a kind with their labels and the numbers of their texts: as they are before an
    eraser has changed them, where one is given, whose work at the words before is in them.
    """
    seen = list[Tensor]()

    def erase(states: Tensor) -> Tensor:
        seen.append(states.clone())  # what is given is overwritten by what is given back
        return states if eraser is None else eraser(states)

    read = reader.editing(kind, erase) if eraser is not None else reader
    for first, level in read.levels([one.ids for one in texts], [kind]):
        states = torch.cat(seen) if seen else level.states[kind]
        seen.clear()
        there = np.flatnonzero(level.node_of >= 0)
        labels = np.array([texts[first + int(k)].labels[level.depth - 1] for k in there], np.int64)
        here = there[labels >= 0]
        if len(here):
            rows = torch.from_numpy(level.node_of[here]).to(states.device)
            yield (states[rows].float(), torch.from_numpy(labels[labels >= 0]).to(states.device),
                   first + here)  # fmt: skip


@dataclass(frozen=True)
class Told:
    """What a probe gets right of some texts: of each text, and of each sort of words."""

    right: Floats  # (S,) words
    asked: Floats  # (S,) words
    hits: Floats  # (S, 2, 2) of each sort words that are right without its frequency, and its words

    @property
    def share(self) -> float:
        """Of all words."""
        return float(self.right.sum() / self.asked.sum())

    @property
    def balanced(self) -> float:
        """The mean over both sorts of words."""
        return float(_even(self.hits.sum(0)))

    @property
    def sure(self) -> Interval | None:
        """The interval of the balanced share, over texts."""
        resamples = Resamples(len(self.hits))
        return resamples.interval(_even(resamples.sums(self.hits))) if resamples.enough else None


def _even(hits: Floats) -> Floats:
    """(..., 2, 2) to what is right of both sorts, in the mean, (...)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((hits[..., 0] / hits[..., 1]).mean(-1))


def told(reader: Reader, probed: Sequence[Labelled], asked: Sequence[Labelled], kind: str) -> Told:
    """What a linear probe in closed form, the discriminant of one part, gets right of another."""
    found = _Discriminant()
    for states, labels, _ in _states(reader, probed, kind):
        found.add(states, labels)
    weights, constant, prior = found.solved()
    right, count, hits = (np.zeros((len(asked), *more)) for more in ((), (), (2, 2)))
    for states, labels, numbers in _states(reader, asked, kind):
        scores = states.double() @ weights - constant
        said = ((scores + prior > 0) == (labels > 0)).double().cpu().numpy()
        np.add.at(right, numbers, said)
        np.add.at(count, numbers, 1.0)
        even = ((scores > 0) == (labels > 0)).double().cpu().numpy()
        sorts = numbers, labels.cpu().numpy()
        np.add.at(hits, sorts, np.stack([even, np.ones(len(even))], 1))
    return Told(right, count, hits)


class _Discriminant:
    """The linear discriminant of two sorts of states, from their sums."""

    def __init__(self) -> None:
        self.counts = [0, 0]
        self.sums: list[Tensor] = []  # of each sort, and of products

    def add(self, states: Tensor, labels: Tensor) -> None:
        """Take in states (N, H) and which sort each is of."""
        x = states.double()
        new = [x[labels == 0].sum(0), x[labels == 1].sum(0), x.T @ x]
        self.sums = [a + b for a, b in zip(self.sums, new, strict=True)] if self.sums else new
        self.counts = [n + int((labels == k).sum()) for k, n in enumerate(self.counts)]

    def solved(self) -> tuple[Tensor, float, float]:
        """Weights, what is taken off, and what the second sort's frequency adds."""
        total = sum(self.counts)
        first, second = (s / n for s, n in zip(self.sums[:2], self.counts, strict=True))
        within = self.sums[2] / total - sum(
            n / total * torch.outer(m, m) for n, m in zip(self.counts, (first, second), strict=True)
        )
        least = _RIDGE * within.diagonal().mean().clamp_min(1e-12)
        eye = torch.eye(len(first), dtype=within.dtype, device=within.device)
        weights: Tensor = torch.linalg.solve(within + least * eye, second - first)
        middle = float(weights @ (first + second) / 2)
        return weights, middle, float(np.log(self.counts[1] / self.counts[0]))


@dataclass(frozen=True)
class _Left:
    """What texts cost a model, and how often it is right about a suite."""

    costs: Floats  # (S,) nats of each text
    counts: Floats  # (S,) its words that are predicted
    accuracy: float

    @property
    def words(self) -> int:
        return int(self.counts.sum())

    @property
    def loss(self) -> float:
        """Nats a word."""
        return float(self.costs.sum() / max(1.0, self.counts.sum()))

    @classmethod
    def of(
        cls, reader: Reader, texts: Sequence[Sequence[int]], items: Sequence[EncodedItem]
    ) -> "_Left":
        costs, counts = np.zeros(len(texts)), np.zeros(len(texts))
        for first, level in reader.levels(texts):
            place = level.depth if reader.ahead else level.depth - 1
            there = [k for k in np.flatnonzero(level.node_of >= 0).tolist()
                     if len(texts[first + k]) > place]  # fmt: skip
            words = np.array([texts[first + k][place] for k in there], np.int64)
            log_p = reader.log_probabilities(level.y, level.node_of[there], words)
            numbers = first + np.array(there, np.int64)
            np.add.at(costs, numbers, -log_p)
            np.add.at(counts, numbers, 1.0)
        return cls(costs, counts, float(scored(reader, items).right.mean()))
