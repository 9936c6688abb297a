"""Which single units are responsible: each is taken out, at every word, and the forms are asked
anew.

A unit is taken out by setting it to its mean over the contexts. All units of a kind are copies of
one batch. They are ranked, on some of the items, by how much the preference for the right form
falls where words in between disagree (the incongruent items, where a suite has such); those that
lead are then measured on items that the ranking has not seen, beside units drawn at random.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats, interval
from rnnlens.base.schema import rounded, sent, to_json
from rnnlens.lab.contrasts import Forms, parted
from rnnlens.lab.going_on import Contexts
from rnnlens.lab.interchange import Differences
from rnnlens.lab.prefixes import Reader
from rnnlens.lab.result import Result
from rnnlens.lab.template import is_incongruent
from rnnlens.model.kinds import PREDICTION, Kind
from rnnlens.model.traceable import Traceable
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import OUTPUT

SEARCHED, HELD_OUT, TOP = 64, 400, 10  # items to rank by, items to confirm by, units that are
_COLUMNS = 2_048  # copies of contexts that are computed together
_number = rounded(4)


@dataclass(frozen=True)
class UnitEffect:
    """What becomes of a suite without one unit."""

    kind: str
    unit: int
    #: Nats by which the right form is preferred less without it, on the items ranked by.
    effect: float = sent(write=_number)
    held_out: float = sent(write=_number)  #: The same on items that the ranking has not seen.
    low: float | None = sent(write=_number)  #: The lower end of its interval.
    high: float | None = sent(write=_number)  #: The upper end.
    accuracy: float = sent(write=_number)  #: On these, without the unit.
    others: float | None = sent(write=_number)  #: On all other items, such as congruent ones.


@dataclass(frozen=True)
class Units(Result):
    """The units that a suite goes by most, the first one first."""

    rows_in: ClassVar[str] = "units"

    about: str  #: Which items they were ranked by.
    searched: int  #: How many of these.
    items: int  #: How many were held out.
    accuracy: float = sent(write=_number)  #: On those held out, with all units.
    others: float | None = sent(write=_number)  #: On all other items, with all units.
    random: float = sent(write=_number)  #: Mean effect, held out, of units drawn at random.
    units: tuple[UnitEffect, ...] = ()
    effects: Mapping[str, tuple[float, ...]] = sent(
        write=lambda given: {kind: [round(v, 4) for v in some] for kind, some in given.items()},
        default=(),
    )  #: Of every kind, the effect of each of its units.

    def __repr__(self) -> str:
        first = self.units[0]
        without = f"{first.accuracy:.1%} without unit {first.unit} of {first.kind}"
        return f"<{self.about}: {self.accuracy:.1%} of {self.items}, {without}>"


@dataclass(frozen=True)
class UnitTrace:
    """One unit over a sentence: the gates, the memory and what its direction says."""

    kind: str
    unit: int
    words: tuple[str, ...]
    values: Mapping[str, tuple[float, ...]] = sent(
        write=lambda given: {kind: [round(v, 5) for v in some] for kind, some in given.items()}
    )  #: By kind, of the same unit after each word.
    more: tuple[str, ...] = ()  #: The words that the kind's probe finds more probable with it.
    less: tuple[str, ...] = ()  #: And less probable.

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON."""
        found: dict[str, Any] = to_json(self)
        return found


def responsible(
    reader: Reader,
    some: Sequence[Forms],
    kinds: Sequence[str] | None = None,
    top: int = TOP,
    seed: int = 0,
    advance: Callable[[int], object] = int,
) -> Units:
    """The units without which the right form is preferred least."""
    if not reader.together:
        raise RnnlensError("units are taken out of a model that reads many contexts side by side; "
                           "give a recurrent language model that reads forwards")  # fmt: skip
    model = reader.model
    chosen = chosen_kinds(model, kinds)
    searched, held, others, about = _split(some, seed)
    effects = {kind: _without_each(model, searched, kind, advance) for kind in chosen}  # (U,) each
    ranked = sorted(
        ((kind, unit) for kind in chosen for unit in range(len(effects[kind]))),
        key=lambda one: -effects[one[0]][one[1]],
    )[:top]
    before, beside = margins(model, held), margins(model, others)
    rows = []
    for kind, unit in ranked:
        after = margins(model, held, kind, unit)
        sure = interval(before - after)
        rows.append(UnitEffect(
            kind, unit, float(effects[kind][unit]), float((before - after).mean()),
            sure.low if sure else None, sure.high if sure else None, accuracy(after),
            accuracy(margins(model, others, kind, unit)) if len(others) else None,
        ))  # fmt: skip
    draw = np.random.default_rng((seed, 6))
    drawn = [(str(draw.choice(chosen)), draw.random()) for _ in range(top)]
    chance = [
        float((before - margins(model, held, kind, int(at * len(effects[kind])))).mean())
        for kind, at in drawn
    ]
    return Units(
        about, len(searched), len(held), accuracy(before),
        accuracy(beside) if len(others) else None, float(np.mean(chance)), tuple(rows),
        {kind: tuple(map(float, values)) for kind, values in effects.items()},
    )  # fmt: skip


def chosen_kinds(model: Traceable, kinds: Sequence[str] | None) -> list[str]:
    """Kinds by their names, or all memories and outputs."""
    known = [kind.id for kind in model.kinds]
    if kinds is None:
        return [kind.id for kind in model.kinds if kind.memory or kind.output]
    if strange := [kind for kind in kinds if kind not in known]:
        raise RnnlensError(f"{strange[0]!r} is no kind that could be edited; there is "
                           f"{', '.join(known)}")  # fmt: skip
    return list(kinds)


def _split(some: Sequence[Forms], seed: int) -> tuple[list[Forms], list[Forms], list[Forms], str]:
    """Items to rank by, items to confirm by, and all others; and what the first two are called."""
    hard = [one for one in some if is_incongruent(one.condition)]
    about = "incongruent items" if hard else "items"
    rest = [one for one in some if not is_incongruent(one.condition)] if hard else []
    if len(hard or some) < 4:
        raise RnnlensError(
            f"{len(hard or some)} {about} are too few to rank units by and to confirm; give more"
        )
    asked = hard or list(some)
    searched, held = parted(asked, [min(SEARCHED, len(asked) // 2)], (seed, 7))
    if not held:
        raise RnnlensError(
            f"all {len(asked)} {about} have one context, and units are ranked on some contexts and "
            "confirmed on others; give more"
        )
    draw = np.random.default_rng((seed, 7))
    rest = [rest[k] for k in draw.permutation(len(rest)).tolist()]
    return searched, held[:HELD_OUT], rest[:HELD_OUT], about


def accuracy(margins: Floats) -> float:
    """Share of items in which the right form is preferred."""
    return float(((margins > 0) + 0.5 * (margins == 0)).mean())


def by_context_length(some: Sequence[Forms]) -> dict[int, list[int]]:
    """The numbers of items whose contexts are equally long."""
    found: dict[int, list[int]] = defaultdict(list)
    for k, one in enumerate(some):
        found[len(one.context)].append(k)
    return found


def _words(model: Traceable, some: Sequence[Forms]) -> Tensor:
    return torch.tensor([one.context for one in some], device=model.device).T.contiguous()


@torch.no_grad()
def _without_each(
    model: Traceable, some: Sequence[Forms], kind: str, advance: Callable[[int], object]
) -> Floats:
    """By how much the right form is preferred less without each unit of a kind, (U,), in nats."""
    total: Floats = np.zeros(1)
    for rows in by_context_length(some).values():
        there = [some[k] for k in rows]
        contexts, apart = Contexts(model, _words(model, there)), Differences(model, there)
        before = apart.of(contexts.y[-1])[0]
        mean = contexts.states[kind].mean((0, 1))  # (U,)
        lost = np.zeros(len(mean))
        size = max(1, _COLUMNS // len(there))
        for first in range(0, len(mean), size):
            units = torch.arange(first, min(first + size, len(mean)), device=mean.device)

            def put(state: Tensor, units: Tensor = units) -> Tensor:
                copies = state.view(len(units), -1, state.shape[-1]).clone()
                copies[torch.arange(len(units)), :, units] = mean[units, None]  # noqa: B023
                return copies.view_as(state)

            y = contexts.after(kind, 0, put, len(units), always=True)
            after = apart.of(y, len(units))
            lost[first : first + size] = (before - after).sum(1).double().cpu().numpy()
            advance(len(units) * len(there))
        total = total + lost
    return np.asarray(total / len(some), np.float64)


@torch.no_grad()
def margins(model: Traceable, some: Sequence[Forms], kind: str = "", unit: int = -1) -> Floats:
    """By how much the right form is preferred, in nats, (N,); without a unit, if one is named."""
    found = np.zeros(len(some))
    for rows in by_context_length(some).values():
        there = [some[k] for k in rows]
        contexts, apart = Contexts(model, _words(model, there)), Differences(model, there)
        y = contexts.y[-1]
        if kind:
            mean = contexts.states[kind][..., unit].mean()

            def put(state: Tensor, mean: Tensor = mean) -> Tensor:
                other = state.clone()
                other[:, unit] = mean
                return other

            y = contexts.after(kind, 0, put, always=True)
        found[rows] = apart.of(y)[0].double().cpu().numpy()
    return found


def unit_trace(
    reader: Reader, probes: Probes | None, kind: str, unit: int, ids: Sequence[int], top: int = 8
) -> UnitTrace:
    """A unit over a text: of its kind, and of those that its memory is made of and read by."""
    by_id = {one.id: one for one in reader.model.kinds}
    if kind not in by_id:
        raise RnnlensError(f"there is no kind {kind!r}; there is {', '.join(by_id)}")
    with torch.no_grad():
        trace = reader.model.trace(reader.batch(ids))
    width = trace.states[kind].shape[-1]
    if not 0 <= unit < width:
        raise RnnlensError(f"there is no unit {unit} of {kind}; it has {width}, from 0")
    beside = [one for one in _beside(by_id[kind], list(by_id.values()))
              if trace.states[one].shape[-1] == width]  # fmt: skip
    values = {one: tuple(trace.states[one][:, 0, unit].tolist()) for one in beside}
    more, less = tuple[str, ...](), tuple[str, ...]()
    if probes is not None and kind in probes.kinds and OUTPUT in probes.stacks:
        names = reader.side.labels.names
        weights = probes.rows(kind, range(len(names)))[0][:, unit]
        order = weights.argsort(descending=True).tolist()
        more, less = (tuple(names[k] for k in some) for some in (order[:top], order[::-1][:top]))
    words = tuple(reader.side.name(number) for number in ids)
    return UnitTrace(kind, unit, words, values, more, less)


def _beside(kind: Kind, kinds: Sequence[Kind]) -> list[str]:
    """The kinds of a layer whose units are this kind's, one by one: gates, memory, output."""
    return [one.id for one in kinds
            if (one.layer, one.part, one.reverse) == (kind.layer, kind.part, kind.reverse)
            and one.letter != PREDICTION]  # fmt: skip
