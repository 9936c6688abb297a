"""From a stream of sentences to encoded splits: the paper's preprocessing, on arrays.

Every token is held once, as the number of its form and of its tag, so memory grows with the corpus
and not with a multiple of it, and everything after reading is a few array operations.
"""

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rnnlens.corpus.batches import Split
from rnnlens.corpus.formats import FORMATS, read, recognise
from rnnlens.corpus.sentence import Sentence
from rnnlens.corpus.tags import UNIVERSAL
from rnnlens.corpus.vocabulary import NUM, UNK, Vocabulary, is_numeral
from rnnlens.errors import RnnlensError

SPLITS = ("train", "valid", "test")
_TAG_IDS = {tag: i for i, tag in enumerate(UNIVERSAL)}
_NO_TAG = len(UNIVERSAL)
_UNKNOWN_IN_SOURCE = "<unk>"  # how corpora that were preprocessed before write UNK

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CorpusConfig:
    """How a corpus is read and preprocessed; the defaults are the paper's."""

    format: str = field(default="auto", metadata={"help": "auto, text, raw, conllu or brackets"})
    encoding: str = field(default="utf-8", metadata={"help": "encoding of text files"})
    valid: str = field(default="", metadata={"help": "a corpus of its own for validation"})
    test: str = field(default="", metadata={"help": "a corpus of its own for testing"})
    valid_share: float = field(
        default=0.1, metadata={"help": "share of sentences for validation, without --valid"}
    )
    test_share: float = field(
        default=0.1, metadata={"help": "share of sentences for testing, without --test"}
    )
    split_seed: int = field(default=0, metadata={"help": "seed of the random split"})
    min_count: int = field(
        default=3, metadata={"help": "words seen less often in training become UNK"}
    )
    lowercase: bool = field(default=True, metadata={"help": "fold case"})
    numbers: bool = field(default=True, metadata={"help": "map numerals to NUM"})
    longest: int = field(
        default=200, metadata={"help": "cut longer sentences into pieces of this many words"}
    )

    def check(self) -> None:
        """Refuse values that cannot work."""
        if self.format not in FORMATS:
            raise RnnlensError(f"no format is called {self.format!r}; choose {', '.join(FORMATS)}")
        shares = self.valid_share, self.test_share
        if not all(0 < share < 1 for share in shares) or sum(shares) >= 1:
            raise RnnlensError(
                f"shares of {self.valid_share} and {self.test_share} leave no training data; "
                "give --valid-share and --test-share between 0 and 1, together below 1"
            )
        # Pieces of at most 2 words would leave single words, which predict nothing.
        for name, least in (("split_seed", 0), ("min_count", 1), ("longest", 3)):
            if not least <= getattr(self, name) < 2**31:
                flag = name.replace("_", "-")
                raise RnnlensError(f"--{flag} {getattr(self, name)}: give at least {least}")


@dataclass(frozen=True)
class Tokens:
    """All sentences end to end: form and tag numbers, where each sentence starts."""

    forms: list[str]
    words: Ints  # (N,) number of the form
    tags: Ints  # (N,) number of the tag in UNIVERSAL, or _NO_TAG
    starts: Ints  # (S + 1,)
    part: Ints  # (S,) which source the sentence came from, a place in SPLITS
    short: int  # sentences left out because they have a single word

    @property
    def hash(self) -> str:
        """Identifies what was read, wherever it was read from."""
        made = hashlib.sha256("\n".join(self.forms).encode("utf-8", "surrogatepass"))
        for numbers in (self.words, self.tags, self.starts, self.part):
            made.update(numbers.tobytes())
        return made.hexdigest()


@dataclass(frozen=True)
class Corpus:
    """What training and fitting see: encoded splits, the vocabulary, and how it came about."""

    name: str
    format: str
    hash: str
    vocabulary: Vocabulary
    splits: dict[str, Split]
    tag_counts: NDArray[np.int64]  # (V, len(UNIVERSAL)) of each label in training data
    unknown: dict[str, float]  # share of UNK among the words of each split
    short: int
    cut: int

    @property
    def is_tagged(self) -> bool:
        """Whether the source gave parts of speech."""
        return bool(self.tag_counts.any())


def load_corpus(source: str, config: CorpusConfig) -> Corpus:
    """Read, split, build the vocabulary from the training part, encode."""
    config.check()
    format_ = config.format if config.format != "auto" else recognise(source, config.encoding)
    parts: list[Iterable[Sentence]] = [read(source, config.format, config.encoding)]
    parts += [
        read(s, config.format, config.encoding) if s else () for s in (config.valid, config.test)
    ]
    tokens = collect(parts, config)
    for which, given in ((1, config.valid), (2, config.test)):
        if given and not (tokens.part == which).any():
            raise RnnlensError(f"{given} holds no sentence of two words or more; give another")
    if not (tokens.part == 0).any():
        what = f"only {tokens.short} sentences of a single word" if tokens.short else "no sentence"
        raise RnnlensError(
            f"{source} holds {what}; a language model needs sentences of at least two words"
        )
    return prepare(source, format_, tokens, config)


def collect(parts: list[Iterable[Sentence]], config: CorpusConfig) -> Tokens:
    """Number the forms and tags of a stream of sentences."""
    numbers: dict[str, int] = {}
    words, tags, starts, part = array("q"), array("q"), array("q", [0]), array("q")
    short = 0
    for which, sentences in enumerate(parts):
        for sentence in sentences:
            size = len(sentence.words)
            if size < 2:
                short += 1
                continue
            folded = map(_fold, sentence.words) if config.lowercase else sentence.words
            words.extend(numbers.setdefault(word, len(numbers)) for word in folded)
            tags.extend(
                (_TAG_IDS[tag] for tag in sentence.tags) if sentence.tags else [_NO_TAG] * size
            )
            starts.append(starts[-1] + size)
            part.append(which)
    return Tokens(
        forms=list(numbers),
        words=np.array(words),
        tags=np.array(tags),
        starts=np.array(starts),
        part=np.array(part),
        short=short,
    )


def _fold(word: str) -> str:
    """Lower case; NUM and UNK are what they are."""
    return word if word in (NUM, UNK) else word.lower()


def _cuts(size: int, longest: int) -> list[int]:
    """Lengths of the pieces of a sentence, as even as can be, so that none is a single word."""
    pieces = -(-size // longest)
    return [size * (k + 1) // pieces - size * k // pieces for k in range(pieces)]


def _cut(starts: Ints, longest: int) -> tuple[Ints, Ints]:
    """Where pieces start, with the sentences longer than `longest` cut; and each one's sentence."""
    pieces = np.maximum(1, -(-np.diff(starts) // longest))
    inner = [
        starts[s] + np.cumsum(_cuts(int(starts[s + 1] - starts[s]), longest))[:-1]
        for s in np.flatnonzero(pieces > 1)
    ]
    return np.sort(np.concatenate([starts, *inner])), np.repeat(np.arange(len(pieces)), pieces)


def prepare(name: str, format_: str, tokens: Tokens, config: CorpusConfig) -> Corpus:
    """The vocabulary of the training part, and every part in its labels."""
    part = _split(tokens.part, config)
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
    starts, sentence = _cut(tokens.starts, config.longest)
    splits = {
        split: Split.of(labels, starts, np.flatnonzero(part[sentence] == k))
        for k, split in enumerate(SPLITS)
    }
    counts = np.bincount(splits["train"].targets(), minlength=len(names))
    vocabulary = Vocabulary(
        tuple(names), tuple(counts.tolist()), frozenset(spelled), config.lowercase, config.numbers
    )
    return Corpus(
        name=name,
        format=format_,
        hash=tokens.hash,
        vocabulary=vocabulary,
        splits=splits,
        tag_counts=_tag_counts(labels[in_train], tokens.tags[in_train], len(names)),
        unknown={s: float((v.ids == vocabulary.unknown).mean()) for s, v in splits.items()},
        short=tokens.short,
        cut=int((np.bincount(sentence) > 1).sum()),
    )


def _spelled_numerals(
    tokens: Tokens, in_train: NDArray[np.bool_], digits: NDArray[np.bool_], min_count: int
) -> list[str]:
    """Words such as `two` that training data tags as numerals more often than not."""
    size = len(tokens.forms)
    numeral = np.bincount(tokens.words[in_train & (tokens.tags == _TAG_IDS["NUM"])], minlength=size)
    seen = np.bincount(tokens.words[in_train], minlength=size)
    spelled = np.array([not any(c.isdigit() for c in form) for form in tokens.forms])
    often = (2 * numeral > seen) & (spelled | (seen >= min_count)) & ~digits
    return [tokens.forms[k] for k in np.flatnonzero(often)]


def _numerals_as_one(tokens: Tokens, digits: NDArray[np.bool_]) -> Ints:
    """Word numbers; numerals, by tag or else by their look, are the form after the last."""
    numeral = (tokens.tags == _TAG_IDS["NUM"]) | ((tokens.tags == _NO_TAG) & digits[tokens.words])
    return np.where(numeral, len(tokens.forms), tokens.words)


def _label(
    forms: list[str], words: Ints, in_train: NDArray[np.bool_], min_count: int
) -> tuple[list[str], Ints]:
    """Label names by falling training frequency, rare words as UNK; and the label of each token."""
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


def _tag_counts(labels: Ints, tags: Ints, size: int) -> Ints:
    """How often each label has each universal part of speech, (size, tags)."""
    tagged = tags != _NO_TAG
    cells = labels[tagged] * len(UNIVERSAL) + tags[tagged]
    return np.bincount(cells, minlength=size * len(UNIVERSAL)).reshape(size, len(UNIVERSAL))


def _split(part: Ints, config: CorpusConfig) -> Ints:
    """Which of SPLITS each sentence belongs to: as given, the rest of them at random."""
    made = part.copy()
    free = np.random.default_rng(config.split_seed).permutation(np.flatnonzero(part == 0))
    taken = 0
    for which, given, share in (
        (1, config.valid, config.valid_share),
        (2, config.test, config.test_share),
    ):
        if not given:
            size = max(1, round(len(free) * share))
            made[free[taken : taken + size]] = which
            taken += size
    for which, split in enumerate(SPLITS):
        if not (made == which).any():
            raise RnnlensError(
                f"{len(part)} sentences leave none for the {split} part; give more text"
            )
    return made
