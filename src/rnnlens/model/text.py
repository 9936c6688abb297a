"""The text side of a model: how a text becomes words, numbers and a batch for it to read.

A model may read numbers in place of words: those of a timestep are held as one whole number, so
that texts of them are kept and compared as others are.
"""

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import message
from rnnlens.corpus.pieces.piece_text import PieceText, Place
from rnnlens.corpus.read.plain_text import words_of
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import LabelSet
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.lazy import at_hand, of_each
from rnnlens.model.traceable import StateEdit, Trace, Traceable

Splitting = Literal["penn", "blanks", "letters", "numbers", "pattern", "pieces"]
_BETWEEN = re.compile(r"[\s,;]+")  # numbers
_REMEMBERED = 65_536  # words of which is remembered whether they are known


def split_numbers(text: str, features: int) -> list[str]:
    """The words of a text: one a timestep, the features of each with commas between."""
    pieces = text.split() if features > 1 else _BETWEEN.split(text)
    return [piece for piece in pieces if piece]


def encode_numbers(word: str, features: int) -> int:
    """The numbers of one timestep as one: their bits side by side."""
    try:
        values = [float(part) for part in word.split(",")]
        bits = struct.pack(f"<{len(values)}f", *values)
    except (ValueError, OverflowError):
        values, bits = [], b""
    if len(values) != features or not all(map(math.isfinite, values)):
        several = message("several_numbers", count=features)
        wanted = message("one_number") if features == 1 else several
        raise RnnlensError(message("no_number", word=repr(word), wanted=wanted))
    return int.from_bytes(bits, "little")


def decode_numbers(number: int, features: int) -> tuple[float, ...]:
    """The numbers of one timestep, from `encode_numbers`."""
    return struct.unpack(f"<{features}f", number.to_bytes(4 * features, "little"))


def written_numbers(values: Sequence[float]) -> str:
    """Numbers of one timestep as a word, with a few digits, as people would type them."""
    return ",".join(f"{value:.4g}" for value in values)


@dataclass(frozen=True)
class Example:
    """A text with its states, if they were kept."""

    text: str
    words: tuple[str, ...]
    ids: tuple[int, ...]
    states: States  # kind -> (T, H), and the model's own logits as `y`
    beside: States = field(default_factory=dict)  # what else is kept of it, where it is no text


class Listed(NamedTuple):
    """Some of the texts that there are, where none can be typed."""

    total: int
    found: int  # that are what was looked for
    texts: list[tuple[str, str]]  # what each is asked by, and its words


@dataclass(frozen=True)
class TextSide:
    """How texts are given to a Traceable."""

    vocabulary: Vocabulary
    split: Callable[[str], Iterable[str]]  # a text into words
    batch: Callable[[Sequence[int]], Any]  # the numbers of words into what the model is given
    follows: bool = True  # whether labels are the next words, so that a text tells the labels
    side_by_side: bool = False  # whether sentences are columns of one batch (T, B)
    mark: int | None = None  # what the model reads in front of a text, whose last word it leaves
    answers: LabelSet | None = None  # the labels, where there is more to them than their names
    features: int = 0  # numbers that are read at each step; 0: words
    #: The rule of `split`, where it has a name, so that others than Python can keep it.
    splitting: Splitting | None = None
    pattern: str = ""  # the regular expression that splits, where one does
    pieces: PieceText | None = (
        None  # the tokenizer that splits into pieces of words, where one does
    )
    begin: str | None = None  # the word that every text begins with, typed or not

    def words(self, text: str) -> tuple[str, ...]:
        """The words of a text that somebody typed."""
        return self._begun(self._split(text))

    def _split(self, text: str) -> tuple[str, ...]:
        pieces = self.split(text) if text else ()
        words = tuple(pieces) if isinstance(pieces, Iterable) else (pieces,)
        if strange := [word for word in words if not isinstance(word, str)]:
            raise RnnlensError(f"words= gave {strange[0]!r}; give a function from a text to words")
        return words

    def _begun(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Words with the one in front that every text begins with."""
        missing = self.begin is not None and words and words[0] != self.begin
        return (str(self.begin), *words) if missing else words

    def came(self, ids: Sequence[int]) -> list[int]:
        """The labels that the words of a text are, in the order of reading; -1: unknown.

        A model that reads a mark first has each state beside the word that it predicts.
        """
        if not self.follows:
            return [-1] * len(ids)
        if self.features and self.answers and self.answers.scale:
            read = torch.tensor([self.values(number)[0] for number in ids])
            return [int(label) for label in self.answers.scale.bins(read)]
        return [*ids] if self.mark is None else [self.mark, *ids]

    def labels_of(self, ids: Sequence[int]) -> list[int]:
        """The label that each word is, for its colour; -1: none."""
        read = self.came(ids)
        return read if self.mark is None or not self.follows else read[1:]

    def encode(self, words: Iterable[str]) -> list[int]:
        """The numbers of words that somebody typed."""
        if self.features:
            return [encode_numbers(word, self.features) for word in words]
        return self.vocabulary.encode(words)

    def numbers(self, text: str, words: Sequence[str]) -> list[int]:  # noqa: ARG002
        """The numbers of the words of a text, which they may be the first of."""
        return self.encode(words)

    def told(
        self,
        ids: Sequence[int],  # noqa: ARG002
        name: str,  # noqa: ARG002
        answers: LabelSet | None = None,  # noqa: ARG002
    ) -> list[int] | None:
        """The labels that are right at the states of a text, by the name of their targets, -1 where
        there is none; None where texts do not tell them: what was typed has no other targets than
        the words in it.
        """
        return None

    def written(self, ids: Sequence[int]) -> str:
        """The text that words are of, as people would type it."""
        if self.pieces:
            return self.pieces.written(ids)
        return ("" if self.splitting == "letters" else " ").join(self.name(k) for k in ids)

    def places(self, ids: Sequence[int]) -> list[Place]:
        """Which piece of a word each is, where a model reads pieces."""
        return self.pieces.places(ids) if self.pieces and self.are_words(ids) else [""] * len(ids)

    def listed(self, find: str, first: int, most: int) -> Listed | None:  # noqa: ARG002
        """Texts that hold what is to be found, the first of these left out; None where texts are
        typed.
        """
        return None

    def name(self, number: int) -> str:
        """What the model takes a word for."""
        if self.features:
            return written_numbers(self.values(number))
        return self.vocabulary.inputs[number]

    def values(self, number: int) -> tuple[float, ...]:
        """The numbers that are read at a step; none where words are."""
        return decode_numbers(number, self.features) if self.features else ()

    @cached_property
    def labels(self) -> LabelSet:
        """What the model predicts."""
        return self.answers or LabelSet(self.vocabulary.labels)

    def are_words(self, ids: Sequence[int]) -> bool:  # noqa: ARG002 - of what is no text
        """Whether these are words, or numbers in their place, that others could stand in for."""
        return True

    def beside(self, ids: Sequence[int]) -> States:  # noqa: ARG002 - of what is no text
        """What a run keeps of a text beside its states; nothing of one that can be typed."""
        return {}

    def restore(self, example: Example) -> Example:
        """An example that a run has kept, as it is read here."""
        return example

    def picture(self, number: int) -> tuple[float, ...]:  # noqa: ARG002 - of what is no word
        """The numbers that are read at a step, from 0 to 1, to be drawn; none where words are."""
        return ()

    def sources(self, ids: Sequence[int]) -> int:  # noqa: ARG002 - of what is no pair
        """How many of these words, the first ones, are of a source; 0: it is no pair."""
        return 0

    def generated(self, text: str) -> bool:  # noqa: ARG002 - of what is no pair
        """Whether the model has written the end of a text itself, the target of its source."""
        return False

    def may_lack(self, ids: Sequence[int], place: int) -> bool:  # noqa: ARG002 - of what is no pair
        """Whether a text can be read without one of its words."""
        return True

    def frequencies(self, beside: int) -> Sequence[int] | None:  # noqa: ARG002 - of what is no pair
        """How often each number comes of words that might stand in for a word, where the model
        itself does not expect one; None: it does.
        """
        return None

    def stand_in(self, word: str | None, beside: int) -> int | None:  # noqa: ARG002
        """The number of a word, None: the unknown one, where it stands in for the word `beside`;
        None where there is none such.
        """
        return self.vocabulary.unknown if word is None else self.vocabulary.index.get(word)

    def is_unknown(self, number: int) -> bool:
        """Whether it is the number of all words that the model does not know."""
        return not self.features and number == self.vocabulary.unknown

    @classmethod
    def of_words(cls, vocabulary: Vocabulary) -> "TextSide":
        """For a network that rnnlens trains; only a language model's labels are its words."""

        @lru_cache(_REMEMBERED)
        def is_known(word: str) -> bool:
            return vocabulary.encode([word]) != [vocabulary.unknown]

        follows = vocabulary.words is None
        split = partial(words_of, is_known=is_known)
        return cls(vocabulary, split, column, follows=follows, side_by_side=True, splitting="penn")


def column(ids: Sequence[int]) -> Tensor:
    """One sentence as a batch (T, 1)."""
    return torch.tensor(list(ids))[:, None]


@torch.no_grad()
def text_states(
    model: Traceable, side: TextSide, ids: Sequence[int], edits: Sequence[StateEdit] = ()
) -> States:
    """The states (T, H) of every kind after each word of a text, and of `y`, the prediction."""
    return states_in(model.trace(side.batch(ids), edits=edits), model, ids)


def states_in(trace: Trace, model: Traceable, ids: Sequence[int]) -> States:
    """The same of the trace of a text."""
    kinds = [kind.id for kind in model.kinds]
    last = next(kind for kind in reversed(kinds) if kind in at_hand(trace.states))
    steps, batch, _ = trace.states[last].shape
    if trace.lengths is not None and steps > len(ids):  # the text is padded
        steps = int(trace.lengths.max())
    if (steps, batch) != (len(ids), 1):
        raise RnnlensError(
            f"a text of {len(ids)} words was read as {batch} sequences of {steps} timesteps; "
            "give prepare= a function that makes one sequence of just these words"
        )
    states = of_each(trace.states, lambda _, values: values[:steps, 0].float().cpu())
    for kind, values in at_hand(states).items():
        if len(values) != steps:
            raise RnnlensError(
                f"of a text of {steps} words {kind} has {len(values)} states; give prepare= a "
                "function after which each word has one"
            )
    if trace.y is None and not model.predicts:
        return states
    y = trace.prediction[:steps, 0].float().cpu()
    states[PREDICTION] = y.expand(steps, -1)
    return states
