"""The model's own likeliest words, fed back to it: how it goes on, with edits and without."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.threads import one_thread
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.text import text_states, written_numbers
from rnnlens.reading.rows import Request
from rnnlens.reading.session import Changes, Session
from rnnlens.reading.source import GridSource

MOST = 200  # words to go on with


@dataclass(frozen=True)
class Continuation:
    """How a model goes on by itself after a text.

    `words` are those after the edits, and `before` those without them, the same where there are
    none.
    """

    text: str
    words: list[str]
    before: list[str]
    edited: bool

    def to_json(self) -> dict[str, list[str]]:
        """What the server answers."""
        return {"before": self.before, "after": self.words}

    def lines(self) -> list[str]:
        """How the model goes on, with edits and without, as lines for a terminal."""
        before, after = " ".join(self.before), " ".join(self.words)
        if not self.edited:
            return [f"goes on: {after}"]
        return [f"goes on before: {before}", f"goes on after:  {after}"]

    def __repr__(self) -> str:
        after = " ".join(self.words)
        return f"before {' '.join(self.before)}\nafter  {after}" if self.edited else after


def continuation(lens: GridSource, asked: Request, count: int) -> Continuation:
    """The likeliest words after a text, with its edits and without."""
    session = lens.session
    if not 1 <= count <= MOST:
        raise RnnlensError(f"{count} words to go on with: give a number from 1 to {MOST}")
    reads_labels = session.vocabulary.inputs == session.vocabulary.labels
    if not session.text.follows or not (reads_labels or session.text.features == 1):
        raise RnnlensError(
            f"{lens.name} does not predict the words that it reads, so that it cannot go on with "
            "its own"
        )
    if not asked.ids:
        raise RnnlensError("the text is empty; give words to go on from")
    with one_thread():  # small products: threads would wait for each other
        before = words = likeliest(session, asked.ids, None, count)
        if asked.edits:
            words = likeliest(session, asked.ids, asked.edits, count)
    return Continuation(asked.text, words, before, asked.edits is not None)


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


def continued_json(
    lens: GridSource, text: str, edits: Sequence[str] = (), words: int = 10
) -> dict[str, list[str]]:
    """What the server answers."""
    return continuation(lens, lens.request(text, None, None, edits), words).to_json()
