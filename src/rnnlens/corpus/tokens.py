"""All sentences of a corpus as numbers, and which of them are for training, validation and test.

Every token is held once, as the number of its form and of its tag, so memory grows with the corpus
and not with a multiple of it, and everything after reading is a few array operations.
"""

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlens.corpus.read.formats import (
    SWELLING,
    check_format,
    number_mark_of,
    read,
    recognise,
)
from rnnlens.corpus.read.labels import NEXT, WORDS, Asked
from rnnlens.corpus.sentence import Sentence
from rnnlens.corpus.tags import UNIVERSAL
from rnnlens.corpus.vocabulary import NUM, UNK, composed
from rnnlens.errors import RnnlensError
from rnnlens.flags import Options, option

SPLITS = ("train", "valid", "test")
TAG_IDS = {tag: i for i, tag in enumerate(UNIVERSAL)}
NO_TAG = len(UNIVERSAL)

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ReadingConfig(Options):
    """How a corpus is read and split; the defaults are the paper's."""

    format: str = option("auto", "auto, text, raw, conllu, brackets, jsonl, parquet or arrow")
    encoding: str = option("utf-8", "encoding of text files")
    valid: str = option("", "a corpus of its own for validation")
    test: str = option("", "a corpus of its own for testing")
    valid_share: float = option(0.1, "share of sentences for validation, without --valid")
    test_share: float = option(0.1, "share of sentences for testing, without --test")
    split_seed: int = option(0, "seed of the random split", least=0, below=2**31)
    # Pieces of at most 2 words would leave single words, which predict nothing.
    longest: int = option(
        200, "cut longer sentences into pieces of this many words", least=3, below=2**31
    )
    swelling: int = option(
        SWELLING, "times its size that a gzipped file may unzip to", least=1, below=2**31
    )
    numbers = False  # whether a sign for numbers is read as NUM

    @property
    def asked(self) -> Asked:
        """Which labels are read beside the words: here, none."""
        return WORDS

    def check(self) -> None:
        """Refuse values that cannot work."""
        super().check()
        check_format(self.format, self.asked.task)
        shares = self.valid_share, self.test_share
        if not all(0 < share < 1 for share in shares) or sum(shares) >= 1:
            raise RnnlensError(
                f"shares of {self.valid_share} and {self.test_share} leave no training data; "
                "give --valid-share and --test-share between 0 and 1, together below 1"
            )


@dataclass(frozen=True)
class Tokens:
    """All sentences end to end: form and tag numbers, where each sentence starts."""

    forms: list[str]
    words: Ints  # (N,) number of the form
    tags: Ints  # (N,) number of the tag in UNIVERSAL, or NO_TAG
    starts: Ints  # (S + 1,)
    part: Ints  # (S,) which source the sentence came from, a place in SPLITS
    short: int  # sentences left out because they have a single word
    labels: Ints | None = None  # (N,) the number of each word's label, where labels are read
    label_names: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """Identifies what was read, wherever it was read from."""
        sha = hashlib.sha256("\n".join(self.forms).encode("utf-8", "surrogatepass"))
        for numbers in (self.words, self.tags, self.starts, self.part):
            sha.update(numbers.tobytes())
        if self.labels is not None:
            sha.update("\n".join(self.label_names).encode("utf-8", "surrogatepass"))
            sha.update(self.labels.tobytes())
        return sha.hexdigest()


def read_tokens(source: str, config: ReadingConfig, *, lowercase: bool) -> tuple[str, Tokens]:
    """Read a corpus, and the corpora for validation and test where the configuration names any.

    Returns the format, with the reason where it was recognised, and the tokens.
    """
    config.check()
    format_, reason = config.format, ""
    if format_ == "auto":
        format_, reason = recognise(source, config.encoding, config.asked.task)
    is_text = format_ == "text" and config.numbers
    mark = number_mark_of(source, config.encoding) if is_text else ""
    how = config.format, config.encoding, config.swelling, config.asked.of_one_corpus()
    parts: list[Iterable[Sentence]] = [read(source, *how)]
    parts += [read(s, *how) if s else () for s in (config.valid, config.test)]
    tokens = collect(parts, lowercase, mark)
    for which, corpus in ((1, config.valid), (2, config.test)):
        if corpus and not (tokens.part == which).any():
            size = "of two words or more" if config.asked.task == NEXT else "with labels"
            raise RnnlensError(f"{corpus} holds no sentence {size}; give another")
    if not (tokens.part == 0).any() and config.asked.task != NEXT:
        raise RnnlensError(f"{source} holds no sentence with labels; give another corpus")
    if not (tokens.part == 0).any():
        what = f"only {tokens.short} sentences of a single word" if tokens.short else "no sentence"
        raise RnnlensError(
            f"{source} holds {what}; a language model needs sentences of at least two words"
        )
    details = "; ".join(filter(None, [reason, mark and f"{mark} is {NUM}"]))
    return f"{format_}: {details}" if details else format_, tokens


def collect(parts: list[Iterable[Sentence]], lowercase: bool, number: str = "") -> Tokens:
    """Number the forms and tags of a stream of sentences; `number` stands for any number."""
    numbers: dict[str, int] = {}
    words, tags, starts, part = array("q"), array("q"), array("q", [0]), array("q")
    names: dict[str, int] = {}
    labels, short = array("q"), 0
    for which, sentences in enumerate(parts):
        for sentence in sentences:
            size = len(sentence.words)
            if size < (2 if sentence.labels is None else 1):  # a single word has no next one
                short += 1
                continue
            folded = (_form(word, lowercase, number) for word in sentence.words)
            words.extend(numbers.setdefault(word, len(numbers)) for word in folded)
            tags.extend(
                (TAG_IDS[tag] for tag in sentence.tags) if sentence.tags else [NO_TAG] * size
            )
            labels.extend(names.setdefault(name, len(names)) for name in sentence.labels or ())
            starts.append(starts[-1] + size)
            part.append(which)
    return Tokens(
        forms=list(numbers),
        words=np.array(words),
        tags=np.array(tags),
        starts=np.array(starts),
        part=np.array(part),
        short=short,
        labels=np.array(labels) if labels else None,
        label_names=tuple(names),
    )


def _form(word: str, lowercase: bool, number: str) -> str:
    """A word in lower case where that is wanted, except NUM and UNK; the mark of numbers as NUM.

    Accents that stand after their letters are put onto them, as most texts have them.
    """
    if word == number:
        return NUM
    word = composed(word)
    return word.lower() if lowercase and word not in (NUM, UNK) else word


def cuts(size: int, longest: int) -> list[int]:
    """Lengths of the pieces of a sentence, as even as can be, so that none is a single word."""
    pieces = -(-size // longest)
    return [size * (k + 1) // pieces - size * k // pieces for k in range(pieces)]


def cut(starts: Ints, longest: int) -> tuple[Ints, Ints]:
    """Cut sentences longer than `longest`: where each piece starts, and which sentence it is of."""
    pieces = np.maximum(1, -(-np.diff(starts) // longest))
    inner = [
        starts[s] + np.cumsum(cuts(int(starts[s + 1] - starts[s]), longest))[:-1]
        for s in np.flatnonzero(pieces > 1)
    ]
    return np.sort(np.concatenate([starts, *inner])), np.repeat(np.arange(len(pieces)), pieces)


def split(part: Ints, config: ReadingConfig) -> Ints:
    """Which of SPLITS each sentence belongs to: that of its corpus, or else one at random."""
    places = part.copy()
    free = np.random.default_rng(config.split_seed).permutation(np.flatnonzero(part == 0))
    taken = 0
    for which, corpus, share in (
        (1, config.valid, config.valid_share),
        (2, config.test, config.test_share),
    ):
        if not corpus:
            size = max(1, round(len(free) * share))
            places[free[taken : taken + size]] = which
            taken += size
    for which, name in enumerate(SPLITS):
        if not (places == which).any():
            raise RnnlensError(
                f"{len(part)} sentences leave none for the {name} part; give more text"
            )
    return places
