"""How the model goes on by itself: its words fed back to it, the likeliest ones and samples, with
edits and without.

A sample takes the label whose logit plus noise is largest (Gumbel's noise, so that each label is
drawn with its probability). The noise is a function of the seed, the sample, the word and the
label, by whole numbers of 32 bits: the published page has the same. With edits and without them,
and in both of two texts, it is the same noise, so that samples differ only where the model does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, StrictInt
from pydantic.dataclasses import dataclass as question
from torch import Tensor

from rnnlens.ask.questions import MOST_SEED, STRICT, OfText, Subjects, Whole, check_whole, given
from rnnlens.base.draws import uniform
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count as limit
from rnnlens.base.rules import message
from rnnlens.base.schema import sent, unsent
from rnnlens.base.threads import one_thread
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.text import TextSide, text_states, written_numbers
from rnnlens.reading.reading import Reading
from rnnlens.reading.session import Changes, Session

MOST_WORDS, MOST_SAMPLES = limit("continuation_words"), limit("continuation_samples")


@question(frozen=True, kw_only=True, config=STRICT)
class ContinueQuestion(OfText):
    """A text that the model is to go on with by itself."""

    words: Annotated[StrictInt, Field(ge=1, le=MOST_WORDS), Whole] = given(
        10, "how many to go on with"
    )
    samples: Annotated[StrictInt, Field(ge=0, le=MOST_SAMPLES), Whole] = given(
        0, "how many to draw beside the likeliest words"
    )
    seed: Annotated[StrictInt, Field(ge=0, le=MOST_SEED), Whole] = given(
        0, "what is drawn: the same samples for the same seed"
    )


@dataclass(frozen=True)
class Continued:
    """How the model goes on after a text, each word read before the next is asked for.

    `words` are its likeliest ones after the edits, and `before` those without them, the same where
    there are none; `samples` and `samples_before` are drawn with the probabilities that it gives,
    none where it predicts numbers. `written` makes a text of such words. The label of unknown words
    is left out, and the others share its probability.
    """

    before: tuple[str, ...] = sent("the likeliest words, without the edits")
    words: tuple[str, ...] = sent("and with them", name="after")
    samples: tuple[tuple[str, ...], ...] = sent("drawn, with the edits")
    samples_before: tuple[tuple[str, ...], ...] = sent("and without them")
    left_out: str | None = sent("the label of unknown words, which is left out; null: none is")
    text: str = unsent()
    edited: bool = unsent()
    written: Callable[[Sequence[str]], str] = unsent()

    def lines(self) -> list[str]:
        """How the model goes on, with edits and without, as lines for a terminal."""
        if not self.edited:
            return [f"goes on: {self.written(self.words)}", *self._numbered("sample", self.samples)]
        return [
            f"goes on before: {self.written(self.before)}",
            f"goes on after:  {self.written(self.words)}",
            *self._numbered("sample before", self.samples_before),
            *self._numbered("sample after", self.samples),
        ]

    def __repr__(self) -> str:
        after = self.written(self.words)
        likeliest = f"before {self.written(self.before)}\nafter  {after}" if self.edited else after
        return "\n".join([likeliest, *self.lines()[1 + self.edited :]])

    def _numbered(self, name: str, samples: Sequence[Sequence[str]]) -> list[str]:
        return [f"{name} {k}: {self.written(words)}" for k, words in enumerate(samples, 1)]


def _written(side: TextSide, words: Sequence[str]) -> str:
    return side.written(side.encode(words)) if side.pieces else " ".join(words)


def continued(subjects: Subjects, asked: ContinueQuestion) -> Continued:
    """How the model goes on after a text."""
    return continuation(subjects.read_one(asked), asked.words, asked.samples, asked.seed)


def continuation(reading: Reading, count: int, samples: int = 0, seed: int = 0) -> Continued:
    """How the model goes on after a text, with its edits and without."""
    session = reading.subject.session
    session.model.check_reads("how a text goes on")
    _check(count, samples, seed)
    reads_labels = session.vocabulary.inputs == session.vocabulary.labels
    follows = session.text.follows and session.text.are_words(reading.ids)
    if not follows or not (reads_labels or session.text.features == 1):
        raise RnnlensError(message("no_continuation", run=reading.subject.name))
    if not reading.ids:
        raise RnnlensError(message("empty_continuation"))
    unknown = None if session.text.features else session.vocabulary.unknown
    chosen = _Choice(0 if session.text.features else samples, seed, unknown)
    with one_thread():  # small products: threads would wait for each other
        before = after = going_on(session, reading.ids, None, count, chosen)
        if reading.edits:
            after = going_on(session, reading.ids, reading.edits, count, chosen)
    left_out = None if unknown is None else session.text.name(unknown)
    return Continued(
        before[0], after[0], after[1:], before[1:], left_out, reading.text,
        reading.edits is not None, partial(_written, session.text),
    )  # fmt: skip


def _check(count: int, samples: int, seed: int) -> None:
    """Refuse numbers beyond what is computed."""
    check_whole("continuation_words", count, 1, MOST_WORDS)
    check_whole("continuation_samples", samples, 0, MOST_SAMPLES)
    check_whole("continuation_seed", seed, 0, MOST_SEED)


class _Choice:
    """Which label comes next: the likeliest first, then one for each sample."""

    def __init__(self, samples: int, seed: int, unknown: int | None) -> None:
        self.samples, self.seed, self.unknown = samples, int(seed), unknown
        self._noise: dict[int, NDArray[np.float64]] = {}

    def of(self, logits: Tensor, step: int) -> list[int]:
        """The labels after some logits (1 + samples, V), or (1, V) which all share."""
        x = logits.reshape(-1, logits.shape[-1]).double().numpy().copy()
        if self.unknown is not None:
            x[:, self.unknown] = -np.inf
        if not self.samples:
            return [int(x[0].argmax())]
        if step not in self._noise:
            self._noise[step] = noise(self.seed, self.samples, step, x.shape[1])
        drawn = (x[1:] if len(x) > 1 else x) + self._noise[step]
        return [int(x[0].argmax()), *(int(label) for label in drawn.argmax(1))]


def noise(seed: int, samples: int, step: int, labels: int) -> NDArray[np.float64]:
    """Gumbel's noise for a word of each sample, (samples, labels)."""
    drawn: NDArray[np.float64] = -np.log(-np.log(uniform(seed, samples, step, labels)))
    return drawn


Words = tuple[tuple[str, ...], ...]


@torch.no_grad()
def going_on(
    session: Session, ids: Sequence[int], edits: Changes | None, count: int, choice: _Choice
) -> Words:
    """The words that follow a text: the likeliest ones, then those of each sample, all of them in
    one batch.
    """
    session.model.check()
    if session.model.causal:
        found = _in_one_batch(session, ids, edits, count, choice)
    else:
        found = [
            _by_reading_again(session, ids, edits, count, choice, which)
            for which in range(1 + choice.samples)
        ]
    return tuple(tuple(session.text.name(number) for number in words) for words in found)


def _in_one_batch(
    session: Session, ids: Sequence[int], edits: Changes | None, count: int, choice: _Choice
) -> list[list[int]]:
    """Going on from what is carried."""
    model = session.model
    trace = model.trace(session.text.batch(ids), edits=edits.state_edits() if edits else [])
    y, last, words = trace.prediction[-1], trace.last, list[list[int]]()
    for step in range(count):
        logits = model.predict(y)
        if edits:
            edits.check_size(logits)
        words.append(choice.of(logits, step))
        if step + 1 < count:
            start = {k: state.expand(len(words[-1]), -1).contiguous() for k, state in last.items()}
            trace = model.trace(torch.tensor([words[-1]]), start)
            y, last = trace.prediction[-1], trace.last
    return [list(sequence) for sequence in zip(*words, strict=True)]


def _by_reading_again(
    session: Session, ids: Sequence[int], edits: Changes | None, count: int, choice: _Choice,
    which: int,
) -> list[int]:  # fmt: skip
    """Reading all from its beginning for each word, where nothing is carried."""
    found: list[int] = []
    for step in range(count):
        # A model that reads a mark first leaves the last word unread, whichever it is.
        read = [*ids, *found, *([0] if session.text.mark is not None else [])]
        changes = edits.state_edits() if edits else []
        y = text_states(session.model, session.text, read, changes)[PREDICTION]
        if session.text.features:  # a number, which is read as it is
            found += session.text.encode([written_numbers(y[-1].tolist())])
            continue
        logits = session.model.predict(y[-1:])
        if edits:
            edits.check_size(logits)
        found.append(choice.of(logits, step)[which])
    return found
