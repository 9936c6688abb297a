"""The model's own likeliest words, fed back to it: how it goes on, with edits and without."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field, StrictInt
from pydantic.dataclasses import dataclass as question
from torch import Tensor

from rnnlens.ask.questions import STRICT, OfText, Subjects, Whole, given
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import message
from rnnlens.base.schema import sent, unsent
from rnnlens.base.threads import one_thread
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.text import text_states, written_numbers
from rnnlens.reading.reading import Reading
from rnnlens.reading.session import Changes, Session

MOST_WORDS = 200  # to go on with


@question(frozen=True, kw_only=True, config=STRICT)
class ContinueQuestion(OfText):
    """A text that the model is to go on with by itself."""

    words: Annotated[StrictInt, Field(ge=1, le=MOST_WORDS), Whole] = given(
        10, "how many to go on with"
    )


@dataclass(frozen=True)
class Continued:
    """The model's own likeliest words after a text, each read before the next is asked for.

    `words` are those after the edits, and `before` those without them, the same where there are
    none.
    """

    before: tuple[str, ...] = sent("without the edits")
    words: tuple[str, ...] = sent("with them", name="after")
    text: str = unsent()
    edited: bool = unsent()

    def lines(self) -> list[str]:
        """How the model goes on, with edits and without, as lines for a terminal."""
        before, after = " ".join(self.before), " ".join(self.words)
        if not self.edited:
            return [f"goes on: {after}"]
        return [f"goes on before: {before}", f"goes on after:  {after}"]

    def __repr__(self) -> str:
        after = " ".join(self.words)
        return f"before {' '.join(self.before)}\nafter  {after}" if self.edited else after


def continued(subjects: Subjects, asked: ContinueQuestion) -> Continued:
    """The likeliest words after a text."""
    return continuation(subjects.read_one(asked), asked.words)


def continuation(reading: Reading, count: int) -> Continued:
    """The likeliest words after a text, with its edits and without."""
    session = reading.subject.session
    if not 1 <= count <= MOST_WORDS:
        raise RnnlensError(message("continuation_words", count=count, most=MOST_WORDS))
    reads_labels = session.vocabulary.inputs == session.vocabulary.labels
    if not session.text.follows or not (reads_labels or session.text.features == 1):
        raise RnnlensError(message("no_continuation", run=reading.subject.name))
    if not reading.ids:
        raise RnnlensError(message("empty_continuation"))
    with one_thread():  # small products: threads would wait for each other
        before = words = likeliest(session, reading.ids, None, count)
        if reading.edits:
            words = likeliest(session, reading.ids, reading.edits, count)
    return Continued(tuple(before), tuple(words), reading.text, reading.edits is not None)


@torch.no_grad()
def likeliest(session: Session, ids: Sequence[int], edits: Changes | None, count: int) -> list[str]:
    """The model's likeliest next word, read in its turn, so many times."""
    session.model.check()
    found: list[int] = []
    if session.model.causal:
        changes = edits.state_edits() if edits else []
        trace = session.model.trace(session.text.batch(ids), edits=changes)
        while len(found) < count:
            found.append(_likeliest(session, trace.prediction[-1], edits))
            trace = session.model.trace(session.text.batch(found[-1:]), trace.last)
    while len(found) < count:
        # A model that reads a mark first leaves the last word unread, whichever it is.
        read = [*ids, *found, *([0] if session.text.mark is not None else [])]
        changes = edits.state_edits() if edits else []
        y = text_states(session.model, session.text, read, changes)[PREDICTION]
        if session.text.features:  # a number, which is read as it is
            found += session.text.encode([written_numbers(y[-1].tolist())])
        else:
            found.append(_likeliest(session, y[-1:], edits))
    return [session.text.name(number) for number in found]


def _likeliest(session: Session, y: Tensor, edits: Changes | None) -> int:
    """The most probable label after what a trace gives as `y`."""
    logits = session.model.predict(y)
    if edits:
        edits.check_size(logits)
    return int(logits.argmax())
