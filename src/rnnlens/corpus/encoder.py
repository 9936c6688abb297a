"""Encoding a corpus block by block: which label each word has, and the splits that this gives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.task import CLASSIFY
from rnnlens.corpus.split import Split
from rnnlens.corpus.storage import Numbers, Shelf, release, spans
from rnnlens.corpus.tokens import NO_TAG, SPLITS, TAG_IDS, Ints, ReadingConfig, Tokens, cut
from rnnlens.corpus.vocabulary import is_numeral
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.labels.sets import NUM, UNK

_UNKNOWN_IN_SOURCE = "<unk>"  # what stands for UNK in corpora that others have preprocessed
_LONGEST_NUMERAL = 300  # characters: such names are no numbers to be ordered by
_MOST_LABELS_PER_TEXT = 0.5  # labels for each text: they are names or numbers rather than classes


class Block(NamedTuple):
    """Some sentences of a corpus."""

    words: Numbers  # (N,) numbers of forms
    tags: Numbers  # (N,) places in UNIVERSAL, or NO_TAG
    labels: Numbers | None  # (N,)
    starts: Numbers  # (S + 1,) from 0
    part: Numbers  # (S,) places in SPLITS

    def of(self, which: int) -> NDArray[np.bool_]:
        """Which words belong to a split."""
        return np.repeat(self.part == which, np.diff(self.starts))

    @property
    def seen_tags(self) -> Numbers:
        """The tags that words are read by: what is to be tagged must not be read differently."""
        return self.tags if self.labels is None else np.full_like(self.tags, NO_TAG)


def blocks(tokens: Tokens, part: Numbers) -> Iterator[Block]:
    """All sentences in order, as many at a time as memory bears."""
    for first, last in spans(tokens.starts):
        starts = tokens.starts[first : last + 1]
        here = slice(starts[0], starts[-1])
        labels = None if tokens.labels is None else tokens.labels[here]
        yield Block(
            tokens.words[here], tokens.tags[here], labels, starts - starts[0], part[first:last]
        )
        release(tokens.words, tokens.tags, tokens.labels)


@dataclass(frozen=True)
class Labelling:
    """The labels of words: the most frequent first, with rare words as UNK."""

    names: list[str]
    spelled: list[str]  # words such as `two`, which are numerals
    table: Numbers  # (F + 1,) the label of each form, and in the end that of numerals
    digits: NDArray[np.bool_] | None  # (F,) which forms are numerals; None: these stay words

    @classmethod
    def of(cls, tokens: Tokens, part: Numbers, min_count: int, numbers: bool) -> "Labelling":
        """Count the words of the training part."""
        size = len(tokens.forms)
        digits, same = _looked_at(tokens.forms)
        counts = np.zeros(size + 2, np.int64)  # of each form, of NUM and of UNK
        seen, tagged = np.zeros((2, size if numbers else 0), np.int64)
        for block in blocks(tokens, part):
            train = block.of(0)
            words, tags = block.words[train], block.seen_tags[train]
            if numbers:
                np.add.at(seen, words, 1)
                np.add.at(tagged, words[tags == TAG_IDS["NUM"]], 1)
                words = np.where(_numeral(words, tags, digits), size, words)
            np.add.at(counts, words, 1)
        spelled = _spelled(tokens, seen, tagged, digits, min_count) if numbers else []
        frequent, table = _labelled(counts, same, min_count)
        special = {size: NUM, size + 1: UNK}
        names = [special.get(k) or tokens.forms[k] for k in frequent.tolist()]
        return cls(names, spelled, table, digits if numbers else None)

    def labels(self, block: Block) -> Numbers:
        """The label of each word of a block."""
        if self.digits is None:
            return self.table[block.words]
        numeral = _numeral(block.words, block.seen_tags, self.digits)
        return self.table[np.where(numeral, len(self.digits), block.words)]


def _looked_at(forms: Sequence[str]) -> tuple[NDArray[np.bool_], dict[str, list[int]]]:
    """Which forms are numbers in digits, and which stand for NUM or UNK already."""
    digits = np.zeros(len(forms), bool)
    same: dict[str, list[int]] = {NUM: [], UNK: []}
    for k, form in enumerate(forms):
        if is_numeral(form):
            digits[k] = True
        elif form == NUM:
            same[NUM].append(k)
        elif form in (UNK, _UNKNOWN_IN_SOURCE):
            same[UNK].append(k)
    return digits, same


def _numeral(words: Numbers, tags: Numbers, digits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which words are numerals: by their tag, or by their digits if they have no tag."""
    numeral: NDArray[np.bool_] = (tags == TAG_IDS["NUM"]) | ((tags == NO_TAG) & digits[words])
    return numeral


def _spelled(
    tokens: Tokens, seen: Ints, tagged: Ints, digits: NDArray[np.bool_], min_count: int
) -> list[str]:
    """Words such as `two` that training data tags as numerals more often than not."""
    often = [(k, tokens.forms[k]) for k in np.flatnonzero((2 * tagged > seen) & ~digits).tolist()]
    return [
        form
        for k, form in often
        if seen[k] >= min_count or not any(letter.isdigit() for letter in form)
    ]


def _labelled(counts: Ints, same: dict[str, list[int]], min_count: int) -> tuple[Ints, Numbers]:
    """Which forms are labels, the most frequent first; and the label of each form and of NUM."""
    num, unk = len(counts) - 2, len(counts) - 1
    for number, name in ((num, NUM), (unk, UNK)):
        counts[number] += counts[same[name]].sum()
        counts[same[name]] = 0
    rare = counts < min_count
    rare[[num, unk]] = counts[num] == 0, False
    counts[unk] += counts[rare].sum()
    frequent = np.flatnonzero(~rare)
    frequent = frequent[np.argsort(-counts[frequent], kind="stable")]
    label_of = np.full(len(counts), np.flatnonzero(frequent == unk)[0], np.int32)
    label_of[frequent] = np.arange(len(frequent))
    label_of[same[NUM]] = label_of[num]
    return frequent, label_of[:-1]


class Encoder:
    """Puts the words of each split onto a shelf, as labels, and counts them."""

    def __init__(
        self, shelf: Shelf, labelling: Labelling, of_label: Ints | None, label_count: int
    ) -> None:
        """`of_label` is the number of each label that was read, where there are any."""
        self.shelf, self.labelling, self.of_label = shelf, labelling, of_label
        for name in SPLITS:
            shelf.column(f"{name}.ids", np.int32)
            shelf.column(f"{name}.labels", np.int32)
            shelf.column(f"{name}.tags", np.int8)
            shelf.column(f"{name}.starts", np.int64).add(np.zeros(1, np.int64))
        self.counts = np.zeros(label_count, np.int64)  # of each label in training
        self.tag_counts = np.zeros((label_count, len(UNIVERSAL)), np.int64)
        self.unknown = dict.fromkeys(SPLITS, 0)
        self.cut = 0  # sentences that are cut
        self._unk = labelling.names.index(UNK)

    def add(self, block: Block, longest: int) -> None:
        """Encode a block; sentences longer than `longest` are cut."""
        ids = self.labelling.labels(block)
        labels = None if self.of_label is None else self.of_label[block.labels]
        tags = block.tags.astype(np.int8)
        tags[tags == NO_TAG] = -1
        starts, sentence = cut(block.starts, longest)
        self.cut += int((np.bincount(sentence) > 1).sum())
        for which, name in enumerate(SPLITS):
            words = block.of(which)
            ends = np.cumsum(np.diff(starts)[block.part[sentence] == which])
            some = None if labels is None else labels[words]
            self._put(name, Split(ids[words], np.append(0, ends), some), tags[words])

    def _put(self, name: str, split: Split, tags: Numbers) -> None:
        """Add sentences to a split."""
        columns = self.shelf.columns
        columns[f"{name}.starts"].add(columns[f"{name}.ids"].count + split.starts[1:])
        columns[f"{name}.ids"].add(split.ids)
        columns[f"{name}.tags"].add(tags)
        if split.labels is not None:
            columns[f"{name}.labels"].add(split.labels)
        self.unknown[name] += int((split.ids == self._unk).sum())
        if name == SPLITS[0]:
            np.add.at(self.counts, split.targets(), 1)
            shown = split.ids if split.labels is None else split.labels
            np.add.at(self.tag_counts, (shown[tags >= 0], tags[tags >= 0]), 1)

    def splits(self) -> tuple[dict[str, Split], dict[str, Numbers]]:
        """All splits by name, and the tags of their words, negative where one has none."""
        arrays = self.shelf.arrays()
        splits = {
            name: Split(
                arrays[f"{name}.ids"],
                arrays[f"{name}.starts"],
                None if self.of_label is None else arrays[f"{name}.labels"],
            )
            for name in SPLITS
        }
        return splits, {name: arrays[f"{name}.tags"] for name in SPLITS}


def label_numbers(
    source: str, tokens: Tokens, part: Numbers, config: ReadingConfig
) -> tuple[tuple[str, ...], Ints]:
    """The names of all labels, the most frequent in training first, and the number that each has of
    those that were read.

    Names that are whole numbers stay in their order, as grades and stars have one.
    """
    labels, names = tokens.labels, tokens.label_names
    if labels is None:
        raise RnnlensError(f"{source} has no labels; give another corpus")
    texts, counts = len(part), np.zeros(len(names), np.int64)
    for first, last in spans(tokens.starts):
        lengths = np.diff(tokens.starts[first : last + 1])
        some = labels[tokens.starts[first] : tokens.starts[last]]
        train = some[np.repeat(part[first:last] == 0, lengths)]
        counts += np.bincount(train, minlength=len(names))
        release(labels)
    if len(names) < 2:
        raise RnnlensError(
            f"{source} has the label {names[0]!r} alone, of which nothing can be learnt; give "
            "another --label-column or corpus"
        )
    if config.reader_task.name == CLASSIFY and len(names) > max(2, _MOST_LABELS_PER_TEXT * texts):
        raise RnnlensError(
            f"{source} has {len(names):,} labels for {texts:,} texts; give the column that "
            "has few: --label-column"
        )
    for number in np.flatnonzero(counts == 0):
        raise RnnlensError(_unseen(names[number], int(number), tokens, part, config))
    order = np.argsort(-counts, kind="stable")
    if all(len(name) < _LONGEST_NUMERAL and name.removeprefix("-").isdecimal() for name in names):
        order = np.argsort([int(name) for name in names], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return tuple(names[k] for k in order), place


def _unseen(name: str, number: int, tokens: Tokens, part: Numbers, config: ReadingConfig) -> str:
    """What to do about a label that the training part does not have."""
    first = int(np.flatnonzero(tokens.labels == number)[0])
    sentence = int(np.searchsorted(tokens.starts, first, side="right")) - 1
    which = SPLITS[part[sentence]]
    given = config.valid if which == "valid" else config.test
    remedy = f"mend {given}" if given else "give more text or another --split-seed"
    return f"the label {name!r} is in the {which} part and never in training; {remedy}"
