"""The names of what a model reads and of what it predicts, and how a word becomes one of them."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from annotated_types import Len, MaxLen

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Name, Strict
from rnnlens.base.rules import message, pattern, text
from rnnlens.labels.sets import MOST_LABELS, NUM, UNK, UNKNOWN

_NUMERAL = pattern("numeral")


def is_numeral(word: str) -> bool:
    """Whether a word is a number in digits."""
    return _NUMERAL.fullmatch(word) is not None


def composed(word: str) -> str:
    """A word with every letter and its accents as one character, where there is one."""
    return word if word.isascii() else unicodedata.normalize("NFC", word)


@dataclass(frozen=True)
class Vocabulary:
    """The labels that a model predicts and the words that it reads.

    For the language models that rnnlens trains, these are the same; what it trains to tag or to
    classify has labels apart from the words.
    """

    labels: tuple[str, ...]  # in the order of their numbers
    counts: tuple[int, ...]  # how often each is to be predicted in the training data
    numerals: frozenset[str] = frozenset()  # spelled-out words that the corpus tags as numbers
    lowercase: bool = True  # words are folded
    numbers: bool = True  # numerals become NUM
    words: tuple[str, ...] | None = None  # that the model reads; None: the labels
    of_texts: bool = False  # a label is said of a whole text

    @classmethod
    def of_user(
        cls, labels: tuple[str, ...], counts: tuple[int, ...], words: tuple[str, ...]
    ) -> "Vocabulary":
        """A user's vocabulary, whose words are taken as they are; empty where they are unnamed."""
        same = None if words == labels else words
        return cls(labels, counts, lowercase=False, numbers=False, words=same)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of what is read."""
        return self.labels if self.words is None else self.words

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each word that is read."""
        return {word: number for number, word in enumerate(self.inputs)}

    @cached_property
    def unknown(self) -> int | None:
        """The number of unknown words, where there is one."""
        names = (UNK,) if self.lowercase or self.numbers else UNKNOWN
        return next((self.index[name] for name in names if name in self.index), None)

    @cached_property
    def placeholders(self) -> dict[str, str]:
        """Labels that stand for many words, and what these are: none where labels are no words."""
        if self.words is not None:
            return {}
        names = {} if self.unknown is None else {self.labels[self.unknown]: text("unknown_name")}
        if self.numbers and NUM in self.index:
            names[NUM] = text("number_name")
        return names

    def __len__(self) -> int:
        return len(self.labels)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The numbers of words that somebody typed; numerals are recognised by their digits."""
        return [self._number(word) for word in words]

    def _number(self, word: str) -> int:
        folded = word.lower() if self.lowercase and word not in (NUM, UNK) else word
        if self.numbers and folded in self.numerals:
            return self.index[NUM]
        number = self.index.get(folded)
        if number is None and not folded.isascii():  # é may be typed as e and an accent
            number = self.index.get(composed(folded))
        if number is None and self.numbers and is_numeral(folded):
            number = self.index.get(NUM)
        if number is None:
            number = self.unknown
        if number is None:
            raise RnnlensError(self._missing(word))
        return number

    def _missing(self, word: str) -> str:
        if not self.inputs:
            return message("no_word_names")
        return message("no_word", word=repr(word), unknown=", ".join(UNKNOWN))

    def to_json(self) -> dict[str, Any]:
        """What vocabulary.json holds."""
        return {
            "labels": self.labels,
            "counts": self.counts,
            "numerals": sorted(self.numerals),
            "lowercase": self.lowercase,
            "numbers": self.numbers,
            "inputs": self.words,
            "of_texts": self.of_texts,
        }

    @classmethod
    def of_file(cls, file: "VocabularyFile") -> "Vocabulary":
        """The inverse of `to_json`."""
        return cls(
            file.labels, file.counts, frozenset(file.numerals), file.lowercase, file.numbers,
            file.inputs, file.of_texts,
        )  # fmt: skip


@dataclass(frozen=True)
class VocabularyFile(Strict):
    """What vocabulary.json holds; older versions wrote a user's vocabulary without the defaults."""

    labels: Annotated[tuple[Name, ...], Len(1, MOST_LABELS)]
    counts: tuple[Count, ...]
    numerals: Annotated[tuple[Name, ...], MaxLen(MOST_LABELS)] = ()
    lowercase: bool = False
    numbers: bool = False
    inputs: Annotated[tuple[Name, ...], MaxLen(MOST_LABELS)] | None = None
    of_texts: bool = False

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.counts):
            raise ValueError("labels and counts differ in number")
        for names in (self.labels, self.inputs or ()):
            if len(set(names)) != len(names):
                raise ValueError("two names are the same")
        read = self.labels if self.inputs is None else self.inputs
        if (self.lowercase or self.numbers) and UNK not in read:
            raise ValueError(f"there is no label {UNK}")
        if self.numbers and self.numerals and NUM not in read:
            raise ValueError(f"there is no label {NUM}")
