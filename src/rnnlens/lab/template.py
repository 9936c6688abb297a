"""Templates of minimal pairs, in a small file of one's own.

    N.sg: author, key
    N.pl: authors, keys
    V.sg: is, was
    V.pl: are, were
    paradigm: one attractor
    the {N.sg|N.pl} near the {N} {V.sg|V.pl}

A line with a name and a colon is a list of words, with commas between; `paradigm:` names the
templates after it. In a template, `{N.sg}` is any word of that list and `{N}` one of any list of
that family. `{N.sg|N.pl}` is a choice, between lists whose words belong together in their order, or
between words that are written out. All choices go together: where there are several, the last
has to agree with those before, and is right or wrong; where there is one, its first alternative is
the right one. What stands in `<>` is measured alone: it is to surprise less with the first
alternatives than with the second.
"""

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.text_files import lines

MOST_DRAWS = 2**62  # that there may be of a template
_MOST_TEMPLATES, _MOST_LISTS, _MOST_WORDS, _MOST_SLOTS = 1_000, 1_000, 10_000, 30
_LONGEST = 2_000  # letters of a template
_LIST = re.compile(r"([A-Za-z]\w{0,30}(?:\.\w{1,30})?):(?:\s+(.*))?")
_PIECE = re.compile(r"\{([^{}<>]*)\}|([<>])|([^{}<>]+)")
_MATCH, _MISMATCH = "congruent", "incongruent"


@dataclass(frozen=True)
class Slot:
    """A place of a template that is filled with words."""

    lists: tuple[tuple[str, tuple[str, ...]], ...]  # by name, those that belong together
    is_choice: bool  # between two lists, word by word

    @property
    def size(self) -> int:
        """How many ways there are to fill it."""
        return len(self.lists[0][1]) if self.is_choice else sum(len(w) for _, w in self.lists)

    def word(self, number: int, side: int) -> tuple[str, str]:
        """The list's name and the word of one of these ways, and of a side of a choice."""
        if self.is_choice:
            name, words = self.lists[side]
            return name, words[number]
        for name, words in self.lists:
            if number < len(words):
                return name, words[number]
            number -= len(words)
        raise IndexError(number)


@dataclass(frozen=True)
class Template:
    """A pattern that many pairs are made of; a draw is a number for each of its slots."""

    paradigm: str
    text: str
    parts: tuple[str | Slot, ...]  # `<` and `>` around what is measured

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Those of its parts that are filled."""
        return tuple(part for part in self.parts if isinstance(part, Slot))

    @property
    def measured(self) -> bool:
        """Whether one region alone is measured."""
        return "<" in self.parts

    @cached_property
    def _choices(self) -> tuple[int, ...]:
        return tuple(k for k, slot in enumerate(self.slots) if slot.is_choice)

    @property
    def agrees(self) -> bool:
        """Whether the last of its choices has to agree with those before."""
        return len(self._choices) > 1 and not self.measured

    @property
    def count(self) -> int:
        """How many draws there are."""
        return math.prod(slot.size for slot in self.slots)

    def draws(self, seed: int, most: int) -> Iterator[tuple[int, ...]]:
        """All draws, or as many at random, but for those in which a word stands twice."""
        every = range(self.count)
        chosen: Sequence[int] = every
        if self.count > most:
            chosen = sorted(random.Random(f"{seed} {self.text}").sample(every, most))  # noqa: S311
        for number in chosen:
            draw = list[int]()
            for slot in self.slots:
                number, place = divmod(number, slot.size)  # noqa: PLW2901 - digit by digit
                draw.append(place)
            if not self._repeats(draw):
                yield tuple(draw)

    def _repeats(self, draw: Sequence[int]) -> bool:
        """Whether a word of a list stands in two places."""
        seen = set[str]()
        for slot, number in zip(self.slots, draw, strict=True):
            if slot.size == 1:
                continue
            words = {slot.word(number, side)[1] for side in range(1 + slot.is_choice)}
            if words & seen:
                return True
            seen |= words
        return False

    def sentence(self, draw: Sequence[int], side: int) -> tuple[str, ...]:
        """The right sentence with the alternatives of a side, by regions."""
        return self._filled(draw, dict.fromkeys(self._choices, side))

    def other(self, draw: Sequence[int], side: int) -> tuple[str, ...]:
        """The one beside it that is wrong: its last choice is another; or, where no choice has to
        agree with others, all are.
        """
        sides = dict.fromkeys(self._choices, side)
        for choice in self._choices[-1:] if self.agrees else self._choices:
            sides[choice] = 1 - side
        return self._filled(draw, sides)

    def _filled(self, draw: Sequence[int], sides: Mapping[int, int]) -> tuple[str, ...]:
        regions: list[list[str]] = [[]]
        number = 0
        for part in self.parts:
            if isinstance(part, Slot):
                regions[-1].append(part.word(draw[number], sides.get(number, 0))[1])
                number += 1
            elif part in ("<", ">"):
                regions.append([])
            else:
                regions[-1].append(part)
        return tuple(" ".join(filter(None, region)) for region in regions)

    def condition(self, draw: Sequence[int], side: int) -> str:
        """Which forms words have where lists of one family differ, such as `incongruent, sg pl`."""
        first = self.slots[self._choices[0]].word(0, side)[0]
        family, _, form = first.partition(".")
        others = []
        for slot, number in zip(self.slots, draw, strict=True):
            if not slot.is_choice and len(slot.lists) > 1:
                name = slot.word(number, 0)[0].partition(".")
                others += [name[2]] if name[0] == family else []
        if not others:
            return form if self.agrees else ""
        fit = _MATCH if {*others} == {form} else _MISMATCH
        return f"{fit}, {' '.join([form, *others])}"


def is_incongruent(condition: str) -> bool:
    """Whether a condition says that words between disagree with those that matter."""
    return condition.startswith(_MISMATCH)


def read_templates(path: Path) -> list[Template]:
    """The templates of a file."""
    lists, found = dict[str, tuple[str, ...]](), list[Template]()
    paradigm = path.stem
    for number, line in enumerate(lines(path, "utf-8"), 1):
        text, where = line.strip(), f"{path}, line {number}"
        if not text or text.startswith("#"):
            continue
        if form := _LIST.fullmatch(text):
            name, rest = form[1], form[2] or ""
            if name == "paradigm":
                paradigm = rest.strip()[:200] or path.stem
                continue
            words = tuple(" ".join(one.split()) for one in rest.split(",") if one.strip())
            if not words or len(words) > _MOST_WORDS or len(lists) >= _MOST_LISTS:
                raise RnnlensError(
                    f"{where}: the list {name} has {len(words):,} words; give 1 to {_MOST_WORDS:,}"
                    f", and at most {_MOST_LISTS:,} lists"
                )
            lists[name] = words
            continue
        found.append(_template(text, paradigm, lists, where))
        if len(found) > _MOST_TEMPLATES:
            raise RnnlensError(f"{where}: {_MOST_TEMPLATES:,} templates are the most; give fewer")
    if not found:
        raise RnnlensError(
            f"{path} has no template; write one, such as: the {{N.sg|N.pl}} {{V.sg|V.pl}} here"
        )
    return found


def _template(
    text: str, paradigm: str, lists: Mapping[str, tuple[str, ...]], where: str
) -> Template:
    if len(text) > _LONGEST:
        raise RnnlensError(f"{where}: a template has at most {_LONGEST:,} letters; shorten it")
    parts, at = list[str | Slot](), 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            raise RnnlensError(f"{where}: the brackets at {text[at : at + 20]!r} do not pair; mend "
                               "them")  # fmt: skip
        at = piece.end()
        if piece[1] is not None:
            parts.append(_slot(piece[1], lists, where))
        elif plain := (piece[2] or piece[3]).strip():
            parts.append(plain)
    made = Template(paradigm, text, tuple(parts))
    marks = [part for part in parts if part in ("<", ">")]
    if marks not in ([], ["<", ">"]):
        raise RnnlensError(f"{where}: a template measures one place, in <>; mend it")
    if not any(slot.is_choice for slot in made.slots):
        raise RnnlensError(
            f"{where}: a template has a choice, such as {{is|are}}, and this has none; give it one"
        )
    if len(made.slots) > _MOST_SLOTS or made.count > MOST_DRAWS:
        raise RnnlensError(
            f"{where}: a template has at most {_MOST_SLOTS} places and 2^62 ways to fill them, and "
            f"this has {len(made.slots)} and about 10^{math.log10(made.count):.0f}; shorten it"
        )
    return made


def _slot(text: str, lists: Mapping[str, tuple[str, ...]], where: str) -> Slot:
    if "|" not in text:
        name = text.strip()
        there = {k: w for k, w in lists.items() if k == name or k.startswith(f"{name}.")}
        if not there:
            raise RnnlensError(f"{where}: there is no list {name[:40]!r}; write it above: "
                               f"{name[:40]}: words, with commas")  # fmt: skip
        return Slot(tuple(there.items()), is_choice=False)
    pair = [one.strip() for one in text.split("|")]
    if len(pair) != 2:
        raise RnnlensError(f"{where}: {{{text[:40]}}} has {len(pair)} alternatives; give two")
    # An alternative that is no list is a word, or nothing at all.
    sides = [(name, lists.get(name, (name,))) for name in pair]
    sizes = [len(words) for _, words in sides]
    if sizes[0] != sizes[1]:
        raise RnnlensError(
            f"{where}: {{{text[:40]}}} has {sizes[0]} words on one side and {sizes[1]} on the "
            "other; give as many, in the same order"
        )
    if sides[0][1] == sides[1][1]:
        raise RnnlensError(f"{where}: both sides of {{{text[:40]}}} are the same; give two")
    return Slot(tuple(sides), is_choice=True)
