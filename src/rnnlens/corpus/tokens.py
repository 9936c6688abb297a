"""All sentences of a corpus as numbers, and which of them are for training, validation and test.

Every token is held once, as the number of its form and of its tag: in memory where a corpus is
small, and else in files. Everything after reading is done with arrays, block by block.
"""

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus import storage
from rnnlens.corpus.corpus_config import SPLITS as SPLITS  # noqa: PLC0414
from rnnlens.corpus.corpus_config import ReadingConfig as ReadingConfig  # noqa: PLC0414
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.task import TAG
from rnnlens.corpus.storage import Numbers, Shelf, release
from rnnlens.corpus.vocabulary import composed
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.labels.sets import NUM, UNK

TAG_IDS = {tag: i for i, tag in enumerate(UNIVERSAL)}
NO_TAG = len(UNIVERSAL)
COLUMNS: dict[str, type[np.integer[Any]]] = {  # of what was read, with those of Numbering
    "words": np.int32, "tags": np.uint8, "starts": np.int64, "part": np.uint8, "labels": np.int32,
}  # fmt: skip
_FORMS_IN_MEMORY = 1 << 20  # that are held as Python's strings
_FORMS_DECODED = 1 << 16  # at once

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tokens:
    """All sentences end to end: form and tag numbers, where each sentence starts."""

    forms: Sequence[str]
    words: Numbers  # (N,) number of the form
    tags: Numbers  # (N,) number of the tag in UNIVERSAL, or NO_TAG
    starts: Numbers  # (S + 1,)
    part: Numbers  # (S,) which source the sentence came from, a place in SPLITS
    short: int  # sentences left out because they have a single word
    hash: str  # identifies what was read, wherever it was read from
    labels: Numbers | None = None  # (N,) the number of each word's label, where labels are read
    label_names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, arrays: dict[str, Numbers], short: int, label_names: tuple[str, ...], sha: str = ""
    ) -> "Tokens":
        """From the columns that were written down; the hash is computed where it is not known."""
        sha = sha or _hash(arrays, label_names)
        labels = arrays["labels"] if label_names else None
        forms = Forms(arrays["forms"], arrays["ends"])
        return cls(
            forms, arrays["words"], arrays["tags"], arrays["starts"], arrays["part"], short, sha,
            labels, label_names,
        )  # fmt: skip


def _hash(arrays: dict[str, Numbers], label_names: tuple[str, ...]) -> str:
    """Of all forms, and of all numbers in eight bytes each, however they are stored."""
    sha = hashlib.sha256()
    _feed(sha, arrays["forms"][:-1], np.uint8)
    for name in ("words", "tags", "starts", "part"):
        _feed(sha, arrays[name], np.int64)
    if label_names:
        sha.update("\n".join(label_names).encode())
        _feed(sha, arrays["labels"], np.int64)
    return sha.hexdigest()


def _feed(sha: Any, numbers: Numbers, dtype: type[np.integer[Any]]) -> None:
    for k in range(0, len(numbers), storage.BLOCK):
        sha.update(numbers[k : k + storage.BLOCK].astype(dtype).data)
        release(numbers)


def collect(
    parts: Sequence[Iterable[Sentence]], lowercase: bool, number: str = "",
    shelf: Shelf | None = None,
) -> Tokens:  # fmt: skip
    """Number the forms and tags of a stream of sentences; `number` stands for any number.

    They are put onto a shelf that somebody keeps, or else onto one that is gone with them.
    """
    if shelf is None:
        with Shelf() as alone:
            return collect(parts, lowercase, number, alone)
    collector = _Collector(shelf, lowercase, number)
    for which, sentences in enumerate(parts):
        for sentence in sentences:
            collector.add(sentence, which)
    return collector.tokens()


class _Block(dict[str, int]):
    """Of each word as it is spelt, the place of its form among those of a block."""

    def __init__(self, lowercase: bool, number: str) -> None:
        super().__init__()
        self.lowercase, self.number = lowercase, number
        self.forms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        form = _form(word, self.lowercase, self.number)
        self[word] = place = self.forms.setdefault(form, len(self.forms))
        return place


class _Names(dict[str, int]):
    """The number of each name, in the order in which they are met."""

    def __missing__(self, name: str) -> int:
        self[_whole(name)] = number = len(self)
        return number


class _Collector:
    """Puts sentences onto a shelf, a block of words at a time."""

    def __init__(self, shelf: Shelf, lowercase: bool, number: str) -> None:
        self.shelf, self.lowercase, self.number = shelf, lowercase, number
        self.numbering = Numbering(shelf)
        self.columns = {name: shelf.column(name, dtype) for name, dtype in COLUMNS.items()}
        self.columns["starts"].add(np.zeros(1, np.int64))
        self.names = _Names()  # of labels
        self.size = self.short = 0
        self._begin()

    def _begin(self) -> None:
        self.block = _Block(self.lowercase, self.number)
        self.words, self.tags, self.labels = array("i"), array("B"), array("i")
        self.starts, self.part = array("q"), array("B")

    def add(self, sentence: Sentence, which: int) -> None:
        """Take in a sentence of the source of this number."""
        size = len(sentence.words)
        if size < (2 if sentence.labels is None else 1):  # a single word has no next one
            self.short += 1
            return
        self.words.extend(map(self.block.__getitem__, sentence.words))
        if sentence.tags:
            self.tags.extend(map(TAG_IDS.__getitem__, sentence.tags))
        else:
            self.tags.frombytes(bytes((NO_TAG,)) * size)
        self.labels.extend(map(self.names.__getitem__, sentence.labels or ()))
        self.size += size
        self.starts.append(self.size)
        self.part.append(which)
        if len(self.words) >= storage.BLOCK:
            self._flush()

    def _flush(self) -> None:
        numbers = self.numbering.of(list(self.block.forms))
        self.columns["words"].add(numbers[np.asarray(self.words)])
        for name in ("tags", "labels", "starts", "part"):
            self.columns[name].add(np.asarray(getattr(self, name)))
        self._begin()

    def tokens(self) -> Tokens:
        """All that was taken in."""
        self._flush()
        return Tokens.of(self.shelf.arrays(), self.short, tuple(self.names))


def _form(word: str, lowercase: bool, number: str) -> str:
    """A word in lower case where that is wanted, except NUM and UNK; the mark of numbers as NUM.

    Accents that stand after their letters are put onto them, as most texts have them.
    """
    if word == number:
        return NUM
    word = composed(_whole(word))
    return word.lower() if lowercase and word not in (NUM, UNK) else word


def _whole(name: str) -> str:
    """A word or a label, which is text: no file could hold half of a character."""
    try:
        if not name.isascii():
            name.encode()
    except UnicodeEncodeError as error:
        raise RnnlensError(
            f"{name[:40]!r} has half of a character, which is no text; mend the corpus, or give "
            "another --encoding"
        ) from error
    return name


def cuts(size: int, longest: int) -> list[int]:
    """Lengths of the pieces of a sentence, as even as can be, so that none is a single word."""
    pieces = -(-size // longest)
    return [size * (k + 1) // pieces - size * k // pieces for k in range(pieces)]


def cut(starts: Numbers, longest: int) -> tuple[Ints, Ints]:
    """Cut sentences longer than `longest`: where each piece starts, and which sentence it is of."""
    pieces = np.maximum(1, -(-np.diff(starts) // longest))
    inner = [
        starts[s] + np.cumsum(cuts(int(starts[s + 1] - starts[s]), longest))[:-1]
        for s in np.flatnonzero(pieces > 1)
    ]
    return np.sort(np.concatenate([starts, *inner])), np.repeat(np.arange(len(pieces)), pieces)


def split(part: Numbers, config: ReadingConfig) -> Numbers:
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
            few = "1 sentence leaves" if len(part) == 1 else f"{len(part)} sentences leave"
            ends = "; where a line has one word, an empty line ends a sentence"
            raise RnnlensError(
                f"{few} none for the {name} part; give more text"
                + ends * (config.reader_task.name == TAG)
            )
    return places


class Forms(Sequence[str]):
    """The different words of a corpus in the order of their numbers, as one long text."""

    def __init__(self, text: NDArray[Any], ends: Numbers) -> None:
        """`text` is UTF-8, in which a line break ends each form; `ends` says where these are."""
        self.text, self.ends = text, ends

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> list[str]: ...
    def __getitem__(self, key: int | slice) -> str | list[str]:
        if isinstance(key, slice):
            return [self[k] for k in range(*key.indices(len(self)))]
        if self._in_memory is not None:
            return self._in_memory[key]
        if not 0 <= key < len(self):
            raise IndexError(key)
        return self._decoded(int(key), int(key) + 1)[0]

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _FORMS_DECODED):
            yield from self._decoded(first, min(first + _FORMS_DECODED, len(self)))
            release(self.text, self.ends)

    @cached_property
    def _in_memory(self) -> list[str] | None:
        return list(self) if len(self) <= _FORMS_IN_MEMORY else None

    def _decoded(self, first: int, last: int) -> list[str]:
        begin = int(self.ends[first - 1]) + 1 if first else 0
        text = self.text[begin : int(self.ends[last - 1])].tobytes()
        ends = (self.ends[first:last] - begin).tolist()
        starts = [0, *(end + 1 for end in ends[:-1])]
        return [text[a:b].decode() for a, b in zip(starts, ends, strict=True)]


class _Run(NamedTuple):
    """Forms that are known, in the order of their hashes."""

    keys: NDArray[np.int64]
    checks: NDArray[np.int32]
    numbers: NDArray[np.int32]

    def sorted(self) -> "_Run":
        order = np.argsort(self.keys, kind="stable")
        return _Run(self.keys[order], self.checks[order], self.numbers[order])

    def joined(self, other: "_Run") -> "_Run":
        return _Run(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.checks, other.checks]),
            np.concatenate([self.numbers, other.numbers]),
        ).sorted()


class Numbering:
    """Numbers forms in the order in which they are first met.

    What is in memory of a form are 16 bytes, two hashes and its number; the form itself goes to a
    column. A corpus of 100 million words may well have ten million that are met once.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.text = shelf.column("forms", np.uint8)
        self.ends = shelf.column("ends", np.int64)
        self.count = 0
        self.size = 0  # bytes of the text
        self.runs: list[_Run] = []  # each more than twice as long as the next

    def of(self, forms: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of forms that differ from each other."""
        keys = np.fromiter(map(hash, forms), np.int64, len(forms))
        others = np.fromiter((hash(f"{form}\n") for form in forms), np.int64, len(forms))
        checks = others.astype(np.int32)
        numbers = np.full(len(forms), -1, np.int32)
        for run in self.runs:
            at = np.minimum(np.searchsorted(run.keys, keys), len(run.keys) - 1)
            met = np.flatnonzero(run.keys[at] == keys)
            if (run.checks[at[met]] != checks[met]).any():
                raise _clash()
            numbers[met] = run.numbers[at[met]]
        new = np.flatnonzero(numbers < 0)
        numbers[new] = np.arange(self.count, self.count + len(new))
        self._learn(_Run(keys[new], checks[new], numbers[new]).sorted())
        self._write([forms[k] for k in new.tolist()])
        return numbers

    def _learn(self, run: _Run) -> None:
        """Keep hashes of new forms; short runs are joined, so that few have to be searched."""
        if (np.diff(run.keys) == 0).any():
            raise _clash()
        if len(run.keys):
            self.runs.append(run)
        while len(self.runs) > 1 and len(self.runs[-2].keys) < 2 * len(self.runs[-1].keys):
            self.runs.append(self.runs.pop().joined(self.runs.pop()))

    def _write(self, new: list[str]) -> None:
        encoded = [form.encode() for form in new]
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
        text = b"".join(form + b"\n" for form in encoded)
        self.text.add(np.frombuffer(text, np.uint8))
        self.ends.add(self.size + np.cumsum(sizes + 1) - 1)
        self.size += len(text)
        self.count += len(new)


def _clash() -> RnnlensError:
    """Two different words have one hash, once in a million corpora; Python seeds hashes anew."""
    return RnnlensError(
        "two different words have the same hash by chance; run the same command again"
    )
