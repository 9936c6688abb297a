"""Erasure: what two sorts of contexts differ in, such as number, is taken out of a kind linearly,
and everything is read again.

LEACE (Belrose et al. 2023) takes out of the states, in closed form, the direction by which a linear
probe tells the two sorts apart. It is learned word by word: at each word from states that are read
with what was erased at the words before missing. What the model's own words cost it and how often
it is right are measured on contexts held out, beside the erasure of as many directions drawn at
random. What can still be read is asked of a probe that is fitted anew, after the erasure, on
contexts that are neither those it was learned from, of which nothing is left by construction, nor
those that are asked. So it reads what the chance of few contexts leaves: over a half by about the
root of numbers in a state per contexts learned from, which more contexts bring down.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Interval, interval
from rnnlens.base.schema import rounded, sent
from rnnlens.lab.contrasts import Contrast, parted
from rnnlens.lab.interchange import Differences, both_sides, by_length, check_contrasts
from rnnlens.lab.prefixes import Reader
from rnnlens.lab.result import Result
from rnnlens.lab.template import is_incongruent
from rnnlens.lab.units import accuracy, chosen_kinds
from rnnlens.model.traceable import StateEdit, Trace, Traceable
from rnnlens.probe.erasure import Eraser, leace, random_eraser

#: Share of the mean variance that every direction has at least: contexts are few. What is erased
#: of the states that are learned from is all the same.
_RIDGE = 1e-2
_NOTHING = 1e-6  # share of the variance of sides that is rounding
MOST_ERASED = 15_000  # contrasts, in three parts: what is read after it falls with their number
_LEAST = 10  # pairs of contexts to learn from, to fit probes on, and to ask, each
_number = rounded(4)


@dataclass(frozen=True)
class Erased:
    """What is left without what two sorts of contexts differ in."""

    kind: str
    rank: int  #: Directions that were taken out at each word.
    majority: float = sent(write=_number)  #: What a probe gets right that reads nothing.
    read: float = sent(write=_number)  #: What it gets right before, on contexts held out.
    #: What one gets right that is fitted after it, on other contexts than it was learned from.
    read_after: float = sent(write=_number)
    low: float | None = sent(write=_number)  #: The lower end of its interval, over contexts.
    high: float | None = sent(write=_number)  #: The upper end.
    loss: float = sent(write=_number)  #: Nats that a word of the contexts costs the model, before.
    loss_after: float = sent(write=_number)
    loss_random: float = sent(write=_number)  #: With as many random directions taken out.
    #: On incongruent items held out (on all, where there are none): before, after, and at random.
    accuracy: float = sent(write=_number)
    accuracy_after: float = sent(write=_number)
    accuracy_random: float = sent(write=_number)
    others: float | None = sent(write=_number)  #: On all other items: before and after.
    others_after: float | None = sent(write=_number)


@dataclass(frozen=True)
class Erasures(Result):
    """Erasures from several kinds, one at a time."""

    rows_in: ClassVar[str] = "kinds"

    learnt_from: int  #: Pairs of contexts that they were learned from.
    probed: int  #: Others, that probes were fitted on.
    contrasts: int  #: Contrasts that they were measured on.
    kinds: tuple[Erased, ...] = ()


def erasures(
    reader: Reader,
    some: Sequence[Contrast],
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    advance: Callable[[int], object] = int,
) -> Erasures:
    """Take what the two sides of contrasts differ in out of kinds; all memories and outputs."""
    check_contrasts(reader, some)
    model = reader.model
    chosen = chosen_kinds(model, kinds)
    third = len(some) // 3
    learnt, probed, held = parted(some, [third, third], (seed, 9))
    counts = [len({one.contexts for one in part}) for part in (learnt, probed, held)]
    if min(counts) < _LEAST:
        raise RnnlensError(
            f"{len(some)} contrasts of {sum(counts)} pairs of contexts are too few to erase by, to "
            f"read what is left by, and to ask; give {3 * _LEAST} or more pairs"
        )
    # A length that was not learned from, or not probed, cannot be asked.
    known = {_place(one) for one in learnt} & {_place(one) for one in probed}
    learnt, probed, held = ([one for one in part if _place(one) in known]
                            for part in (learnt, probed, held))  # fmt: skip
    learnt, probed = _pairs(learnt), _pairs(probed)
    if not held:
        raise RnnlensError(
            "no contexts that are held out are as long as others that were learned from; give more "
            "contrasts of each length"
        )
    parts = [[_Group(model, there) for there in by_length(part)] for part in (learnt, probed, held)]
    rows = []
    for kind in chosen:
        rows.append(_erased(kind, parts[0], parts[1], parts[2], seed))
        advance(len(some))
    return Erasures(len(learnt), len(probed), len(held), tuple(rows))


def left_to_read(
    reader: Reader,
    learnt: Sequence[Contrast],
    probed: Sequence[Contrast],
    asked: Sequence[Contrast],
    kind: str,
) -> float:
    """What a probe reads after an erasure from a kind: learned from some contrasts, read by a probe
    of others and asked of more, all of which have places that the others have.
    """
    parts = [[_Group(reader.model, there) for there in by_length(_pairs(part))]
             for part in (learnt, probed, asked)]  # fmt: skip
    erasers = {one.place: one.erasers(kind) for one in parts[0]}
    return _Left.of(parts[1], parts[2], kind, erasers).read


def _pairs(some: Sequence[Contrast]) -> list[Contrast]:
    """One of those with the same contexts: with another verb these have the same states."""
    return list({one.contexts: one for one in some}.values())


Place = tuple[int, int]  # how long contexts are, and from which word on they differ


def _place(one: Contrast) -> Place:
    return len(one.first), one.begin


def _erased(
    kind: str,
    learnt: Sequence["_Group"],
    probed: Sequence["_Group"],
    asked: Sequence["_Group"],
    seed: int,
) -> Erased:
    erasers = {one.place: one.erasers(kind) for one in learnt}
    chance = {one.place: one.erasers(kind, seed) for one in learnt}
    before, after, random = (_Left.of(probed, asked, kind, some) for some in ({}, erasers, chance))
    rank = max(eraser.rank for some in erasers.values() for eraser in some.values())
    sure = after.sure
    return Erased(
        kind, rank, 0.5, before.read, after.read, sure.low if sure else None,
        sure.high if sure else None, before.loss, after.loss, random.loss,
        before.accuracy, after.accuracy, random.accuracy, before.others, after.others,
    )  # fmt: skip


class _Group:
    """Contrasts whose contexts are equally long and differ from the same word on."""

    def __init__(self, model: Traceable, some: Sequence[Contrast]) -> None:
        self.model, self.some = model, some
        self.place = _place(some[0])
        self.words = both_sides(model, some)  # (T, 2B)
        self.sides = torch.zeros(2 * len(some), dtype=torch.float64, device=self.words.device)
        self.sides[len(some) :] = 1

    @torch.no_grad()
    def read(self, kind: str, erasers: Mapping[int, Eraser]) -> Trace:
        """The words of the contexts, with erasers at some of them."""
        edits = [StateEdit(kind, t, erase) for t, erase in erasers.items()]
        return self.model.trace(self.words, edits=edits)

    @torch.no_grad()
    def erasers(self, kind: str, seed: int | None = None) -> dict[int, Eraser]:
        """What takes the sides out of a kind at each word from which on they differ; with a seed,
        what takes as many directions out that were drawn.
        """
        found: dict[int, Eraser] = {}
        steps, begin = self.place
        start = self.model.trace(self.words[:begin]).last if begin else None
        for step in range(begin, steps):
            word = self.words[step : step + 1]
            states = self.model.trace(word, start).states[kind][0].double()
            mean, covariance = _moments(states)
            if seed is not None:
                found[step] = random_eraser(mean, covariance, 1, seed + step)
            else:
                across = (states - mean).T @ (self.sides - 0.5) / len(states)
                found[step] = leace(mean, covariance, torch.stack([across, -across], 1))
            start = self.model.trace(word, start, [StateEdit(kind, 0, found[step])]).last
        return found


@dataclass(frozen=True)
class _Left:
    """What is left of contexts that are read with erasers."""

    read: float
    sure: Interval | None  # of what is read, over pairs of contexts
    loss: float
    accuracy: float
    others: float | None

    @classmethod
    def of(
        cls,
        probed: Sequence[_Group],
        asked: Sequence[_Group],
        kind: str,
        erasers: Mapping[Place, Mapping[int, Eraser]],
    ) -> "_Left":
        """Measured on those that are asked; probes are fitted on others, read in the same way."""
        told = defaultdict[object, float](float)  # of each pair of contexts, what is read of it
        asked_of = defaultdict[object, int](int)
        costs, hard, easy = list[Tensor](), list[float](), list[float]()
        every = [name for one in asked for c in one.some for name in (c.condition, c.other)]
        any_hard = any(map(is_incongruent, every))
        from_ = {one.place: one for one in probed}
        for one in asked:
            there, trace = erasers.get(one.place, {}), one.read(kind, erasers.get(one.place, {}))
            known = from_[one.place].read(kind, there).states[kind]
            right = torch.zeros(len(one.some), dtype=torch.float64)
            for step in range(one.place[1], one.place[0]):
                said = _told(known[step], from_[one.place].sides, trace.states[kind][step])
                right += (said == (one.sides > 0.5)).double().view(2, -1).sum(0).cpu()
            for contrast, count in zip(one.some, right.tolist(), strict=True):
                told[contrast.contexts] += count
                asked_of[contrast.contexts] += 2 * (one.place[0] - one.place[1])
            if len(one.words) > 1:
                with torch.no_grad():
                    logits = one.model.predict(trace.prediction[:-1].flatten(0, 1))
                costs.append(F.cross_entropy(logits, one.words[1:].flatten(), reduction="none"))
            apart = Differences(one.model, [*one.some, *one.some]).of(trace.prediction[-1])[0]
            names = [*(c.condition for c in one.some), *(c.other for c in one.some)]
            for name, margin in zip(names, (apart * (1 - 2 * one.sides)).tolist(), strict=True):
                (hard if is_incongruent(name) or not any_hard else easy).append(margin)
        return cls(
            sum(told.values()) / sum(asked_of.values()),
            interval([*told.values()], [*asked_of.values()]),
            float(torch.cat(costs).mean()) if costs else 0.0,
            accuracy(np.array(hard)), accuracy(np.array(easy)) if easy else None,
        )  # fmt: skip


def _moments(states: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of states (N, H) and their covariance, no direction of which is without any."""
    mean = states.mean(0)
    covariance = (states - mean).T @ (states - mean) / len(states)
    least = _RIDGE * covariance.diagonal().mean().clamp_min(1e-12)
    return mean, covariance + least * torch.eye(len(mean), dtype=mean.dtype, device=mean.device)


def _told(states: Tensor, sides: Tensor, asked: Tensor) -> Tensor:
    """What a linear probe of states (N, H), in closed form, says of others: whether each is of the
    second side. One that explains nothing of what it was learned from says the same of all.
    """
    mean, covariance = _moments(states.double())
    across = (states.double() - mean).T @ (sides - 0.5) / len(states)
    weights: Tensor = torch.linalg.solve(covariance, across)
    if float(across @ weights) / 0.25 < _NOTHING:
        return torch.zeros(len(asked), dtype=torch.bool, device=asked.device)
    return (asked.double() - mean) @ weights > 0
