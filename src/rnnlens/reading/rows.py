"""The encodings of some rows of a grid; the row last computed is at hand for the next word."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.threads import one_thread, pool
from rnnlens.labels.sets import LabelSet
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.probes import Piece, Probes
from rnnlens.probe.semantics import of_model, offset
from rnnlens.reading.changes import TextEdits
from rnnlens.reading.divergence import Difference
from rnnlens.reading.encoding import Encodings, Integers, Palette, encode
from rnnlens.reading.payload import Column
from rnnlens.reading.prefixes import prefixes
from rnnlens.reading.session import Session

_ROOM = 112 * 2**20  # bytes: the last rows of 100 texts under 15,000 labels
_PIECE = 40  # states at once: their distributions stay in the processor's cache

Place = tuple[str, int]  # a kind and a timestep
_Key = tuple[bytes, str, str, frozenset[str] | None]  # a prefix, a semantic, a palette, kinds
Result = TypeVar("Result")
Parallel = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Request:
    """A sentence under a semantic and a palette, as words and as labels."""

    text: str
    words: tuple[str, ...]
    ids: list[int]
    came: list[int]  # the label each word is, where the text tells what came; else -1
    semantic: str
    palette: str
    answers: LabelSet  # that the semantic asks for
    left_out: int = 0  # words of the text beyond the most that are read
    edits: TextEdits | None = None  # on the way
    dropped: tuple[str, ...] = ()  # why edits that were asked for are not among them
    kinds: frozenset[str] | None = None  # whose states are wanted; None: all

    @property
    def before(self) -> "Request":
        """The same without its edits."""
        return replace(self, edits=None)


class _Row(NamedTuple):
    """A row that was computed: typing on changes only which labels it is asked about."""

    made: Encodings
    logits: Tensor  # (N, V)


class Rows:
    """What is drawn for the states of some rows; safe to use from several threads."""

    def __init__(
        self,
        session: Session,
        probes: Probes | None,
        columns: Sequence[Column],
        room: int = _ROOM,
    ) -> None:
        self.session, self.probes = session, probes
        self.earlier = {column.kind.id for column in columns if column.back}
        self.parallel: Parallel = _in_threads
        self.computed = 0  # rows so far, for those who measure
        row = 4 * len(columns) * len(session.vocabulary)  # bytes
        self._most = room // row if session.model.causal else 0
        self._recent: OrderedDict[_Key, _Row] = OrderedDict()
        self._lock = Lock()

    def encoded(
        self, asked: Request, palette: Palette, first: int, last: int
    ) -> tuple[list[Place], Integers, Encodings]:
        """States of the rows first..last-1, the labels they are asked about, their encodings."""
        way = (asked.semantic, asked.palette, asked.kinds)
        keys = [(prefix, *way) for prefix in prefixes(asked.ids[:last])]
        known = self._known(keys[first + 1])
        places, parts = list[Place](), list[Encodings]()
        if known:
            places = self.places(asked, first, first + 1)
            parts.append(known.made.asked_about(known.logits, wanted_labels(asked, places)))
            first += 1
        if first < last:
            at_hand = len(places)  # among them what the next row shows of this one
            places += self.places(asked, first, last, known is None)
            number = {place: k for k, place in enumerate(places)}
            keep = np.array([number[place] for place in self.places(asked, last - 1, last)])
            kept = torch.empty(len(keep), palette.members.shape[1], dtype=torch.float32)
            if known:
                _copy(known.logits, 0, keep, kept)
            rest = self._compute(asked, palette, (first, last), known is None, keep - at_hand, kept)
            parts.append(rest)
            self._remember(keys[last], _Row(Encodings.join(parts).of(keep), kept))
        return places, wanted_labels(asked, places), Encodings.join(parts)

    def edited(
        self, asked: Request, palette: Palette, first: int, last: int
    ) -> tuple[list[Place], Integers, Encodings, Difference]:
        """The same of a text with edits, which are not kept, and what they have changed."""
        places = self.places(asked, first, last)
        wanted = wanted_labels(asked, places)

        def work(start: int, logits: list[Tensor]) -> tuple[Encodings, Difference]:
            after, before = logits
            made = encode(after, palette, wanted[start : start + len(after)])
            return made, Difference.of(after, before, asked.answers)

        parts = self.each_of([asked, asked.before], first, last, work)
        self.computed += last - first
        encodings = Encodings.join([made for made, _ in parts])
        return places, wanted, encodings, Difference.join([change for _, change in parts])

    def _kinds(self, asked: Request) -> list[str]:
        """Whose states are asked for, the model's own prediction last."""
        own = self.session.model.predicts and of_model(asked.semantic)
        every = [*(self.probes.kinds if self.probes else ()), *((PREDICTION,) if own else ())]
        return [kind for kind in every if asked.kinds is None or kind in asked.kinds]

    def places(self, asked: Request, first: int, last: int, back: bool = True) -> list[Place]:
        """The states of some rows, in the order of their pieces.

        `back`: with those of the row before that the first row shows again.
        """
        return [
            (kind, t)
            for kind in self._kinds(asked)
            for t in range(first - (back and kind in self.earlier), last)
        ]

    def _compute(
        self,
        asked: Request,
        palette: Palette,
        span: tuple[int, int],
        back: bool,
        keep: Integers,
        kept: Tensor,
    ) -> Encodings:
        """The encodings of the places of some rows, whose logits are copied into `kept` for those
        with the numbers `keep`.
        """
        wanted = wanted_labels(asked, self.places(asked, *span, back))

        def work(start: int, logits: list[Tensor]) -> Encodings:
            _copy(logits[0], start, keep, kept)
            return encode(logits[0], palette, wanted[start : start + len(logits[0])])

        self.computed += span[1] - span[0]
        return Encodings.join(self.each_of([asked], *span, work, back))

    def each(
        self, asked: Request, first: int, last: int, work: Callable[[int, Tensor], Result]
    ) -> list[Result]:
        """What `work` makes of the logits (N, V) of the places, some of them at a time.

        It is given the number of the first of those places, too.
        """
        return self.each_of([asked], first, last, lambda start, logits: work(start, logits[0]))

    def each_of(
        self,
        several: Sequence[Request],
        first: int,
        last: int,
        work: Callable[[int, list[Tensor]], Result],
        back: bool = True,
    ) -> list[Result]:
        """The same of several requests side by side: one text, with other edits."""
        each = (self._pieces(asked, first, last, back) for asked in several)
        pieces = list(zip(*each, strict=True))
        starts = [0, *accumulate(piece[0].count for piece in pieces)]

        def piece(k: int) -> Result:
            with one_thread(), torch.inference_mode():  # neither carries over to other threads
                logits = [one.logits() for one in pieces[k]]
                for asked, some in zip(several, logits, strict=True):
                    if asked.edits:
                        asked.edits.check_size(some)
                return work(starts[k], logits)

        if len(pieces) == 1:  # waking other threads takes longer
            return [piece(0)]
        return list(self.parallel(piece, range(len(pieces))))

    def _pieces(self, asked: Request, first: int, last: int, back: bool) -> list[Piece]:
        """How to compute the logits of the states of some rows."""
        with one_thread():
            states, before = self.session.read(asked.ids, first, last, asked.edits)
        for kind in self.earlier if back else ():
            states[kind] = torch.cat([before[kind][None], states[kind]])
        stack = self.probes.stacks[asked.semantic] if self.probes else None
        predict, kinds = self.session.model.predict, self._kinds(asked)
        own = states[PREDICTION].split(_PIECE) if PREDICTION in kinds else ()
        states = {kind: states[kind] for kind in kinds}
        pieces = [
            *(stack.pieces(states, _PIECE) if stack else ()),
            *(Piece(len(y), partial(predict, y)) for y in own),
        ]
        few = sum(piece.count for piece in pieces) <= _PIECE
        return [Piece.join(pieces)] if few else pieces

    def _known(self, key: _Key) -> _Row | None:
        with self._lock:
            if key in self._recent:
                self._recent.move_to_end(key)
            return self._recent.get(key)

    def _remember(self, key: _Key, row: _Row) -> None:
        with self._lock:
            self._recent[key] = row
            self._recent.move_to_end(key)
            while len(self._recent) > self._most:
                self._recent.popitem(last=False)

    def forget(self) -> None:
        """Have nothing at hand any more."""
        with self._lock:
            self._recent.clear()
        self.session.forget()


def _copy(logits: Tensor, start: int, chosen: Integers, into: Tensor) -> None:
    """Copy the logits of the chosen states, as far as these are among the ones from `start` on."""
    here = np.flatnonzero((chosen >= start) & (chosen < start + len(logits)))
    into.numpy()[here] = logits.numpy()[chosen[here] - start]  # torch takes five times as long


def _in_threads(work: Callable[[Any], Encodings], pieces: Iterable[Any]) -> Iterable[Encodings]:
    return pool().map(work, pieces)


def wanted_labels(asked: Request, places: Sequence[Place]) -> Integers:
    """The label each state is asked about, -1 where the text has none."""
    if not of_model(asked.semantic):  # no text tells these
        return np.full(len(places), -1, np.int64)
    shift, came = offset(asked.semantic), asked.came
    at = [t + (1 if kind == PREDICTION else shift) for kind, t in places]
    return np.array([came[k] if 0 <= k < len(came) else -1 for k in at], np.int64)
