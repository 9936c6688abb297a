"""The labels of a language model: its words, the numeral NUM and the unknown word UNK."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rnnlens.errors import RnnlensError

NUM = "NUM"
UNK = "UNK"

_NUMERAL = re.compile(r"[+-]?[.,]?\d[\d.,:/-]*(?:st|nd|rd|th|%)?")


def is_numeral(word: str) -> bool:
    """Whether a word is a number in digits."""
    return _NUMERAL.fullmatch(word) is not None


@dataclass(frozen=True)
class Vocabulary:
    """Labels by falling frequency, and how a word becomes one of them."""

    labels: tuple[str, ...]
    counts: tuple[int, ...]  # how often each is to be predicted in the training data
    numerals: frozenset[str] = frozenset()  # spelled-out words that the corpus tags as numbers
    lowercase: bool = True
    numbers: bool = True  # numerals become NUM

    @cached_property
    def index(self) -> dict[str, int]:
        """Label to id."""
        return {label: i for i, label in enumerate(self.labels)}

    @property
    def unknown(self) -> int:
        """The id of UNK."""
        return self.index[UNK]

    def __len__(self) -> int:
        return len(self.labels)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The label ids of words somebody typed: without tags, numerals go by their look."""
        return [self._id(word) for word in words]

    def _id(self, word: str) -> int:
        if word in (NUM, UNK):
            return self.index.get(word, self.unknown)
        word = word.lower() if self.lowercase else word
        if self.numbers and word in self.numerals:
            return self.index[NUM]
        if word in self.index:
            return self.index[word]
        if self.numbers and is_numeral(word):
            return self.index.get(NUM, self.unknown)
        return self.unknown

    def to_json(self) -> dict[str, Any]:
        """What vocabulary.json holds."""
        return {
            "labels": self.labels,
            "counts": self.counts,
            "numerals": sorted(self.numerals),
            "lowercase": self.lowercase,
            "numbers": self.numbers,
        }

    @classmethod
    def from_json(cls, value: Any) -> "Vocabulary":
        """The inverse of `to_json`."""
        try:
            made = cls(
                labels=tuple(value["labels"]),
                counts=tuple(value["counts"]),
                numerals=frozenset(value["numerals"]),
                lowercase=bool(value["lowercase"]),
                numbers=bool(value["numbers"]),
            )
            known = UNK in made.index
        except (KeyError, TypeError) as error:
            raise RnnlensError(f"the vocabulary is damaged ({error!r}); restore it") from error
        if not known or not len(made.labels) == len(made.counts) == len(made.index):
            raise RnnlensError("the vocabulary is damaged (labels and counts differ); restore it")
        return made
