"""The one pass over a corpus: its sentences as a model reads them, and the states of each word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count
from rnnlens.corpus.corpus import Corpus
from rnnlens.corpus.tokens import NO_TAG, SPLITS, cut
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.labels.sets import LabelSet
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.text import TextSide, text_states
from rnnlens.model.traceable import Traceable
from rnnlens.probe.recorded_data import PARTS, part_of
from rnnlens.probe.semantics import NONE, base, labels_at, of_model, offset, shift
from rnnlens.reading.encoding import Integers
from rnnlens.states.recorded import RecordedStates

ALL = "all"  # the split of a corpus that has none
_LONGEST = count("text_words")  # rows of a grid
PART_WORDS = 32_768  # of a part, about; those that were not written are done again after a crash
WORDS_AT_ONCE = {"cpu": 512, "cuda": 16_384}  # that are traced together


@dataclass(frozen=True)
class Text:
    """A sentence, as the model reads it."""

    number: int
    split: str
    text: str  # which is split into these words
    words: tuple[str, ...]
    ids: tuple[int, ...]
    tags: tuple[str, ...] | None


class Texts:
    """Some splits of a corpus, in parts of about the same number of words."""

    def __init__(
        self, corpus: Corpus, splits: Sequence[str], side: TextSide, longest: int,
        part_words: int = PART_WORDS,
    ) -> None:  # fmt: skip
        self.corpus, self.side, self.splits = corpus, side, tuple(splits)
        self.starts, sentence = cut(corpus.tokens.starts, longest)
        places = [np.flatnonzero(self._is_of(split)[sentence]) for split in splits]
        self.pieces = np.concatenate(places)  # in the order of the index
        self.split_of = np.repeat(np.arange(len(splits)), [len(some) for some in places])
        if not len(self.pieces):
            raise RnnlensError(f"{corpus.name} has no sentences in {', '.join(splits)}")
        self.divide(part_words)

    def divide(self, part_words: int) -> None:
        """Lay down where parts end."""
        self.part_size = part_words
        words = np.cumsum(np.diff(self.starts)[self.pieces])
        parts = (words - 1) // part_words
        self.ends = np.append(np.flatnonzero(np.diff(parts)) + 1, len(words))
        self.words = int(words[-1])

    def keep(self, words: int) -> None:
        """Leave all out but the first sentences, with at most so many words; one at least."""
        ends = np.cumsum(np.diff(self.starts)[self.pieces])
        most = max(1, int(np.searchsorted(ends, words, "right")))
        self.pieces, self.split_of = self.pieces[:most], self.split_of[:most]
        self.divide(self.part_size)

    def _is_of(self, split: str) -> NDArray[np.bool_]:
        if split == ALL:
            return np.ones(len(self.corpus.part), bool)
        chosen: NDArray[np.bool_] = self.corpus.part == SPLITS.index(split)
        return chosen

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def part_count(self) -> int:
        """How many parts there are."""
        return len(self.ends)

    def part_words(self, number: int) -> int:
        """About how many words a part has: those of the corpus, before they are split again."""
        chosen = self.pieces[self._range(number)]
        return int((self.starts[chosen + 1] - self.starts[chosen]).sum())

    def part(self, number: int) -> list[Text]:
        """The sentences of a part."""
        some = self._range(number)
        return [text for k in range(some.start, some.stop) if (text := self._text(k)).ids]

    def spread(self, words: int) -> list[Text]:
        """Sentences spread evenly over all, with about so many words together; all where there are
        no more.
        """
        some = max(1, min(len(self), round(len(self) * words / self.words)))
        chosen = np.unique(np.linspace(0, len(self) - 1, some).round().astype(int))
        return [text for k in chosen if (text := self._text(int(k))).ids]

    def _range(self, number: int) -> slice:
        return slice(int(self.ends[number - 1]) if number else 0, int(self.ends[number]))

    def _text(self, k: int) -> Text:
        """A sentence, split as a text is that somebody types, so that a grid of it is the same.

        Tags belong to the words of the corpus, so a sentence that is split otherwise has none.
        """
        tokens, piece = self.corpus.tokens, self.pieces[k]
        here = slice(self.starts[piece], self.starts[piece + 1])
        forms = [tokens.forms[number] for number in tokens.words[here]]
        text = " ".join(forms)
        words = self.side.words(text)
        tags = tokens.tags[here]
        known = len(words) == len(forms) and not (tags == NO_TAG).any()
        return Text(
            k,
            self.splits[self.split_of[k]],
            text,
            words,
            tuple(self.side.encode(words)),
            tuple(UNIVERSAL[tag] for tag in tags) if known else None,
        )


@dataclass(frozen=True)
class _Source:
    """Where recorded sequences come from."""

    name: str
    hash: str


class RecordedSequences(Texts):
    """Some parts of recorded states; of a long sequence the rows that a grid has."""

    def __init__(
        self, model: RecordedStates, splits: Sequence[str], side: TextSide,
        part_words: int = PART_WORDS,
    ) -> None:  # fmt: skip
        kept = model.kept
        self.kept, self.side, self.splits = kept, side, tuple(splits)
        self.corpus = _Source(str(kept.path), kept.sha256)  # type: ignore[assignment]
        self.starts, of = kept.starts, part_of(kept)
        places = [np.flatnonzero(of == PARTS.index(split)) for split in splits]
        self.pieces = np.concatenate(places)
        self.split_of = np.repeat(np.arange(len(splits)), [len(some) for some in places])
        if not len(self.pieces):
            raise RnnlensError(f"{kept.path} has no sequences in {', '.join(splits)}")
        self.divide(part_words)

    def _text(self, k: int) -> Text:
        number = int(self.pieces[k])
        rows = self.kept.span(number)[:_LONGEST]
        words = tuple(self.kept.word(row) for row in rows)
        text = self.kept.text(number)
        return Text(k, self.splits[self.split_of[k]], text, words, tuple(rows), None)


@dataclass(frozen=True)
class Traced:
    """Some sentences that were read together, one after the other."""

    sentences: tuple[Sequence[int], ...]  # the numbers of their words
    rows: Integers  # (N,) the place of each word among all words of all sentences
    states: States  # after each word, (N, H)


def traced(
    model: Traceable,
    side: TextSide,
    sentences: Sequence[Sequence[int]],
    device: torch.device,
    kinds: Sequence[str] | None = None,
    words: int = 0,
) -> Iterator[Traced]:
    """The states after each word of all sentences, which are given as numbers of words: the
    shortest first, so that those read together are of about the same length.

    They are of all kinds and the prediction unless `kinds` names some; `words`: about how many are
    read together.
    """
    lengths = np.array([len(ids) for ids in sentences])
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(lengths, kind="stable")
    ends = np.cumsum(lengths[order]) // (words or WORDS_AT_ONCE[device.type])
    for chosen in np.split(order, np.flatnonzero(np.diff(ends)) + 1):
        some = tuple(sentences[k] for k in chosen)
        rows = np.concatenate([starts[k] + np.arange(lengths[k]) for k in chosen])
        yield Traced(some, rows, _states(model, side, some, device, kinds))


@torch.inference_mode()
def _states(
    model: Traceable,
    side: TextSide,
    sentences: Sequence[Sequence[int]],
    device: torch.device,
    kinds: Sequence[str] | None,
) -> States:
    """The states (N, H) after each word of all sentences."""
    model.check()
    if not side.side_by_side:
        texts = [text_states(model, side, ids) for ids in sentences]
        return {k: torch.cat([t[k] for t in texts]).to(device) for k in kinds or texts[0]}
    lengths = np.array([len(ids) for ids in sentences])
    ends = np.cumsum(lengths)
    steps = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
    places = torch.from_numpy(steps * len(sentences) + np.repeat(np.arange(len(lengths)), lengths))
    inputs = torch.zeros(int(lengths.max()), len(sentences), dtype=torch.int64)
    inputs.view(-1)[places] = torch.from_numpy(_flat(sentences))
    inputs = inputs.to(model.device)
    long = torch.from_numpy(lengths).to(model.device)  # which only reading backwards has to know
    trace = model.trace(inputs if model.causal else (inputs, long))
    places = places.to(device)
    chosen = kinds or (*trace.states, PREDICTION)
    every = {k: trace.prediction if k == PREDICTION else trace.states[k] for k in chosen}
    return {kind: v.flatten(0, 1)[places].float() for kind, v in every.items()}


def labels_right(
    side: TextSide, sentences: Sequence[Sequence[int]], semantic: str, answers: LabelSet
) -> Integers:
    """The label that is right at each word of all sentences, -1 where that is not known: texts tell
    the labels of the model alone, and recorded ones whatever was recorded.
    """
    told = [side.told(ids, base(semantic), answers) for ids in sentences]
    follows = of_model(semantic) and not answers.several
    if follows and all(labels is None for labels in told):  # those of all sentences at once
        return labels_after(side, sentences, offset(semantic))
    rows = []
    for ids, labels in zip(sentences, told, strict=True):
        if labels is not None:
            rows.append(labels_at(torch.tensor(labels), torch.arange(len(ids)) + shift(semantic)))
        elif follows:
            rows.append(torch.from_numpy(labels_after(side, [ids], offset(semantic))))
        else:
            rows.append(torch.full((len(ids),), NONE))
    return torch.cat(rows).numpy()


def labels_after(side: TextSide, sentences: Sequence[Sequence[int]], steps: int) -> Integers:
    """The label so many words after each word of all sentences, -1 where the text does not tell
    it.
    """
    came = [side.came(ids) for ids in sentences]
    lengths, known = (np.array([len(one) for one in some]) for some in (sentences, came))
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    place = np.arange(len(first)) - first + steps  # in its own sentence
    inside = (place >= 0) & (place < np.repeat(known, lengths))
    starts = np.repeat(np.cumsum(known) - known, lengths)
    return np.where(inside, _flat(came)[np.where(inside, starts + place, 0)], NONE)


def _flat(lists: Sequence[Sequence[int]]) -> Integers:
    """The numbers of several lists, one after the other."""
    return np.fromiter(chain.from_iterable(lists), np.int64)
