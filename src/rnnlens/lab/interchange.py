"""Interchange: a kind's state at a word is taken from the other context, and the model goes on.

What is measured is by how much the model prefers the one form to the other, and which share of the
difference between both contexts moves with the state: 0, nothing that decides is in it; 1, all is.
The control takes the state of another context of the same sort in the place of the other's: what
moves then is not what the contrast is about.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats
from rnnlens.base.pace import checkpoint
from rnnlens.lab.by_kind import ByParadigm, by_paradigm, names_of_words
from rnnlens.lab.contrasts import NONE, Contrast, Forms
from rnnlens.lab.going_on import Contexts
from rnnlens.lab.prefixes import Reader
from rnnlens.model.traceable import Readout, Traceable

_COLUMNS = 1_024  # copies of contexts that are computed together
MOST_CONTRASTS = 1_000


def check_contrasts(reader: Reader, some: Sequence[Contrast]) -> None:
    """Refuse what nothing can be interchanged in."""
    if not reader.together:
        raise RnnlensError(
            "states are interchanged in a model that goes on from a timestep, and this one reads "
            "whole texts alone; give a recurrent language model that reads forwards"
        )
    if not some:
        raise RnnlensError(
            "no two items have equally long beginnings that want other words, so that nothing can "
            "be interchanged; give a template with two choices, such as the {N.sg|N.pl} {is|are}"
        )


class Differences:
    """By how much a model prefers the one form to the other: of each context, in nats."""

    def __init__(self, model: Traceable, some: Sequence[Contrast | Forms]) -> None:
        """`some`: the forms of each column."""
        self.model = model
        device = model.device
        self.right = torch.tensor([one.right for one in some], device=device)
        self.wrong = torch.tensor([one.wrong for one in some], device=device)
        self.alone = self.wrong == NONE
        with torch.no_grad():
            self.readout = readout(model) if not bool(self.alone.any()) else None
        if self.readout is not None:
            weight, bias = self.readout.weight, self.readout.bias
            self.row = weight[self.right] - weight[self.wrong]  # (B, H)
            self.constant = bias[self.right] - bias[self.wrong]

    def of(self, y: Tensor, copies: int = 1) -> Tensor:
        """From what predictions are made of, (copies * B, H), the differences (copies, B)."""
        if self.readout is not None:
            rows: Tensor = (y.view(copies, -1, y.shape[-1]) * self.row).sum(-1)
            return rows + self.constant
        log_p = self.model.predict(y).float().log_softmax(-1)
        log_p = log_p.view(copies, -1, log_p.shape[-1])
        columns = torch.arange(log_p.shape[1], device=log_p.device)
        apart = log_p[:, columns, self.right]
        other = log_p[:, columns, self.wrong.clamp_min(0)]
        return torch.where(self.alone, apart, apart - other)


def readout(model: Traceable) -> Readout | None:
    """The linear map to the logits, where it is one from what a trace's predictions are made of."""
    found = model.classifier()
    return found if found is not None and found.kind == model.kinds[-1].id else None


def interchange(
    reader: Reader,
    some: Sequence[Contrast],
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    advance: Callable[[int], object] = int,
) -> ByParadigm:
    """Share of the difference between both contexts that moves with every kind's state at every
    word, and with a state of another context of the same sort, as a control.
    """
    check_contrasts(reader, some)
    model = reader.model
    chosen = [kind.id for kind in model.kinds] if kinds is None else list(kinds)
    if strange := [kind for kind in chosen if kind not in {k.id for k in model.kinds}]:
        known = ", ".join(k.id for k in model.kinds)
        raise RnnlensError(f"{strange[0]!r} is no kind that could be edited; there is {known}")
    steps = max(len(one.first) for one in some)
    words = names_of_words(((one.paradigm, one.first) for one in some), reader.side.name, steps)
    measured: dict[str, tuple[Floats, Floats]] = {}
    controls: dict[str, tuple[Floats, Floats]] = {}
    for paradigm, rows in _by_paradigm(some).items():
        parts = [_moved(model, one, chosen, seed, advance) for one in by_length(rows)]
        deepest = max(part[0].shape[1] for part in parts)
        moved, control, whole = (
            np.concatenate([_deep(part[k], deepest) for part in parts]) for k in range(3)
        )
        measured[paradigm], controls[paradigm] = (moved, whole), (control, whole)
    return by_paradigm(
        "share of the difference between both contexts that moves with the state", chosen,
        measured, words, 0.0, controls,
        notes=["a state of another context of the same sort is the control"],
    )  # fmt: skip


def _by_paradigm(some: Sequence[Contrast]) -> dict[str, list[Contrast]]:
    found: dict[str, list[Contrast]] = defaultdict(list)
    for one in some:
        found[one.paradigm].append(one)
    return found


def by_length(some: Sequence[Contrast]) -> Iterator[list[Contrast]]:
    """Contrasts whose contexts are equally long, and differ from the same word on."""
    found: dict[tuple[int, int], list[Contrast]] = defaultdict(list)
    for one in some:
        found[len(one.first), one.begin].append(one)
    yield from found.values()


def _deep(values: Floats, steps: int) -> Floats:
    """(S, D, K) with more words before the critical one, of which nothing is known."""
    more = np.full((len(values), steps - values.shape[1], values.shape[2]), np.nan)
    return np.concatenate([values, more], 1)


@torch.no_grad()
def _moved(
    model: Traceable, some: Sequence[Contrast], kinds: Sequence[str], seed: int,
    advance: Callable[[int], object],
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Of each contrast how much moves with the other's state, with one of its own sort, and how
    much there is to be moved, by words before the critical one, (S, D, K); both contexts take part.
    """
    steps, begin = len(some[0].first), some[0].begin
    shape = (len(some), steps - begin, len(kinds))
    found = np.zeros((2, *shape))
    whole = np.zeros(len(some))
    partner = _partners(some, seed)
    size = max(1, _COLUMNS // 4)
    for at in range(0, len(some), size):
        rows = np.arange(at, min(at + size, len(some)))
        there = [some[int(k)] for k in rows]
        away = [some[k if (other := partner[k]) is None else other] for k in rows.tolist()]
        own, alike = (Contexts(model, both_sides(model, those)) for those in (there, away))
        apart = Differences(model, [*there, *there])
        before = apart.of(own.y[-1])[0]
        count = len(rows)
        whole[rows] = (before[:count] - before[count:]).double().cpu().numpy()
        sign = torch.ones(2 * count, device=before.device)
        sign[count:] = -1
        for step in range(begin, steps):
            for k, kind in enumerate(kinds):
                checkpoint()
                mine = own.states[kind][step]
                instead = torch.cat([mine.roll(count, 0), alike.states[kind][step]])

                def put(_: Tensor, instead: Tensor = instead) -> Tensor:
                    return instead

                after = apart.of(own.after(kind, step, put, copies=2), copies=2)  # (2, 2B)
                moves = ((before - after) * sign).view(2, 2, count).mean(1).double().cpu().numpy()
                found[:, rows, steps - 1 - step, k] = moves
            advance(2 * count * len(kinds))
    found[1, [other is None for other in partner]] = np.nan  # one's own state controls nothing
    total = np.broadcast_to(whole[:, None, None], shape).copy()
    return found[0], found[1], total


def _partners(some: Sequence[Contrast], seed: int) -> list[int | None]:
    """Of each contrast one with other contexts of the same sort; None where there is none such."""
    sorts: dict[tuple[str, str], dict[object, list[int]]] = defaultdict(lambda: defaultdict(list))
    for k, one in enumerate(some):
        sorts[one.condition, one.other][one.contexts].append(k)
    draw, partner = np.random.default_rng((seed, 4)), list[int | None]([None] * len(some))
    for alike in sorts.values():
        groups = list(alike.values())
        order = [groups[k] for k in draw.permutation(len(groups)).tolist()]
        for group, others in zip(order, [*order[1:], order[0]], strict=True):
            for place, k in enumerate(group if others is not group else ()):
                partner[k] = others[place % len(others)]
    return partner


def drawn(some: Sequence[Contrast], most: int, seed: int = 0) -> list[Contrast]:
    """At most so many contrasts, of all paradigms as many as can be."""
    if most < 1:
        raise RnnlensError(f"most={most}: give a number of contrasts from 1 up")
    groups = list(_by_paradigm(some).values())
    draw, left, found = np.random.default_rng((seed, 5)), most, list[Contrast]()
    for number, group in enumerate(sorted(groups, key=len)):
        count = min(len(group), left // (len(groups) - number))
        found += [group[k] for k in sorted(draw.permutation(len(group))[:count].tolist())]
        left -= count
    order = {name: k for k, name in enumerate(_by_paradigm(some))}
    return sorted(found, key=lambda one: order[one.paradigm])


def both_sides(model: Traceable, some: Sequence[Contrast]) -> Tensor:
    """The first contexts of contrasts, equally long, and behind them the second, (T, 2B)."""
    contexts = [*(one.first for one in some), *(one.second for one in some)]
    return torch.tensor(contexts, device=model.device).T.contiguous()
