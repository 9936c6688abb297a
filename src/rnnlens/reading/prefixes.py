"""What a model carries from word to word, kept for prefixes that were read before."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.text import column
from rnnlens.model.traceable import Trace, Traceable

_ROOM = 16 * 2**20  # bytes: thousands of prefixes
_ENTRY = 200  # bytes of bookkeeping for each


class Memory:
    """Reads words from the longest prefix it knows; safe to use from several threads."""

    def __init__(
        self, model: Traceable, batch: Callable[[Sequence[int]], Any] = column, room: int = _ROOM
    ) -> None:
        """`batch` makes numbers of words into what the model is given."""
        self.model, self.batch, self.room = model, batch, room
        self.steps = 0  # words read so far, for those who measure
        self._known: OrderedDict[bytes, int] = OrderedDict()  # prefix -> its row of `_rows`
        self._rows: Tensor | None = None  # (entries, width) what is carried after each prefix
        self._start: States = {}  # what is carried before the first word, (1, H) each
        self._lock = Lock()

    def read(self, ids: Sequence[int], first: int, last: int) -> tuple[States, States]:
        """States (T, H) of every kind and `y` after the words first..last-1, and what was carried
        into `first`.
        """
        keys = prefixes(ids[:last])
        start, carried = self._longest(keys[: first + 1])
        trace = self.model.trace(self.batch(ids[start:last]), carried or None)
        self.steps += last - start
        flat = {kind: values[:, 0] for kind, values in _with_prediction(trace).items()}
        zeros = self._before(trace)  # before anything is kept that is read by its widths
        self._keep(keys[start + 1 :], flat)
        rows = first - start
        before = {kind: v[0] for kind, v in (carried or zeros).items()}
        if rows:
            before = {kind: flat[kind][rows - 1] for kind in self.model.carried}
        return {kind: values[rows:] for kind, values in flat.items()}, before

    def forget(self) -> None:
        """Know no prefix any more."""
        with self._lock:
            self._known.clear()
            self._rows = None

    def _before(self, trace: Trace) -> States:
        """What is carried before the first word: nothing has been read, so that all is zero."""
        if not self._start:
            self._start = {kind: torch.zeros_like(v) for kind, v in trace.last.items()}
        return self._start

    def _longest(self, keys: list[bytes]) -> tuple[int, States]:
        """The longest known prefix among these, and what is carried after it."""
        with self._lock:
            for length in range(len(keys) - 1, 0, -1):
                if self._rows is not None and (row := self._known.get(keys[length])) is not None:
                    self._known.move_to_end(keys[length])
                    held = self._rows[row].clone()  # the row is another prefix's before long
                    widths = [self._start[kind].shape[1] for kind in self.model.carried]
                    parts = zip(self.model.carried, held.split(widths), strict=True)
                    return length, {kind: part[None] for kind, part in parts}
        return 0, {}

    def _keep(self, keys: list[bytes], states: States) -> None:
        """Remember what is carried after each prefix; those not used for longest are forgotten."""
        if not keys:
            return
        carried = torch.cat([states[kind] for kind in self.model.carried], 1)
        with self._lock:
            rows = self._room_for(carried)
            for key, values in zip(keys[-len(rows) :], carried[-len(rows) :], strict=True):
                row = self._known.pop(key, None)
                if row is None:
                    full = len(self._known) == len(rows)
                    row = self._known.popitem(last=False)[1] if full else len(self._known)
                rows[row] = values
                self._known[key] = row

    def _room_for(self, carried: Tensor) -> Tensor:
        """All rows in one tensor, whose pages are taken as they are first written.

        A small tensor for each prefix would, once old ones go, leave the heap full of holes.
        """
        if self._rows is None:
            width = carried.shape[1]
            entries = max(2, self.room // (carried.element_size() * width + _ENTRY))
            with torch.inference_mode(False):  # so that it can be written in either mode
                self._rows = carried.new_empty(entries, width)
        return self._rows


def _with_prediction(trace: Trace) -> States:
    return trace.states if trace.y is None else {**trace.states, PREDICTION: trace.y}


def prefixes(ids: Sequence[int]) -> list[bytes]:
    """A digest for every prefix, each made from the one before; the empty prefix is first."""
    keys = [b""]
    for label in ids:
        size = max(4, (label.bit_length() + 7) // 8)  # a step of several numbers has more bits
        keys.append(blake2b(keys[-1] + label.to_bytes(size, "little"), digest_size=16).digest())
    return keys
