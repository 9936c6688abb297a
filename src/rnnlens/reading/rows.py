"""What the states of some rows of a reading say, and how each is drawn. The row computed last is at
hand for the next word.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from rnnlens.base.threads import one_thread
from rnnlens.labels.sets import width_at
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.probes import Piece
from rnnlens.probe.semantics import of_model, offset, shift
from rnnlens.reading.divergence import Difference
from rnnlens.reading.encoding import Encodings, Integers, encode
from rnnlens.reading.reading import Reading
from rnnlens.reading.subject import Column, EncodedRow

_PIECE = 40  # states at once: their distributions stay in the processor's cache
_FEW = 100_000  # logits that are computed at once, as waking other threads takes longer

Place = tuple[str, int]  # a kind and a timestep
Result = TypeVar("Result")


class Encoded(NamedTuple):
    """The states of some rows as they are drawn."""

    places: list[Place]
    came: Integers  # the label that really came at each, -1 where the text has none
    encodings: Encodings


def encoded(reading: Reading, first: int, last: int) -> Encoded:
    """States of the rows first..last-1, the labels that came there, and their encodings."""
    recent = reading.subject.recent
    way = (reading.semantic, reading.palette_name, reading.wanted)
    keys = [(prefix, *way) for prefix in reading.prefixes[: last + 1]]
    known = recent.get(keys[first + 1])
    places, parts = list[Place](), list[Encodings]()
    if known:
        places = places_of(reading, first, first + 1)
        came = labels_that_came(reading, places)
        parts.append(known.encodings.asked_about(known.logits, came))
        first += 1
    if first == last:
        return Encoded(places, labels_that_came(reading, places), parts[0])
    at_hand = len(places)  # among them what the next row shows of this one
    places += places_of(reading, first, last, known is None)
    number = {place: k for k, place in enumerate(places)}
    keep = np.array([number[place] for place in places_of(reading, last - 1, last)])
    made, kept = _encode(reading, (first, last), known is None, keep - at_hand)
    if known and at_hand > keep.min():
        _copy(known.logits, 0, keep, kept)
    joined = Encodings.join([*parts, made])
    recent.keep(keys[last], EncodedRow(joined.of(keep), kept))
    return Encoded(places, labels_that_came(reading, places), joined)


def encoded_with_logits(reading: Reading, first: int, last: int) -> tuple[Encoded, Tensor]:
    """What `encoded` gives, with the logits (N, V) of all states; nothing of it is kept."""
    places = places_of(reading, first, last)
    encodings, logits = _encode(reading, (first, last), True, np.arange(len(places)))
    return Encoded(places, labels_that_came(reading, places), encodings), logits


def encoded_beside(
    reading: Reading, before: Reading, first: int, last: int
) -> tuple[Encoded, Difference]:
    """The states of some rows, and how far each lies from that of another reading of the text."""
    places = places_of(reading, first, last)
    answers, both = reading.answers, [reading, before]
    pieces = [_pieces(one, first, last, True) for one in both]
    encoder = _Encoder(reading, places, pieces[0])

    def work(start: int, logits: list[Tensor]) -> tuple[Encodings, Difference]:
        now, then = logits
        return encoder.encode(start, now), Difference.of(now, then, answers)

    encodings, apart = zip(*_over(both, pieces, work), strict=True)
    reading.subject.recent.computed += last - first
    made = Encoded(places, encoder.came, _sized(encodings, pieces[0]))
    return made, Difference.join(apart)


def logits_of(reading: Reading, first: int, last: int) -> Tensor:
    """What the states of some rows say of every label, (N, V), in the order of their places."""
    return torch.cat(each_state(reading, first, last, lambda _, logits: logits))


def _encode(
    reading: Reading, span: tuple[int, int], back: bool, keep: Integers
) -> tuple[Encodings, Tensor]:
    """The encodings of the places of some rows, and the logits of those with the numbers `keep`;
    of numbers below 0 these are left open.
    """
    pieces = _pieces(reading, *span, back)
    encoder = _Encoder(reading, places_of(reading, *span, back), pieces)
    alone = len(pieces) == 1 and np.array_equal(keep, np.arange(pieces[0].count))
    size = 0 if alone else len(keep), reading.palette.members.shape[1]
    kept = torch.empty(size, dtype=torch.float32)

    def work(start: int, logits: list[Tensor]) -> tuple[Encodings, Tensor]:
        if not alone:  # else the logits are kept as they are, and nothing is copied
            _copy(logits[0], start, keep, kept)
        return encoder.encode(start, logits[0]), logits[0] if alone else kept

    reading.subject.recent.computed += span[1] - span[0]
    made = _over([reading], [pieces], work)
    return _sized([encodings for encodings, _ in made], pieces), made[0][1]


class _Encoder:
    """Encodes the places of some rows, piece by piece."""

    def __init__(self, reading: Reading, places: Sequence[Place], pieces: Sequence[Piece]) -> None:
        self.palette, self.came = reading.palette, labels_that_came(reading, places)
        source = reading.subject.model.source_kinds
        self.of_source = np.array([kind in source for kind, _ in places], bool)
        self.own = self.widths = None  # of numbers
        if reading.answers.scale:
            self.own = Piece.numbers(pieces)
            known = reading.subject.widths(reading.semantic)
            self.widths = _widths_at(known, places)

    def encode(self, start: int, logits: Tensor) -> Encodings:
        """The places from one on."""
        here = slice(start, start + len(logits))
        own, widths = (None if one is None else one[here] for one in (self.own, self.widths))
        if self.palette.base_without is None:
            return encode(logits, self.palette, self.came[here], own=own, widths=widths)
        # States of a source are never asked for the end of its target.
        of_source = self.of_source[here]
        parts = [
            encode(logits[torch.from_numpy(chosen)], palette, self.came[here][chosen])
            for chosen, palette in ((of_source, self.palette.without), (~of_source, self.palette))
        ]
        order = np.argsort(np.concatenate([np.flatnonzero(of_source), np.flatnonzero(~of_source)]))
        return Encodings.join(parts).of(order)


def _widths_at(known: Mapping[str, tuple[float, ...]], places: Sequence[Place]) -> Tensor | None:
    """What the interval of each place is widened by; None: nothing is known of that."""
    if not known:
        return None
    steps = torch.tensor([t for _, t in places])
    every = {kind: width_at(widths, steps).tolist() for kind, widths in known.items()}
    chosen = [every[kind][k] if kind in every else 1.0 for k, (kind, _) in enumerate(places)]
    return torch.tensor(chosen, dtype=torch.float64)


def _sized(encodings: Sequence[Encodings], pieces: Sequence[Piece]) -> Encodings:
    """The encodings of pieces, with the sizes of the states."""
    sizes = torch.cat([piece.sizes for piece in pieces])
    return replace(Encodings.join(encodings), sizes=sizes.numpy())


def places_of(reading: Reading, first: int, last: int, back: bool = True) -> list[Place]:
    """The states of some rows, in the order of their pieces.

    `back`: with those of the row before that the first row shows again.
    """
    earlier = reading.earlier
    return [
        (kind, t)
        for kind in _kinds(reading)
        for t in reading.rows_of(kind, first - (back and kind in earlier), last)
    ]


def _kinds(reading: Reading) -> list[str]:
    """Whose states are asked for, the model's own prediction last."""
    subject = reading.subject
    own = subject.model.predicts and of_model(reading.semantic)
    every = [*(subject.probes.kinds if subject.probes else ()), *((PREDICTION,) if own else ())]
    return every if reading.wanted is None else [kind for kind in every if kind in reading.kinds]


def each_state(
    reading: Reading,
    first: int,
    last: int,
    work: Callable[[int, Tensor], Result],
    back: bool = True,
) -> list[Result]:
    """What `work` makes of the logits (N, V) of the places of some rows, a few places at a time.

    It is given the number of the first of those places, too.
    """
    return each_beside([reading], first, last, lambda start, logits: work(start, logits[0]), back)


def each_beside(
    readings: Sequence[Reading],
    first: int,
    last: int,
    work: Callable[[int, list[Tensor]], Result],
    back: bool = True,
) -> list[Result]:
    """What `work` makes of the logits of one text's places in several readings of it, which differ
    in their edits alone: what is compared is computed together, and nothing of it is held.
    """
    return _over(readings, [_pieces(one, first, last, back) for one in readings], work)


def _over(
    readings: Sequence[Reading],
    parts: Sequence[Sequence[Piece]],
    work: Callable[[int, list[Tensor]], Result],
) -> list[Result]:
    """What `work` makes of the pieces of each reading."""
    pieces = list(zip(*parts, strict=True))
    starts = [0, *accumulate(some[0].count for some in pieces)]

    def one(k: int) -> Result:
        with one_thread(), torch.inference_mode():  # neither carries over to other threads
            logits = [piece.logits() for piece in pieces[k]]
            for reading, some in zip(readings, logits, strict=True):
                if reading.edits:
                    reading.edits.check_size(some)
            return work(starts[k], logits)

    if len(pieces) == 1:  # waking other threads takes longer
        return [one(0)]
    return list(readings[0].subject.parallel(one, range(len(pieces))))


def table_of(
    reading: Reading, columns: Sequence[Column], first: int, last: int, values: Sequence[Result],
    none: Result,
) -> list[list[Result]]:  # fmt: skip
    """Values of the places of some rows, row by row and column by column; `none` where a kind has
    no state, or none that is asked for.
    """
    at = dict(zip(places_of(reading, first, last), values, strict=True))
    return [
        [at.get((c.kind.id, t - c.back), none) if reading.shows(c, t) else none for c in columns]
        for t in range(first, last)
    ]


def _pieces(reading: Reading, first: int, last: int, back: bool) -> list[Piece]:
    """How to compute the logits of the states of some rows."""
    subject = reading.subject
    with one_thread():
        states, before = subject.session.read(reading.ids, first, last, reading.edits)
    earlier = reading.earlier if back else frozenset[str]()
    for kind in earlier:
        states[kind] = torch.cat([before[kind][None], states[kind]])
    stack = subject.shown_probes.stacks[reading.semantic] if subject.shown_probes else None
    predict, kinds = subject.model.predict, _kinds(reading)
    for kind in kinds if reading.source else ():
        begin = first - (kind in earlier)
        there = reading.rows_of(kind, begin, last)
        states[kind] = states[kind][there.start - begin : there.stop - begin]
    kinds = [kind for kind in kinds if len(states[kind])]
    own = states[PREDICTION].split(_PIECE) if PREDICTION in kinds else ()
    states = {kind: states[kind] for kind in kinds}
    pieces = [
        *(stack.pieces(states, _PIECE) if stack else ()),
        *(
            Piece(
                len(y),
                partial(predict, y),
                torch.full((len(y),), torch.nan),
                y[:, 0] if reading.answers.scale else None,
            )
            for y in own
        ),
    ]
    count = sum(piece.count for piece in pieces)
    if count <= _PIECE or count * reading.palette.members.shape[1] <= _FEW:
        return [Piece.join(pieces)]
    if len(pieces) > 1 and pieces[-2].count + pieces[-1].count <= _PIECE:
        return [*pieces[:-2], Piece.join(pieces[-2:])]  # one less to wait for
    return pieces


def _copy(logits: Tensor, start: int, chosen: Integers, into: Tensor) -> None:
    """Copy the logits of the chosen states, as far as these are among the ones from `start` on."""
    here = np.flatnonzero((chosen >= start) & (chosen < start + len(logits)))
    into.numpy()[here] = logits.numpy()[chosen[here] - start]  # torch takes five times as long


def labels_that_came(reading: Reading, places: Sequence[Place]) -> Integers:
    """The label that really came at each state, -1 where the text has none."""
    semantic = reading.semantic
    told = reading.told
    if told is not None:
        ahead = shift(semantic)
        at = [t + (0 if kind == PREDICTION else ahead) for kind, t in places]
        return _labels_at(told, at)
    if not of_model(semantic):  # no text tells these
        return np.full(len(places), -1, np.int64)
    ahead, source = offset(semantic), reading.subject.model.source_kinds
    at = [-1 if kind in source else t + (1 if kind == PREDICTION else ahead) for kind, t in places]
    return _labels_at(reading.came, at)


def _labels_at(labels: Sequence[int], at: Sequence[int]) -> Integers:
    """Some of the labels, -1 where there is none."""
    every, places = np.array([*labels, -1], np.int64), np.array(at, np.int64)
    there = (places >= 0) & (places < len(labels))
    return every[np.where(there, places, len(labels))]
