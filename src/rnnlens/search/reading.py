"""The sentences that an index is made of: their words, as the model is given them, and states."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import Corpus
from rnnlens.corpus.tokens import NO_TAG, SPLITS, cut
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.text import TextSide, text_states
from rnnlens.model.traceable import Traceable
from rnnlens.reading.encoding import Integers

ALL = "all"  # the split of a corpus that has none
PART_WORDS = 32_768  # of a part, about: what is done again after a crash


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
        part_words: int = 0,
    ) -> None:  # fmt: skip
        self.corpus, self.side, self.splits = corpus, side, tuple(splits)
        self.starts, sentence = cut(corpus.tokens.starts, longest)
        places = [np.flatnonzero(self._is_of(split)[sentence]) for split in splits]
        self.pieces = np.concatenate(places)  # in the order of the index
        self.split_of = np.repeat(np.arange(len(splits)), [len(some) for some in places])
        if not len(self.pieces):
            raise RnnlensError(f"{corpus.name} has no sentences in {', '.join(splits)}")
        self.divide(part_words or PART_WORDS)

    def divide(self, part_words: int) -> None:
        """Lay down where parts end."""
        words = np.cumsum(np.diff(self.starts)[self.pieces])
        parts = (words - 1) // part_words
        self.ends = np.append(np.flatnonzero(np.diff(parts)) + 1, len(words))
        self.words = int(words[-1])

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
            tuple(self.side.vocabulary.encode(words)),
            tuple(UNIVERSAL[tag] for tag in tags) if known else None,
        )


def chunks(texts: Sequence[Text], size: int) -> Iterator[list[int]]:
    """The places of all texts, the shortest first, in lists of about `size` words."""
    order = np.argsort([len(text.ids) for text in texts], kind="stable")
    ends = np.cumsum([len(texts[k].ids) for k in order]) // size
    for some in np.split(order, np.flatnonzero(np.diff(ends)) + 1):
        yield [int(k) for k in some]


@torch.inference_mode()
def states_of(
    model: Traceable, side: TextSide, sentences: Sequence[Sequence[int]], device: torch.device
) -> States:
    """The states (N, H) of every kind and of the prediction after each word of all sentences."""
    model.check()
    if not side.side_by_side:
        parts = [text_states(model, side, ids) for ids in sentences]
        return {kind: torch.cat([p[kind] for p in parts]).to(device) for kind in parts[0]}
    lengths = np.array([len(ids) for ids in sentences])
    inputs = torch.zeros(int(lengths.max()), len(sentences), dtype=torch.int64)
    for k, ids in enumerate(sentences):
        inputs[: len(ids), k] = torch.tensor(ids)
    inputs = inputs.to(model.device)
    long = torch.from_numpy(lengths).to(model.device)  # which only reading backwards has to know
    trace = model.trace(inputs if model.causal else (inputs, long))
    ends = np.cumsum(lengths)
    steps = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
    places = torch.from_numpy(steps * len(sentences) + np.repeat(np.arange(len(lengths)), lengths))
    places = places.to(device)
    every = {**trace.states, PREDICTION: trace.prediction}
    return {kind: v.flatten(0, 1)[places].float() for kind, v in every.items()}


def labels_asked(side: TextSide, sentences: Sequence[Sequence[int]], shift: int) -> Integers:
    """The label `shift` words after each word, -1 where the text does not tell it."""
    rows = []
    for ids in sentences:
        came = side.came(ids)
        at = np.arange(shift, shift + len(ids))
        inside = (at >= 0) & (at < len(came))
        rows.append(np.where(inside, np.array(came)[np.clip(at, 0, len(came) - 1)], -1))
    return np.concatenate(rows).astype(np.int64)
