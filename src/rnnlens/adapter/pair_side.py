"""Pairs as texts, `source => target`: the words of both are rows, those of the source first.

A text without the sign, or with nothing behind it, is a source whose target the module writes
itself. A sign behind a backslash is one of the text.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from rnnlens.adapter.attention import MOST_HEADS
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import text as rule
from rnnlens.corpus.pieces.piece_text import Place
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.model.cell import States
from rnnlens.model.text import Example, TextSide

SIGN = rule("pair_sign")
ATTENTION = "attention"  # what a run keeps of a pair beside its states
_SIGN = re.compile(rf"(?<!\\)\s*{re.escape(SIGN)}\s*")
_REMEMBERED = 128  # texts whose words are
_SUM = 0.01  # by which weights over a source may miss 1


class Pair(NamedTuple):
    """The words of a pair."""

    source: tuple[str, ...]
    target: tuple[str, ...]


def joined(source: str, target: str) -> str:
    """A pair as one text."""
    return f"{escaped(source)} {SIGN} {escaped(target)}"


def escaped(text: str) -> str:
    """A text whose signs are its own."""
    return text.replace(SIGN, f"\\{SIGN}")


def check_kept(beside: Mapping[str, Tensor], source: int, target: int) -> None:
    """Raise ValueError where that is nothing that a run keeps of a pair of so many words."""
    for name, kept in beside.items():
        sound = name == ATTENTION and kept.dtype == torch.float32
        values = kept[None] if kept.dim() == 2 else kept  # of one head, by older versions
        sound = sound and values.dim() == 3 and 0 < len(values) <= MOST_HEADS
        sound = sound and values.shape[1:] == (target, source) and bool((values >= 0).all())
        if not sound or not bool(((values.sum(-1) - 1).abs() <= _SUM).all()):  # nor are there nans
            raise ValueError(f"what it keeps as {name[:40]} is not such as a pair has")


@dataclass(frozen=True)
class PairSide(TextSide):
    """How pairs are given to a user's module."""

    source: Vocabulary = field(default_factory=lambda: Vocabulary((), ()))
    #: The words that the module writes for a source, by their numbers.
    generate: Callable[[Sequence[int]], Sequence[int]] = field(default=lambda _: ())
    attend: Callable[[Sequence[int]], States] = field(default=lambda _: {})
    _known: "OrderedDict[str, Pair]" = field(default_factory=OrderedDict)

    @property
    def _offset(self) -> int:
        """From which on numbers are those of the source's words."""
        return len(self.vocabulary.inputs)

    def pair(self, text: str) -> Pair:
        """The words of both sides of a text; a source alone is given a target."""
        if text not in self._known:
            self._known[text] = self._pair(text)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return self._known[text]

    def _pair(self, text: str) -> Pair:
        parts = _SIGN.split(text, maxsplit=1)
        if len(parts) == 2 and _SIGN.search(parts[1]):
            raise RnnlensError(
                f"{text[:60]!r} has {SIGN} twice; write source {SIGN} target, and \\{SIGN} for one "
                "that is a word"
            )
        source, target = (part.replace(f"\\{SIGN}", SIGN).strip() for part in (*parts, "")[:2])
        read = self._split(source)
        if not read:
            if target:
                raise RnnlensError(f"there is no source before {SIGN}; write source {SIGN} target")
            return Pair((), ())
        if target:
            return Pair(read, self._begun(self._split(target)))
        written = self.generate(self.source.encode(read))
        return Pair(read, tuple(self.vocabulary.inputs[one] for one in written))

    def words(self, text: str) -> tuple[str, ...]:
        pair = self.pair(text)
        return (*pair.source, *pair.target)

    def numbers(self, text: str, words: Sequence[str]) -> list[int]:
        count = len(self.pair(text).source)
        return [
            *(self._offset + number for number in self.source.encode(words[:count])),
            *self.vocabulary.encode(words[count:]),
        ]

    def encode(self, words: Iterable[str]) -> list[int]:  # noqa: ARG002 - none can be
        raise RnnlensError(
            f"a pair is wanted, source {SIGN} target, where words were given; measure on batches"
        )

    def sources(self, ids: Sequence[int]) -> int:
        return sum(number >= self._offset for number in ids)

    def generated(self, text: str) -> bool:
        source, *target = _SIGN.split(text, maxsplit=1)
        return bool(source.strip()) and not "".join(target).strip()

    def came(self, ids: Sequence[int]) -> list[int]:
        return [-1 if self._is_source(number) or not self.follows else number for number in ids]

    def labels_of(self, ids: Sequence[int]) -> list[int]:
        return self.came(ids)

    def _is_source(self, number: int) -> bool:
        return number >= self._offset

    def name(self, number: int) -> str:
        if self._is_source(number):
            return self.source.inputs[number - self._offset]
        return super().name(number)

    def is_unknown(self, number: int) -> bool:
        if self._is_source(number):
            return number - self._offset == self.source.unknown
        return super().is_unknown(number)

    def may_lack(self, ids: Sequence[int], place: int) -> bool:
        count = self.sources(ids)
        of_its_side = count if place < count else len(ids) - count
        return of_its_side > 1 and not self._begins(ids[place])

    def _begins(self, number: int) -> bool:
        """Whether it is the word that every target begins with."""
        return self.begin is not None and number == self.vocabulary.index.get(self.begin)

    def frequencies(self, beside: int) -> Sequence[int] | None:
        if self._begins(beside):
            return ()
        return [*[0] * self._offset, *self.source.counts] if self._is_source(beside) else None

    def stand_in(self, word: str | None, beside: int) -> int | None:
        words, first = (
            (self.source, self._offset) if self._is_source(beside) else (self.vocabulary, 0)
        )
        if self._begins(beside):
            return None  # nothing else begins a target
        number = words.unknown if word is None else words.index.get(word)
        return None if number is None else first + number

    def typed(self, source: Sequence[int], target: Sequence[int]) -> str:
        """The text that somebody would type for a pair; empty: there is none."""
        read = tuple(self.source.inputs[number] for number in source)
        written = tuple(self.vocabulary.inputs[number] for number in target)
        first = int(written[:1] == (self.begin,))
        texts = [(space.join(read), space.join(written[first:])) for space in (" ", "")]
        if self.pieces:
            texts = [(self.pieces.written(source), self.pieces.written(target[first:]))]
        for text in (joined(*sides) for sides in texts):
            if written[first:] and self._pair(text) == (read, written):
                return text
        return ""

    def places(self, ids: Sequence[int]) -> list[Place]:
        if self.pieces is None:
            return [""] * len(ids)
        return [place for side in self.split_ids(ids) for place in self.pieces.places(side)]

    def split_ids(self, ids: Sequence[int]) -> tuple[list[int], list[int]]:
        """The numbers of the source's words, and of the target's."""
        source = [number - self._offset for number in ids if self._is_source(number)]
        return source, [number for number in ids if not self._is_source(number)]

    def beside(self, ids: Sequence[int]) -> States:
        return dict(self.attend(ids))

    def restore(self, example: Example) -> Example:
        count = self.sources(example.ids)
        words = example.words
        self._known[example.text] = Pair(words[:count], words[count:])
        return example
