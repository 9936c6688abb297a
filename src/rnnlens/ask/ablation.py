"""What becomes of the prediction without each state in turn: many copies of a text in one batch,
each with one state set to zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.tables import data_frame
from rnnlens.base.threads import one_thread
from rnnlens.model.traceable import StateEdit
from rnnlens.reading.divergence import Difference
from rnnlens.reading.rows import Request
from rnnlens.reading.source import GridSource

if TYPE_CHECKING:
    import pandas as pd

_WORDS = 4_000  # of all copies that are read at once


@dataclass(frozen=True)
class Zeroed:
    """How far the prediction after one word moves without each state before it.

    `zeroed["l2"][3]` is the Jensen-Shannon divergence in bits between what the model predicts and
    what it predicts with the state of l2 after the fourth word set to zero; `bits` has all, words
    down and kinds across.
    """

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    at: int  # the word after which the prediction is made
    bits: NDArray[np.float64]  # (T, K)

    def __getitem__(self, kind: str) -> NDArray[np.float64]:
        if kind not in self.kinds:
            raise RnnlensError(f"there is no kind {kind!r}; there is {', '.join(self.kinds)}")
        column: NDArray[np.float64] = self.bits[:, self.kinds.index(kind)]
        return column

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every state: step, word, kind, bits."""
        return data_frame(
            {"step": step, "word": word, "kind": kind, "bits": float(self.bits[step, k])}
            for step, word in enumerate(self.words)
            for k, kind in enumerate(self.kinds)
        )

    def __repr__(self) -> str:
        step, k = np.unravel_index(int(self.bits.argmax()), self.bits.shape)
        most = f"{self.kinds[k]} after {self.words[step]!r}, {self.bits[step, k]:.2f} bits"
        return f"<{len(self.words)} words x {len(self.kinds)} kinds set to zero; most: {most}>"


def zeroed(
    lens: GridSource, asked: Request, kinds: Sequence[str] | None = None, at: int | None = None
) -> Zeroed:
    """Set each state of the words up to `at` (None: the last) to zero, one at a time."""
    editable = tuple(kind.id for kind in lens.model.kinds if kind.letter)
    chosen = editable if kinds is None else (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if strange := [kind for kind in chosen if kind not in editable]:
        raise RnnlensError(f"{strange[0]!r} is no kind that could be edited; there is "
                           f"{', '.join(editable)}")  # fmt: skip
    if not asked.ids or not chosen:
        raise RnnlensError("there is nothing to set to zero; give a text and at least one kind")
    count = len(asked.ids)
    last = count - 1 if at is None else at
    if not isinstance(last, int) or not 0 <= last < count:
        raise RnnlensError(f"there is no word {last}; the text has {count} words, from 0")
    causal = lens.model.causal  # what such a model reads later has no part in what it says here
    ids = asked.ids[: last + 1] if causal else asked.ids
    places = [(kind, step) for step in range(len(ids)) for kind in chosen]
    bits = _Copies(lens, asked, ids, last).bits(places)
    return Zeroed(asked.words[: len(ids)], chosen, last, bits.reshape(len(ids), len(chosen)))


class _Copies:
    """Copies of a text side by side, each read with another state set to zero."""

    def __init__(self, lens: GridSource, asked: Request, ids: Sequence[int], at: int) -> None:
        self.model, self.side, self.ids, self.at = lens.model, lens.session.text, ids, at
        self.answers = asked.answers

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
