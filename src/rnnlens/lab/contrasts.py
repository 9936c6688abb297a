"""What an item is about: two forms after one context, and two contexts that want other forms.

*Forms* are a context and two words that could come next, one of them right. A *contrast* is two
contexts of as many words, of which one wants the one word and the other the other; or, where items
have one word alone, one context that wants it and one that does not.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from rnnlens.lab.encoded import EncodedItem

NONE = -1  # in the place of a word that there is not


@dataclass(frozen=True)
class Forms:
    """A context, and two words that could come next."""

    paradigm: str
    condition: str
    item: int  # its number among those asked
    context: tuple[int, ...]
    right: int
    wrong: int

    @property
    def contexts(self) -> tuple[tuple[int, ...], ...]:
        """What it has for contexts."""
        return (self.context,)


@dataclass(frozen=True)
class Contrast:
    """Two contexts, equally long: the first wants `right`, the second `wrong`, if there is one."""

    paradigm: str
    condition: str  # of the first
    other: str  # of the second
    first: tuple[int, ...]
    second: tuple[int, ...]
    right: int
    wrong: int  # NONE: the second wants anything but the right word

    @property
    def contexts(self) -> tuple[tuple[int, ...], ...]:
        """Both."""
        return self.first, self.second

    @property
    def begin(self) -> int:
        """The first word in which both contexts differ."""
        pairs = zip(self.first, self.second, strict=True)
        return next(k for k, (a, b) in enumerate(pairs) if a != b)


Sort = TypeVar("Sort", Forms, Contrast)


def parted(some: Sequence[Sort], sizes: Sequence[int], seed: Sequence[int]) -> list[list[Sort]]:
    """Some of these in as many parts as there are sizes, and the others in a last one, drawn at
    random so that no context is in two parts: a context comes once with every verb, and one that
    was learned from is not held out. A part has its size as nearly as its contexts allow.
    """
    same: dict[tuple[int, ...], tuple[int, ...]] = {}

    def first(context: tuple[int, ...]) -> tuple[int, ...]:
        while same.setdefault(context, context) != context:
            context = same[context]
        return context

    for one in some:
        for context in one.contexts[1:]:
            same[first(context)] = first(one.contexts[0])
    groups: dict[tuple[int, ...], list[Sort]] = defaultdict(list)
    for one in some:
        groups[first(one.contexts[0])].append(one)
    every = list(groups.values())
    parts: list[list[Sort]] = [[] for _ in (*sizes, 0)]
    at = 0
    for k in np.random.default_rng(list(seed)).permutation(len(every)).tolist():
        if at < len(sizes) and parts[at] and 2 * (sizes[at] - len(parts[at])) < len(every[k]):
            at += 1
        parts[at] += every[k]
    return parts


def forms(items: Sequence[EncodedItem]) -> list[Forms]:
    """Of every comparison of two words after the same context, these."""
    found = []
    for number, one in enumerate(items):
        for region, condition, other_region, other in one.formula.comparisons:
            right, wrong = one.sentences[condition], one.sentences[other]
            places = right.region(region), wrong.region(other_region)
            if not all(places) or not places[0].start:
                continue
            context = right.ids[: places[0].start]
            pair = right.ids[places[0].start], wrong.ids[places[1].start]
            if context == wrong.ids[: places[1].start] and pair[0] != pair[1]:
                about = one.item.paradigm, one.item.condition
                found.append(Forms(*about, number, context, *pair))
    return found


def contrasts(items: Sequence[EncodedItem]) -> list[Contrast]:
    """Of items that belong together, and of comparisons of one word after two contexts, these."""
    couples: dict[object, list[Forms]] = defaultdict(list)
    for one in forms(items):
        item = items[one.item].item
        couples[item.couple or (item.paradigm, item.number, item.condition)].append(one)
    found = []
    for some in couples.values():
        for k, a in enumerate(some):
            for b in some[k + 1 :]:
                alike = len(a.context) == len(b.context) and a.context != b.context
                if alike and (a.right, a.wrong) == (b.wrong, b.right):
                    found.append(Contrast(a.paradigm, a.condition, b.condition, a.context,
                                          b.context, a.right, a.wrong))  # fmt: skip
    return [*found, *_of_one_word(items)]


def _of_one_word(items: Sequence[EncodedItem]) -> list[Contrast]:
    found = []
    for one in items:
        for region, condition, other_region, other in one.formula.comparisons:
            right, wrong = one.sentences[condition], one.sentences[other]
            place = right.region(region), wrong.region(other_region)
            if not all(place) or place[0].start != place[1].start or not place[0].start:
                continue
            at = place[0].start
            contexts = right.ids[:at], wrong.ids[:at]
            if contexts[0] != contexts[1] and right.ids[at] == wrong.ids[at]:
                about = one.item.paradigm, one.item.condition, one.item.condition
                found.append(Contrast(*about, *contexts, right.ids[at], NONE))
    return found
