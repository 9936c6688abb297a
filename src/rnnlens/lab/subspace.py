"""Directions that are responsible: one dimension of a kind's states, found in two ways.

The *difference of means* is that between the states of the two sorts of contexts. The *learned* one
is found by interchange itself: the direction along which the other context's part, put in, makes
the model go by the other context (a distributed alignment search of rank 1, Geiger et al. 2024).
Both are found on some contrasts and measured on others. A *placebo* is learned in the same way with
states of contexts of the same sort in the place of the other's, and tells what learning finds where
there is nothing; *random* is a direction that was drawn. Measured is the share of the difference
that moves when the part along the direction is interchanged, and what is left of the accuracy when
it is taken out of every state.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats, Resamples
from rnnlens.base.schema import rounded, sent
from rnnlens.lab.by_kind import separates
from rnnlens.lab.contrasts import Contrast, parted
from rnnlens.lab.going_on import Contexts
from rnnlens.lab.interchange import Differences, both_sides, by_length, check_contrasts
from rnnlens.lab.prefixes import Reader
from rnnlens.lab.result import Result
from rnnlens.lab.template import is_incongruent
from rnnlens.lab.units import accuracy, chosen_kinds
from rnnlens.model.traceable import Traceable

WAYS = WHOLE, MEANS, LEARNED, PLACEBO, RANDOM = (
    "whole state", "difference of means", "learned", "placebo", "random",
)  # fmt: skip
_LEARNT_FROM, _ROUNDS, _RATE = 128, 60, 0.05  # contrasts, steps and rate of learning
_number = rounded(4)


@dataclass(frozen=True)
class Direction:
    """What moves along a direction of a kind, and what is left without it."""

    kind: str
    way: str  #: How the direction was found.
    #: Share of the difference, on contrasts held out; None: these do not separate.
    moved: float | None = sent(write=_number)
    low: float | None = sent(write=_number)  #: The lower end of its interval.
    high: float | None = sent(write=_number)  #: The upper end.
    #: On incongruent items held out (on all, where there are none), with the direction set to its
    #: mean in all states; None: the whole state cannot be taken out so.
    accuracy: float | None = sent(write=_number)
    others: float | None = sent(write=_number)  #: On all other items held out.


@dataclass(frozen=True)
class Directions(Result):
    """Directions of several kinds."""

    learnt_from: int  #: Contrasts that directions were found on.
    contrasts: int  #: Contrasts that they were measured on.
    accuracy: float = sent(write=_number)  #: On the items of these, with nothing taken out.
    others: float | None = sent(write=_number)
    rows: tuple[Direction, ...] = ()


def directions(
    reader: Reader,
    some: Sequence[Contrast],
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    advance: Callable[[int], object] = int,
) -> Directions:
    """Directions of kinds at the last word before the critical one; all memories and outputs."""
    check_contrasts(reader, some)
    model = reader.model
    chosen = chosen_kinds(model, kinds)
    learnt, held = parted(some, [min(_LEARNT_FROM, len(some) // 2)], (seed, 8))
    if min(len(learnt), len(held)) < 2:
        raise RnnlensError(f"{len(some)} contrasts are too few to find directions on some contexts "
                           "and to measure them on others; give more")  # fmt: skip
    rows = list[Direction]()
    for kind in chosen:
        for way in WAYS:
            along = None if way == WHOLE else found_direction(model, learnt, kind, way, seed)
            moved, whole = _moved(model, held, kind, along)
            apart, resamples = separates(whole), Resamples(len(moved))
            sure = resamples.interval(resamples.ratios(moved, whole)) if apart else None
            left = (None, None) if along is None else taken_out(model, held, kind, along)
            share = float(moved.sum() / whole.sum()) if apart else None
            rows.append(Direction(kind, way, share, sure.low if sure else None,
                                  sure.high if sure else None, *left))  # fmt: skip
            advance(len(some))
    before, others = taken_out(model, held)
    return Directions(len(learnt), len(held), before or 0.0, others, tuple(rows))


def found_direction(
    model: Traceable, some: Sequence[Contrast], kind: str, way: str, seed: int = 0
) -> Tensor:
    """A direction of a kind's states, of length 1, (H,)."""
    groups = [_Group(model, there) for there in by_length(some)]
    generator = torch.Generator().manual_seed(seed)
    width = groups[0].contexts.states[kind].shape[-1]
    along = torch.randn(width, generator=generator).to(model.device)
    if way == MEANS:
        sums = [one.states(kind)[0].sum(0) - one.states(kind)[1].sum(0) for one in groups]
        along = torch.stack(sums).sum(0)
    elif way in (LEARNED, PLACEBO):
        along = _learned(groups, kind, along, placebo=way == PLACEBO)
    unit: Tensor = along / along.norm().clamp_min(1e-30)
    return unit


def _learned(groups: Sequence["_Group"], kind: str, along: Tensor, *, placebo: bool) -> Tensor:
    """The direction along which the other's part makes the model go by the other context; as a
    placebo that part is taken from a context of the same sort, which does not have it.
    """
    along = along.clone().requires_grad_()
    optimiser = torch.optim.Adam([along], _RATE)
    for _ in range(_ROUNDS):
        optimiser.zero_grad()
        unit = along / along.norm()
        losses = []
        for one in groups:
            after = one.interchanged(kind, unit, learning=True, alike=placebo)
            losses.append((after - one.before.roll(one.count, 0)).square().sum())
        torch.stack(losses).sum().backward()
        optimiser.step()
    return along.detach()


class _Group:
    """Contrasts whose contexts are equally long, read once."""

    def __init__(self, model: Traceable, some: Sequence[Contrast]) -> None:
        self.count, self.some = len(some), some
        self.contexts = Contexts(model, both_sides(model, some))
        self.apart = Differences(model, [*some, *some])
        self.before = self.apart.of(self.contexts.y[-1])[0]  # (2B,)
        self.last = len(some[0].first) - 1

    def states(self, kind: str) -> tuple[Tensor, Tensor]:
        """Of both sides, at the last word before the critical one, (B, H)."""
        both = self.contexts.states[kind][self.last]
        return both[: self.count], both[self.count :]

    def interchanged(
        self, kind: str, along: Tensor | None, *, learning: bool = False, alike: bool = False
    ) -> Tensor:
        """How much the first form is preferred to the second with the other's part, (2B,); with
        `alike`, with that of the next context of the same sort.
        """
        mine = self.contexts.states[kind][self.last]
        other = mine.roll(self.count, 0)
        if alike:
            other = mine.view(2, self.count, -1).roll(1, 1).view_as(mine)

        def put(_: Tensor) -> Tensor:
            if along is None:
                return other
            return mine + ((other - mine) @ along)[:, None] * along

        y = self.contexts.after(kind, self.last, put, learning=learning)
        return self.apart.of(y)[0]

    @torch.no_grad()
    def without(self, kind: str, along: Tensor) -> Tensor:
        """The same with the direction set to its mean in every state, (2B,)."""
        mean = (self.contexts.states[kind] @ along).mean()

        def put(state: Tensor) -> Tensor:
            return state + (mean - state @ along)[:, None] * along

        return self.apart.of(self.contexts.after(kind, 0, put, always=True))[0]


@torch.no_grad()
def _moved(
    model: Traceable, some: Sequence[Contrast], kind: str, along: Tensor | None
) -> tuple[Floats, Floats]:
    """Of each contrast how much moves, and how much there is to be moved, (S,)."""
    moved, whole = list[Floats](), list[Floats]()
    for there in by_length(some):
        group = _Group(model, there)
        after, count = group.interchanged(kind, along), group.count
        change = ((group.before - after)[:count] - (group.before - after)[count:]) / 2
        moved.append(change.double().cpu().numpy())
        whole.append((group.before[:count] - group.before[count:]).double().cpu().numpy())
    return np.concatenate(moved), np.concatenate(whole)


@torch.no_grad()
def taken_out(
    model: Traceable, some: Sequence[Contrast], kind: str = "", along: Tensor | None = None
) -> tuple[float | None, float | None]:
    """Accuracies on incongruent items, or on all, and on others, with a direction taken out."""
    hard, easy = list[float](), list[float]()
    any_hard = any(is_incongruent(name) for one in some for name in (one.condition, one.other))
    for there in by_length(some):
        group = _Group(model, there)
        apart = group.before if along is None else group.without(kind, along)
        sides = apart.clone()
        sides[group.count :] *= -1
        conditions = [*(one.condition for one in there), *(one.other for one in there)]
        for name, margin in zip(conditions, sides.tolist(), strict=True):
            (hard if is_incongruent(name) or not any_hard else easy).append(margin)
    return accuracy(np.array(hard)), accuracy(np.array(easy)) if easy else None
