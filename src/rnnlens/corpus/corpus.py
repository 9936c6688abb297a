"""From a source to encoded splits: the paper's preprocessing, on arrays.

Splits are mapped files where they are long, which vanish with the process that made them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus import ahead
from rnnlens.corpus.cache import cached
from rnnlens.corpus.corpus_config import CorpusConfig as CorpusConfig  # noqa: PLC0414
from rnnlens.corpus.encoder import Encoder, Labelling, blocks, label_numbers
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.formats import number_mark_of, read, recognise
from rnnlens.corpus.read.task import CLASSIFY, NEXT
from rnnlens.corpus.split import Split
from rnnlens.corpus.storage import Numbers, Shelf
from rnnlens.corpus.tokens import (
    NO_TAG,
    SPLITS,
    TAG_IDS,
    Ints,
    ReadingConfig,
    Tokens,
    collect,
    cuts,
    split,
)
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.labels.sets import NUM

Words = Callable[[str], Iterable[str]]


@dataclass(frozen=True)
class Corpus:
    """Sentences as they stand in a source, and the split that each belongs to."""

    name: str
    format: str
    tokens: Tokens
    part: Numbers  # (S,) a place in SPLITS

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
    tags: dict[str, Numbers]  # of each word of a split, a place in UNIVERSAL; negative: it has none
    tag_counts: NDArray[np.int64]  # (V, len(UNIVERSAL)) of each label in training data
    unknown: dict[str, float]  # share of UNK among the words of each split
    short: int  # sentences left out because they have a single word
    cut: int  # sentences cut into pieces because they are too long

    def describe(self) -> str:
        """A summary in a few lines."""
        words, labels = self.vocabulary.words, len(self.vocabulary)
        size = f"vocabulary of {len(words or self.vocabulary.labels):,}"
        size += f", {labels:,} labels" if words is not None else ""
        lines = [f"corpus      {self.name} ({self.format}), {size}"]
        for name, part in self.splits.items():
            lines.append(
                f"{name:<12}{len(part):>9,} sentences {len(part.ids):>12,} words"
                f"  {self.unknown[name]:6.1%} unknown"
            )
        if self.short:
            what = "of a single word" if words is None else "without a word"
            lines.append(f"left out    {self.short:,} sentences {what}")
        if self.cut:
            lines.append(f"cut         {self.cut:,} sentences that were too long (--longest)")
        return "\n".join(lines)


def load_corpus(source: str, config: CorpusConfig) -> EncodedCorpus:
    """Read, split, build the vocabulary from the training part, encode."""
    return encode(Corpus.read(source, config, lowercase=config.lowercase), config)


def encode(corpus: Corpus, config: CorpusConfig) -> EncodedCorpus:
    """Make the vocabulary of the training part, and encode every part with it."""
    tokens = corpus.tokens
    labelling = Labelling.of(tokens, corpus.part, config.min_count, config.numbers)
    if len(labelling.names) < 3:
        raise RnnlensError(
            f"{corpus.name} gives a vocabulary of {len(labelling.names) - 1} word(s) besides UNK; "
            f"give more text or a lower --min-count (now {config.min_count})"
        )
    names, of_label = tuple(labelling.names), None
    if tokens.labels is not None:
        names, of_label = label_numbers(corpus.name, tokens, corpus.part, config)
    with Shelf() as shelf:
        encoder = Encoder(shelf, labelling, of_label, len(names))
        for block in blocks(tokens, corpus.part):
            encoder.add(block, config.longest)
        splits, tags = encoder.splits()
    vocabulary = Vocabulary(
        names, tuple(encoder.counts.tolist()), frozenset(labelling.spelled), config.lowercase,
        config.numbers, None if of_label is None else tuple(labelling.names),
        config.task == CLASSIFY,
    )  # fmt: skip
    return EncodedCorpus(
        name=corpus.name,
        format=corpus.format,
        hash=tokens.hash,
        vocabulary=vocabulary,
        splits=splits,
        tags=tags,
        tag_counts=encoder.tag_counts,
        unknown={name: encoder.unknown[name] / len(split.ids) for name, split in splits.items()},
        short=tokens.short,
        cut=encoder.cut,
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


def tag_counts_of(labels: Numbers, tags: Numbers, size: int) -> Ints:
    """How often each label has each universal part of speech, (size, tags)."""
    tagged = tags != NO_TAG
    cells = labels[tagged] * len(UNIVERSAL) + tags[tagged]
    return np.bincount(cells, minlength=size * len(UNIVERSAL)).reshape(size, len(UNIVERSAL))


def read_tokens(source: str, config: ReadingConfig, *, lowercase: bool) -> tuple[str, Tokens]:
    """Read a corpus, and the corpora for validation and test where the configuration names any.

    Returns the format, with the reason where it was recognised, and the tokens.
    """
    config.check()
    ahead.wait()
    return cached(source, config, lowercase, lambda shelf: _read(source, config, lowercase, shelf))


def _read(source: str, config: ReadingConfig, lowercase: bool, shelf: Shelf) -> tuple[str, Tokens]:
    format_, reason = config.format, ""
    if format_ == "auto":
        format_, reason = recognise(source, config.encoding, config.reader_task.name)
    is_text = format_ == "text" and config.numbers
    mark = number_mark_of(source, config.encoding) if is_text else ""
    how = config.format, config.encoding, config.swelling, config.reader_task.of_one_corpus()
    parts: list[Iterable[Sentence]] = [read(source, *how)]
    parts += [read(s, *how) if s else () for s in (config.valid, config.test)]
    tokens = collect(parts, lowercase, mark, shelf)
    _check(source, config, tokens)
    details = "; ".join(filter(None, [reason, mark and f"{mark} is {NUM}"]))
    return f"{format_}: {details}" if details else format_, tokens


def _check(source: str, config: ReadingConfig, tokens: Tokens) -> None:
    """Refuse a source that holds nothing to learn from."""
    for which, corpus in ((1, config.valid), (2, config.test)):
        if corpus and not (tokens.part == which).any():
            size = "of two words or more" if config.reader_task.name == NEXT else "with labels"
            raise RnnlensError(f"{corpus} holds no sentence {size}; give another")
    if (tokens.part == 0).any():
        return
    if config.reader_task.name != NEXT:
        raise RnnlensError(f"{source} holds no sentence with labels; give another corpus")
    plural = "sentence" if tokens.short == 1 else "sentences"
    what = f"only {tokens.short} {plural} of a single word" if tokens.short else "no sentence"
    raise RnnlensError(
        f"{source} holds {what}; a language model needs sentences of at least two words"
    )
