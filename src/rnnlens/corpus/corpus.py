"""From tokens to encoded splits: the paper's preprocessing, on arrays."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    cut,
    cuts,
    read_tokens,
    split,
)
from rnnlens.corpus.vocabulary import NUM, UNK, Vocabulary, is_numeral
from rnnlens.errors import RnnlensError
from rnnlens.flags import option

Words = Callable[[str], Iterable[str]]

_UNKNOWN_IN_SOURCE = "<unk>"  # what stands for UNK in corpora that others have preprocessed


@dataclass(frozen=True)
class CorpusConfig(ReadingConfig):
    """How a corpus is read and preprocessed; the defaults are the paper's."""

    min_count: int = option(3, "words seen less often in training become UNK", least=1, below=2**31)
    lowercase: bool = option(True, "fold case")
    numbers: bool = option(True, "map numerals to NUM")


@dataclass(frozen=True)
class Corpus:
    """Sentences as they stand in a source, and the split that each belongs to."""

    name: str
    format: str
    tokens: Tokens
    part: Ints  # (S,) a place in SPLITS

    @classmethod
    def read(cls, source: str, config: ReadingConfig, *, lowercase: bool = False) -> "Corpus":
        """Read a source and split its sentences; `lowercase` folds the case of words."""
        format_, tokens = read_tokens(source, config, lowercase=lowercase)
        return cls.of(source, format_, tokens, config)

    @classmethod
    def of(cls, name: str, format: str, tokens: Tokens, config: ReadingConfig) -> "Corpus":
        """Split tokens into sentences for training, validation and test."""
        return cls(name, format, tokens, split(tokens.part, config))

    @property
    def hash(self) -> str:
        """Identifies the contents of the corpus, wherever it is read from."""
        return self.tokens.hash

    def sentences(self, which: str) -> Iterator[Sentence]:
        """The sentences of one of SPLITS, as words."""
        forms, tokens = self.tokens.forms, self.tokens
        for number in np.flatnonzero(self.part == SPLITS.index(which)):
            a, b = tokens.starts[number], tokens.starts[number + 1]
            tags = tokens.tags[a:b]
            yield Sentence(
                tuple(forms[k] for k in tokens.words[a:b]),
                None if (tags == NO_TAG).any() else tuple(UNIVERSAL[tag] for tag in tags),
            )


@dataclass(frozen=True)
class EncodedCorpus:
    """What training and fitting see: encoded splits, the vocabulary, and how it was made."""

    name: str
    format: str
    hash: str
    vocabulary: Vocabulary
    splits: dict[str, Split]
    tags: dict[str, Ints]  # of each word of a split, a place in UNIVERSAL; negative: it has none
    tag_counts: NDArray[np.int64]  # (V, len(UNIVERSAL)) of each label in training data
    unknown: dict[str, float]  # share of UNK among the words of each split
    short: int  # sentences left out because they have a single word
    cut: int  # sentences cut into pieces because they are too long

    def describe(self) -> str:
        """A summary in a few lines."""
        labels = len(self.vocabulary)
        lines = [f"corpus      {self.name} ({self.format}), vocabulary of {labels:,}"]
        for name, part in self.splits.items():
            lines.append(
                f"{name:<12}{len(part):>9,} sentences {len(part.ids):>12,} words"
                f"  {self.unknown[name]:6.1%} unknown"
            )
        if self.short:
            lines.append(f"left out    {self.short:,} sentences of a single word")
        if self.cut:
            lines.append(f"cut         {self.cut:,} sentences that were too long (--longest)")
        return "\n".join(lines)


def load_corpus(source: str, config: CorpusConfig) -> EncodedCorpus:
    """Read, split, build the vocabulary from the training part, encode."""
    return encode(Corpus.read(source, config, lowercase=config.lowercase), config)


def encode(corpus: Corpus, config: CorpusConfig) -> EncodedCorpus:
    """Make the vocabulary of the training part, and encode every part with it."""
    name, tokens, part = corpus.name, corpus.tokens, corpus.part
    in_train = np.repeat(part == 0, np.diff(tokens.starts))  # (N,)
    digits = np.array([is_numeral(form) for form in tokens.forms])
    spelled = (
        _spelled_numerals(tokens, in_train, digits, config.min_count) if config.numbers else []
    )
    words = _numerals_as_one(tokens, digits) if config.numbers else tokens.words
    names, labels = _label(tokens.forms, words, in_train, config.min_count)
    if len(names) < 3:
        raise RnnlensError(
            f"{name} gives a vocabulary of {len(names) - 1} word(s) besides UNK; give more text "
            f"or a lower --min-count (now {config.min_count})"
        )
    starts, sentence = cut(tokens.starts, config.longest)
    splits = {
        which: Split.of(labels, starts, np.flatnonzero(part[sentence] == k))
        for k, which in enumerate(SPLITS)
    }
    tagged = np.where(tokens.tags == NO_TAG, -1, tokens.tags)
    tags = {
        which: Split.of(tagged, starts, np.flatnonzero(part[sentence] == k)).ids
        for k, which in enumerate(SPLITS)
    }
    counts = np.bincount(splits["train"].targets(), minlength=len(names))
    vocabulary = Vocabulary(
        tuple(names), tuple(counts.tolist()), frozenset(spelled), config.lowercase, config.numbers
    )
    return EncodedCorpus(
        name=name,
        format=corpus.format,
        hash=tokens.hash,
        vocabulary=vocabulary,
        splits=splits,
        tags=tags,
        tag_counts=tag_counts_of(labels[in_train], tokens.tags[in_train], len(names)),
        unknown={s: float((v.ids == vocabulary.unknown).mean()) for s, v in splits.items()},
        short=tokens.short,
        cut=int((np.bincount(sentence) > 1).sum()),
    )


def numbered(
    sentences: Iterable[Sentence], vocabulary: Vocabulary, words: Words, longest: int
) -> tuple[Split, Ints]:
    """Encode sentences by a user's vocabulary; also the tag of each word, or NO_TAG.

    `words` splits a sentence as it splits a text that somebody types. Tags belong to the words of
    the corpus, so a sentence that `words` splits otherwise has none.
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


def _spelled_numerals(
    tokens: Tokens, in_train: NDArray[np.bool_], digits: NDArray[np.bool_], min_count: int
) -> list[str]:
    """Words such as `two` that training data tags as numerals more often than not."""
    size = len(tokens.forms)
    numeral = np.bincount(tokens.words[in_train & (tokens.tags == TAG_IDS["NUM"])], minlength=size)
    seen = np.bincount(tokens.words[in_train], minlength=size)
    spelled = np.array([not any(c.isdigit() for c in form) for form in tokens.forms])
    often = (2 * numeral > seen) & (spelled | (seen >= min_count)) & ~digits
    return [tokens.forms[k] for k in np.flatnonzero(often)]


def _numerals_as_one(tokens: Tokens, digits: NDArray[np.bool_]) -> Ints:
    """The number of each word, where all numerals have the number after that of the last form.

    A numeral is recognised by its tag, or by its digits if it has no tag.
    """
    numeral = (tokens.tags == TAG_IDS["NUM"]) | ((tokens.tags == NO_TAG) & digits[tokens.words])
    return np.where(numeral, len(tokens.forms), tokens.words)


def _label(
    forms: list[str], words: Ints, in_train: NDArray[np.bool_], min_count: int
) -> tuple[list[str], Ints]:
    """Label names, the most frequent first, with rare words as UNK; and the label of each token."""
    num, unk = len(forms), len(forms) + 1
    same = np.arange(len(forms) + 2)  # forms that stand for NUM or UNK already
    same[[k for k, form in enumerate(forms) if form == NUM]] = num
    same[[k for k, form in enumerate(forms) if form in (UNK, _UNKNOWN_IN_SOURCE)]] = unk
    words = same[words]
    counts = np.bincount(words[in_train], minlength=len(same))
    rare = counts < min_count
    rare[[num, unk]] = counts[num] == 0, False
    counts[unk] += counts[rare].sum()
    kept = np.flatnonzero(~rare & (same == np.arange(len(same))))
    kept = kept[np.argsort(-counts[kept], kind="stable")]
    label_of = np.full(len(same), int(np.flatnonzero(kept == unk)[0]))
    label_of[kept] = np.arange(len(kept))
    names = [*forms, NUM, UNK]
    return [names[k] for k in kept], label_of[words]


def tag_counts_of(labels: Ints, tags: Ints, size: int) -> Ints:
    """How often each label has each universal part of speech, (size, tags)."""
    tagged = tags != NO_TAG
    cells = labels[tagged] * len(UNIVERSAL) + tags[tagged]
    return np.bincount(cells, minlength=size * len(UNIVERSAL)).reshape(size, len(UNIVERSAL))
