"""What becomes of the prediction without each state in turn: many copies of a text in one batch,
each with one state set to zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.ask.questions import names
from rnnlens.ask.results import ByKind
from rnnlens.base.errors import RnnlensError
from rnnlens.base.threads import one_thread
from rnnlens.model.traceable import StateEdit
from rnnlens.reading.divergence import Difference
from rnnlens.reading.reading import Reading

_WORDS = 4_000  # of all copies that are read at once


@dataclass(frozen=True, eq=False, kw_only=True)
class Zeroed(ByKind):
    """How far the prediction after one word moves without each state before it.

    `zeroed["l2"][3]` is the Jensen-Shannon divergence in bits between what the model predicts and
    what it predicts with the state of l2 after the fourth word set to zero; `values` has all, words
    down and kinds across.
    """

    at: int  # the word after which the prediction is made

    def _row(self, step: int, kind: str, value: float) -> Mapping[str, Any]:  # noqa: ARG002
        return {"bits": value}

    def __repr__(self) -> str:
        step, kind, bits = next(self._largest())
        most = f"{kind} after {self.words[step]!r}, {bits:.2f} bits"
        return f"<{len(self.words)} words x {len(self.kinds)} kinds set to zero; most: {most}>"


def zeroed(reading: Reading, kinds: Sequence[str] | None = None, at: int | None = None) -> Zeroed:
    """Set each state of the words up to `at` (None: the last) to zero, one at a time."""
    reading.subject.model.check_reads("setting a state to zero")
    if reading.edits:
        raise RnnlensError("states are set to zero in a text without edits; leave them out")
    model = reading.subject.model
    editable = tuple(kind.id for kind in model.kinds if kind.letter)
    chosen = editable if kinds is None else names(kinds)
    if strange := [kind for kind in chosen if kind not in editable]:
        raise RnnlensError(f"{strange[0]!r} is no kind that could be edited; there is "
                           f"{', '.join(editable)}")  # fmt: skip
    if not reading.ids or not chosen:
        raise RnnlensError("there is nothing to set to zero; give a text and at least one kind")
    count = len(reading.ids)
    last = count - 1 if at is None else at
    if not isinstance(last, int) or not 0 <= last < count:
        raise RnnlensError(f"there is no word {last}; the text has {count} words, from 0")
    # What a causal model reads later has no part in what it says here.
    ids = reading.ids[: last + 1] if model.causal else reading.ids
    places = [(kind, step) for step in range(len(ids)) for kind in chosen]
    bits = _Copies(reading, ids, last).bits(places).reshape(len(ids), len(chosen))
    return Zeroed(words=reading.words[: len(ids)], kinds=chosen, values=bits, at=last)


class _Copies:
    """Copies of a text side by side, each read with another state set to zero."""

    def __init__(self, reading: Reading, ids: Sequence[int], at: int) -> None:
        self.model, self.side = reading.subject.model, reading.subject.session.text
        self.ids, self.at, self.answers = ids, at, reading.answers

    @torch.no_grad()
    def bits(self, places: Sequence[tuple[str, int]]) -> NDArray[np.float64]:
        """How far the prediction moves without each of these states, (N,)."""
        self.model.check()
        size = max(1, _WORDS // len(self.ids)) if self.side.side_by_side else 1
        with one_thread():
            before = self._logits(1, [])
            parts = [
                self._logits(len(some), [_zero(*place, k) for k, place in enumerate(some)])
                for some in (places[k : k + size] for k in range(0, len(places), size))
            ]
        moved = [Difference.of(one, before.expand_as(one), self.answers) for one in parts]
        return Difference.join(moved).bits

    def _logits(self, count: int, edits: Sequence[StateEdit]) -> Tensor:
        """What so many copies predict, (B, V)."""
        text = self.side.batch(self.ids)
        trace = self.model.trace(text if count == 1 else text.expand(-1, count), edits=edits)
        y = trace.prediction
        return self.model.predict(y[self.at if len(y) > 1 else 0]).float().cpu()


def _zero(kind: str, step: int, copy: int) -> StateEdit:
    def change(value: Tensor) -> Tensor:
        changed = value.clone()
        changed[copy] = 0
        return changed

    return StateEdit(kind, step, change)
