"""Two models, checkpoints or cells and one suite: who is right more often, on the same items."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import interval
from rnnlens.base.schema import rounded, sent
from rnnlens.lab.laboratory import Lab
from rnnlens.lab.result import Result

_number = rounded(5)


@dataclass(frozen=True)
class Compared:
    """Two models on one paradigm, on the items whose words both know."""

    paradigm: str
    condition: str  #: Empty: all items of the paradigm.
    items: int
    first: float = sent(write=_number)  #: The accuracy of the first.
    second: float = sent(write=_number)
    difference: float = sent(write=_number)  #: The second's less the first's.
    low: float | None = sent(write=_number)  #: Of the difference, item by item.
    high: float | None = sent(write=_number)


@dataclass(frozen=True)
class SideBySide(Result):
    """Two models on a suite."""

    first: str  #: Their names.
    second: str
    rows: tuple[Compared, ...]


def side_by_side(first: Lab, second: Lab) -> SideBySide:
    """Two models on the items of one suite that both were asked."""
    if first.items.suite.items != second.items.suite.items:
        raise RnnlensError(
            f"{first.items.suite.name} and {second.items.suite.name} are two suites; ask both "
            "models the same one"
        )
    places = [{id(one.item): k for k, one in enumerate(lab.items.items)} for lab in (first, second)]
    if first.items.suite is not second.items.suite:  # read twice: the same items in the same order
        places = [_by_order(first), _by_order(second)]
    both = [key for key in places[0] if key in places[1]]
    if not both:
        raise RnnlensError("there is no item whose words both models know; give another suite")
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for key in both:
        item = first.items.items[places[0][key]].item
        groups[item.paradigm, ""].append(key)
        if item.condition:
            groups[item.paradigm, item.condition].append(key)
    rows = []
    for (paradigm, condition), keys in groups.items():
        a, b = (lab.scored.right[[there[key] for key in keys]]
                for lab, there in zip((first, second), places, strict=True))  # fmt: skip
        sure = interval(b - a)
        rows.append(Compared(
            paradigm, condition, len(keys), float(a.mean()), float(b.mean()),
            float(np.mean(b - a)), sure.low if sure else None, sure.high if sure else None,
        ))  # fmt: skip
    return SideBySide(first.subject.name, second.subject.name, tuple(rows))


def _by_order(lab: Lab) -> dict[int, int]:
    """By the place of an item in its suite, its place among those asked."""
    order = {id(item): k for k, item in enumerate(lab.items.suite.items)}
    return {order[id(one.item)]: k for k, one in enumerate(lab.items.items)}
