"""How often a model is right about a suite: by paradigm, by condition and on the whole, each with
how sure that is, beside what was published of other models.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats, Interval, Resamples, all_or_none
from rnnlens.base.schema import rounded, sent
from rnnlens.corpus.read.text_files import json_lines
from rnnlens.lab.encoded import Encoded
from rnnlens.lab.scoring import Scored

LEAST_ITEMS = 50  # of a paradigm that the mean is over
_MOST_PUBLISHED = 10_000  # lines
_number = rounded(5)


@dataclass(frozen=True)
class Accuracy:
    """How often predictions about some items hold."""

    paradigm: str  #: Its name.
    condition: str  #: Which of its items; empty: all of them.
    items: int  #: That were asked.
    known: float | None = sent(write=_number)  #: Share of items whose words the model knows.
    accuracy: float = sent(write=_number)  #: Share of those asked that it is right about.
    low: float | None = sent(write=_number)  #: The lower end of its interval.
    high: float | None = sent(write=_number)  #: The upper end.
    margin: float | None = sent(write=_number)  #: Mean bits by which what is right surprises less.
    published: Mapping[str, float] = field(default_factory=dict)  #: Of other models, by name.


@dataclass(frozen=True)
class Published:
    """How well accuracies of another model, as published, go with these, paradigm by paradigm."""

    model: str  #: Its name.
    paradigms: int  #: That both have, with enough items.
    accuracy: float = sent(write=_number)  #: Its mean over these.
    ours: float = sent(write=_number)  #: The mean of this model over the same.
    correlation: float | None = sent(write=_number)  #: Of both, over paradigms.


@dataclass(frozen=True)
class SuiteAccuracy:
    """A model and a suite."""

    accuracy: (
        float | None
    )  #: The mean over paradigms with at least `least` items; None: there is none.
    interval: Interval | None  #: Of that mean, by items drawn within each paradigm.
    paradigms: tuple[Accuracy, ...]
    conditions: tuple[Accuracy, ...]
    published: tuple[Published, ...] = ()
    least: int = LEAST_ITEMS


def suite_accuracy(
    encoded: Encoded, scored: Scored, published: Mapping[str, Mapping[str, float]] | None = None
) -> SuiteAccuracy:
    """Accuracies by paradigm, by condition and as a mean of paradigms."""
    beside = published or {}
    places: dict[str, list[int]] = defaultdict(list)
    parts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for k, one in enumerate(encoded.items):
        places[one.item.paradigm].append(k)
        parts[one.item.paradigm, one.item.condition].append(k)
    rows, draws = list[Accuracy](), list[Floats]()
    for number, (name, some) in enumerate(places.items()):
        out = encoded.left_out.get(name, 0)
        known = 1 - out / (len(some) + out + encoded.silent.get(name, 0))
        row, drawn = _accuracy(scored, some, name, "", known, beside.get(name, {}), number)
        rows.append(row)
        if len(some) >= LEAST_ITEMS:
            draws.append(drawn)
    several = {name for name in places if sum(key[0] == name for key in parts) > 1}
    conditions = [
        _accuracy(scored, some, name, condition, None, {}, 0)[0]
        for (name, condition), some in parts.items()
        if name in several
    ]
    large = [row.accuracy for row in rows if row.items >= LEAST_ITEMS]
    mean = float(np.mean(large)) if large else None
    sure = Resamples(LEAST_ITEMS).interval(np.mean(draws, 0)) if draws else None
    if sure and sure.low == sure.high:  # every paradigm is right in all or in none of its items
        ends = [(row.low, row.high) for row in rows if row.items >= LEAST_ITEMS]
        sure = Interval(*(float(np.mean([one[k] or 0.0 for one in ends])) for k in (0, 1)))
    return SuiteAccuracy(mean, sure, tuple(rows), tuple(conditions), tuple(_beside(rows, beside)))


def _accuracy(
    scored: Scored, some: Sequence[int], paradigm: str, condition: str, known: float | None,
    published: Mapping[str, float], seed: int,
) -> tuple[Accuracy, Floats]:  # fmt: skip
    right, margins = scored.right[some], scored.margins[some]
    resamples = Resamples(len(some), seed)
    drawn = resamples.ratios(right, np.ones(len(some)))
    sure = resamples.interval(drawn)
    if sure and right.min() == right.max():  # every draw is the same, and not for being sure
        sure = all_or_none(len(some), float(right[0]))
    margin = None if np.isnan(margins).any() else float(margins.mean())
    row = Accuracy(
        paradigm, condition, len(some), known, float(right.mean()), sure.low if sure else None,
        sure.high if sure else None, margin, published,
    )  # fmt: skip
    return row, drawn


def _beside(
    rows: Sequence[Accuracy], published: Mapping[str, Mapping[str, float]]
) -> list[Published]:
    found = []
    for model in dict.fromkeys(name for one in published.values() for name in one):
        both = [(row.accuracy, row.published[model]) for row in rows
                if row.items >= LEAST_ITEMS and model in row.published]  # fmt: skip
        if len(both) < 3:
            continue
        ours, theirs = np.array(both).T
        moves = ours.std() > 0 and theirs.std() > 0
        together = float(np.corrcoef(ours, theirs)[0, 1]) if moves else None
        means = float(theirs.mean()), float(ours.mean())
        found.append(Published(model, len(both), *means, together))
    return found


def read_published(path: Path) -> dict[str, dict[str, float]]:
    """Accuracies of models by paradigm, from JSON lines with a UID and a number for each model."""
    found: dict[str, dict[str, float]] = {}
    for where, record in json_lines(path, "utf-8"):
        name = record.get("UID")
        if not isinstance(name, str) or len(found) >= _MOST_PUBLISHED:
            raise RnnlensError(f"{where}: give a paradigm's UID and its accuracies, from 0 to 1")
        numbers = {
            str(key)[:80]: value
            for key, value in record.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        if strange := [key for key, value in numbers.items() if not 0 <= value <= 1]:
            raise RnnlensError(f"{where}: {strange[0]} is no accuracy from 0 to 1; mend it")
        found[name] = {key: float(value) for key, value in numbers.items()}
    return found
