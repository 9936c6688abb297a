"""Which kinds prefer the right form: at the critical word, and at every word before it.

A kind prefers a form where its probe finds it more probable as the next word. At the last word
before the critical one that is what the form is predicted from; at those before it, what would be
predicted if the critical word came at once. That is read, and not shown to be used: interchange
says that.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats
from rnnlens.lab.by_kind import ByParadigm, by_paradigm, names_of_words
from rnnlens.lab.contrasts import Forms
from rnnlens.lab.prefixes import Reader
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import OUTPUT

MOST_STEPS = 12  # words before the critical one that are looked at


def preferences(
    reader: Reader,
    probes: Probes | None,
    some: Sequence[Forms],
    advance: Callable[[int], object] = int,
) -> ByParadigm:
    """Share of items in which each kind's probe, and the model itself, prefers the right form."""
    if not some:
        raise RnnlensError(
            "no item has two words to choose from after the same beginning; nothing is preferred"
        )
    there = probes is not None and OUTPUT in probes.stacks
    kinds = [k.id for k in reader.model.kinds if there and probes and k.id in probes.kinds]
    margins = _margins(reader, probes, kinds, some, advance)  # (S, D, K + 1)
    read = ((one.paradigm, one.context) for one in some)
    words = names_of_words(read, reader.side.name, MOST_STEPS)
    measured = defaultdict[str, list[int]](list)
    for k, one in enumerate(some):
        measured[one.paradigm].append(k)
    right = np.where(np.isnan(margins), np.nan, (margins > 0) + 0.5 * (margins == 0))
    ones = np.where(np.isnan(margins), np.nan, 1.0)
    notes = ["what the kinds' probes read: that something is read does not say that it is used"]
    if not kinds:
        notes = ["the run has no probes of the next word, so that the model alone is asked"]
    return by_paradigm(
        "share of items in which the right form is preferred", [*kinds, PREDICTION],
        {name: (right[rows], ones[rows]) for name, rows in measured.items()}, words, 0.5,
        notes=notes,
    )  # fmt: skip


@torch.no_grad()
def _margins(
    reader: Reader,
    probes: Probes | None,
    kinds: Sequence[str],
    some: Sequence[Forms],
    advance: Callable[[int], object],
) -> Floats:
    """By how much each kind finds the right form more probable, in nats, by words before the
    critical one, (S, D, K + 1); NaN where a context is shorter.
    """
    labels = sorted({label for one in some for label in (one.right, one.wrong)})
    place = {label: k for k, label in enumerate(labels)}
    rows = {kind: probes.rows(kind, labels) for kind in kinds if probes}
    steps = min(MOST_STEPS, max(len(one.context) for one in some))
    found = np.full((len(some), steps, len(kinds) + 1), np.nan)
    pairs = np.array([(place[one.right], place[one.wrong]) for one in some])
    lengths = np.array([len(one.context) for one in some])
    for first, level in reader.levels([one.context for one in some], kinds):
        last = first + len(level.node_of)
        before = lengths[first:last] - level.depth
        here = np.flatnonzero((level.node_of >= 0) & (before < steps))
        if not len(here):
            continue
        nodes = torch.from_numpy(level.node_of[here])
        right, wrong = (torch.from_numpy(pairs[first + here, k]) for k in (0, 1))
        for k, kind in enumerate(kinds):
            weights, constants = (one.cpu() for one in rows[kind])
            states = level.states[kind].cpu()[nodes].double()
            apart = ((weights[right] - weights[wrong]) * states).sum(1)
            found[first + here, before[here], k] = apart + constants[right] - constants[wrong]
        ids = [np.array([getattr(some[first + int(s)], name) for s in here], np.int64)
               for name in ("right", "wrong")]  # fmt: skip
        own = [reader.log_probabilities(level.y, level.node_of[here], words) for words in ids]
        found[first + here, before[here], len(kinds)] = own[0] - own[1]
        advance(len(here))
    return found
