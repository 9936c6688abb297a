"""A corpus for somebody's own module: its sentences in the numbers that the module reads."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rnnlens.corpus.batches import Split
from rnnlens.corpus.sentence import Sentence
from rnnlens.corpus.tags import UNIVERSAL
from rnnlens.corpus.tokens import (
    NO_TAG,
    SPLITS,
    TAG_IDS,
    Ints,
    ReadingConfig,
    Tokens,
    cuts,
    read_tokens,
    split,
)
from rnnlens.errors import RnnlensError

UNKNOWN = ("<unk>", "<UNK>", "[UNK]", "UNK", "unk")  # what a module may call unknown words

_SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")  # <eos>, [CLS]
Words = Callable[[str], Iterable[str]]


def is_special(label: str) -> bool:
    """Whether a label is no word, but a mark such as <eos> or [PAD]; unknown words are words."""
    return label not in UNKNOWN and _SPECIAL.fullmatch(label) is not None


@dataclass(frozen=True)
class OwnVocabulary:
    """The names of what a module reads and of what it predicts."""

    labels: tuple[str, ...]
    counts: tuple[int, ...]  # of each label among the targets of training
    inputs: tuple[str, ...]  # empty where nobody has named them

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.inputs)}

    @cached_property
    def unknown(self) -> int | None:
        """The number of unknown words, where the module has one."""
        return next((self._numbers[name] for name in UNKNOWN if name in self._numbers), None)

    def encode(self, words: Iterable[str]) -> list[int]:
        """What the module reads for words."""
        found = []
        for word in words:
            number = self._numbers.get(word, self.unknown)
            if number is None:
                raise RnnlensError(self._missing(word))
            found.append(number)
        return found

    def _missing(self, word: str) -> str:
        if not self.inputs:
            return "nobody has said what the module reads; give inputs= the names of its words"
        return (
            f"the module has no word {word!r} and none for unknown words ({', '.join(UNKNOWN)}); "
            "use words it knows, or say how a text is split (words=) and what is read (inputs=)"
        )

    def to_json(self) -> dict[str, Any]:
        """What vocabulary.json holds."""
        same = self.inputs == self.labels
        return {
            "labels": self.labels,
            "counts": self.counts,
            "inputs": None if same else self.inputs,
        }

    @classmethod
    def from_json(cls, value: Any) -> "OwnVocabulary":
        """The inverse of `to_json`."""
        try:
            labels, counts = tuple(map(str, value["labels"])), tuple(map(int, value["counts"]))
            inputs = labels if value["inputs"] is None else tuple(map(str, value["inputs"]))
        except (KeyError, TypeError, ValueError) as error:
            raise RnnlensError(f"the vocabulary is damaged ({error!r}); restore it") from error
        if not labels or not len(labels) == len(counts) == len(set(labels)):
            raise RnnlensError("the vocabulary is damaged (labels and counts differ); restore it")
        return cls(labels, counts, inputs)


@dataclass(frozen=True)
class UserCorpus:
    """Sentences as they were read, and which of them are for what."""

    name: str
    format: str
    tokens: Tokens
    part: Ints  # (S,) a place in SPLITS

    @classmethod
    def read(cls, source: str, config: ReadingConfig) -> "UserCorpus":
        """Read and split; nothing is folded or replaced, for the module's words are its own."""
        format_, tokens = read_tokens(source, config, lowercase=False)
        return cls(source, format_, tokens, split(tokens.part, config))

    @property
    def hash(self) -> str:
        """Identifies what was read, wherever it was read from."""
        return self.tokens.hash

    def sentences(self, which: str) -> Iterator[Sentence]:
        """Those for training, validation or test."""
        forms, tokens = self.tokens.forms, self.tokens
        for number in np.flatnonzero(self.part == SPLITS.index(which)):
            a, b = tokens.starts[number], tokens.starts[number + 1]
            tags = tokens.tags[a:b]
            yield Sentence(
                tuple(forms[k] for k in tokens.words[a:b]),
                None if (tags == NO_TAG).any() else tuple(UNIVERSAL[tag] for tag in tags),
            )


def numbered(
    sentences: Iterable[Sentence], vocabulary: OwnVocabulary, words: Words, longest: int
) -> tuple[Split, Ints]:
    """Sentences in the module's numbers, and the tag of each, NO_TAG where there is none.

    `words` splits a sentence as it splits a text that somebody types; tags belong to the words of
    the corpus, so a sentence that is split otherwise has none.
    """
    ids: list[int] = []
    tags: list[int] = []
    lengths: list[int] = []
    for sentence in sentences:
        pieces = list(words(" ".join(sentence.words)))
        ids += vocabulary.encode(pieces)
        aligned = sentence.tags is not None and len(pieces) == len(sentence.words)
        tags += [TAG_IDS[tag] for tag in sentence.tags or ()] if aligned else [NO_TAG] * len(pieces)
        lengths += cuts(len(pieces), longest)
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    return Split(np.array(ids, np.int64), starts), np.array(tags, np.int64)


def equally_long(split: Split, most: int) -> Iterator[Ints]:
    """Every sentence of two words or more once, in groups of one length: none needs padding."""
    order = np.random.default_rng(0).permutation(len(split))
    order = order[np.argsort(split.lengths[order], kind="stable")]
    lengths = split.lengths[order]
    for group in np.split(order, np.flatnonzero(np.diff(lengths)) + 1):
        if len(group) and split.lengths[group[0]] > 1:
            yield from np.split(group, range(most, len(group), most))
