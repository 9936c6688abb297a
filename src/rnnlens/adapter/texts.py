"""How a typed text is read: padded and begun as the batches are, each word in its own row.

A batch shows what a text must be like. What its sequences are padded with, and begin with, a text
is given too; sequences are read once more as texts, to see whether their states are the same; and
single words of a text are changed, to see which rows change with them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import torch
from annotated_types import Ge, Le
from torch import Tensor

from rnnlens.adapter.axes.axes import Axes
from rnnlens.adapter.axes.layout import is_whole, tensors
from rnnlens.adapter.batches import Batch, read_of, words_of
from rnnlens.adapter.user_model import UserModel, UsersCodeError, users_code
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Strict
from rnnlens.model.cell import States
from rnnlens.model.lazy import at_hand, of_each
from rnnlens.model.traceable import StateEdit, Trace

MOST_STEPS = 100_000
_WORDS = 8  # of a text, each of which is changed
_LEAST_SEQUENCES = 8  # that begin with the same word, before it is a mark
_BATCHES = 64  # that are looked through for padding and marks
_REPLACEMENTS = 3  # of a word: two may be the same to a module
_SAME = 1e-3  # of the largest number of a kind: rounding, also in half precision of another size

Make = Callable[[Sequence[Any]], Any]  # from what a text's words are to what the module is fed
Read = Callable[[Any], Trace]


@dataclass(frozen=True)
class Padding(Strict):
    """What stands around a text, where a module reads as many words each time."""

    number: Count
    length: Annotated[int, Ge(1), Le(MOST_STEPS)]
    left: bool = True  # in front of the text

    def around(self, ids: Sequence[Any]) -> tuple[list[Any], int]:
        """A text's words with their padding, and where the first of them stands."""
        missing = self.length - len(ids)
        if missing < 0:
            raise RnnlensError(
                f"the text has {len(ids)} words and the module reads {self.length} at a time, as "
                "its batches are; give a shorter one"
            )
        pads = [self.number] * missing
        return ([*pads, *ids], missing) if self.left else ([*ids, *pads], 0)


@dataclass(frozen=True)
class TextBatch:
    """What a module is fed for a text some of whose timesteps are no words of it."""

    inputs: Any
    count: int  # of words
    first: int  # the timestep of the first word; negative: that of the last, from the end

    def place(self, steps: int) -> int:
        """The timestep of the first word, of so many in all."""
        first = self.first if self.first >= 0 else steps - self.count + self.first + 1
        if first < 0 or first + self.count > steps:
            raise RnnlensError(
                f"a text of {self.count} words was read as {steps} timesteps; give prepare= a "
                "function after which each word has one"
            )
        return first

    def moved(self, edits: Sequence[StateEdit], steps: int) -> list[StateEdit]:
        """Edits by the words of the text as edits by timesteps."""
        return [edit._replace(step=edit.step + self.place(steps)) for edit in edits]

    def of(self, trace: Trace) -> Trace:
        """The timesteps of a trace that read the text's words."""
        steps = max(len(values) for values in at_hand(trace.states).values())
        first = self.place(steps)
        some = slice(first, first + self.count)
        states = of_each(trace.states, lambda _, v: v[some] if len(v) == steps else v)
        y = trace.y
        if y is not None and len(y) == steps > 1:
            y = y[some]
        return replace(trace, states=states, y=y, lengths=None)


@dataclass(frozen=True)
class TextReading:
    """How texts are read, and what of it was seen."""

    padding: Padding | None = None
    begin: int | None = None  # the word that every sequence begins with
    first: int = 0  # as in TextBatch
    tried: int = 0  # words of a text that were changed, and seen to be read in their rows
    same: bool | None = None  # whether a sequence of a batch has the same states as a text
    trusted: tuple[str, ...] = field(default=())  # what could not be seen
    seen: tuple[str, ...] = field(default=())  # what else was

    def said(self, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """What was verified, and what is taken on trust; `names` are those of words."""
        seen, trusted, padding = list(self.seen), list(self.trusted), self.padding
        if self.tried:
            seen.append(f"each of {self.tried} words of a text is read in its row")
        if self.same:
            seen.append("a text has the states that it has in a batch")
        elif self.same is False:
            trusted.append("texts, whose states are not those they have in a batch")
        if padding and names:
            side, name = "left" if padding.left else "right", names[padding.number]
            seen.append(f"texts are padded on the {side} to {padding.length} with {name!r}")
        if self.begin is not None and names:
            seen.append(f"texts begin with {names[self.begin]!r}, as all batches do")
        return seen, trusted


def text_reading(
    user: UserModel, read: Read, axes: Axes, batches: Sequence[Batch], make: Make | None,
    mark: int | None,
) -> TextReading:  # fmt: skip
    """See how a text has to be read, by sequences of these batches; the first tells most.

    `make` turns the words of a text into what the module is fed; None: nothing does. `mark` is what
    it puts in front of a text, whose last word it leaves out.
    """
    padding = _padding(user, axes, batches)
    if make is None:
        return TextReading(trusted=("how a text would be fed (give prepare=)",))
    begin = begin_of(axes, batches, padding) if not axes.features else None
    sequence = _sequence(batches[0], axes, read(batches[0].inputs), padding)
    if user.prepare is not None:
        padding = None  # it puts in its own
        begin = None if begin is None or _puts_in(user, begin) else begin
    if sequence is None:
        unseen = ("that a text is read as batches are",)
        return TextReading(padding if user.length or user.pad is not None else None, begin, 0,
                           trusted=unseen)  # fmt: skip
    try:
        seen = _Seen(read, make, axes.kinds, mark, user.prepare is not None, begin)
        reading = seen.reading(sequence, padding, forced=user.length is not None)
    except _UnreadableError as error:
        return TextReading(begin=begin, trusted=(f"that it reads texts ({error})",))
    return replace(reading, begin=begin)


class _UnreadableError(Exception):
    """The module cannot read a text; its own error, in few words."""


@dataclass(frozen=True)
class _Sequence:
    """One sequence of a batch without its padding, and its states there."""

    words: list[Any]
    states: States  # kind -> (T, H)
    y: Tensor | None  # (T, V), or (1, V)


def rows_of(axes: Axes, batch: Batch) -> Tensor | None:
    """The words of a batch, or numbers in their place, with sequences first."""
    values = read_of(batch.inputs, batch.targets)
    if values is None or values.dim() == 1:
        return None if values is None else values[None]
    first = axes.sequences_first
    if first is None:  # one sequence
        first = values.shape[1] == axes.steps
    return values if first else values.transpose(0, 1)


def _word_rows(axes: Axes, batches: Sequence[Batch]) -> list[Tensor]:
    some = (b for b in batches[:_BATCHES] if words_of(b.inputs, b.targets) is not None)
    return [rows for b in some if (rows := rows_of(axes, b)) is not None]


def _padding(user: UserModel, axes: Axes, batches: Sequence[Batch]) -> Padding | None:
    """What fixes the length of all sequences: what the user says, else what all batches show."""
    rows = [] if axes.features else _word_rows(axes, batches)
    lengths = {some.shape[1] for some in rows}
    shown = _shown(torch.cat(rows)) if len(lengths) == 1 and len(rows) else None
    if user.length is None and user.pad is None:
        return shown
    if axes.features:
        raise RnnlensError("length= and pad= are for words, and the module reads numbers")
    names = user.inputs if user.inputs is not None else user.labels or ()
    number: Any = user.pad
    if isinstance(number, str):
        if number not in names:
            raise RnnlensError(f"pad= is {number!r}, which is none of the words; name one of them")
        number = tuple(names).index(number)
    if number is None and shown is None:
        raise RnnlensError(
            "length= is given, and the batches do not show what they are padded with; give pad=, "
            "the word or its number"
        )
    if user.length is None and len(lengths) != 1:
        raise RnnlensError(
            "pad= is given, and the batches have several lengths; give length=, how many words the "
            "module reads each time"
        )
    length = user.length or lengths.pop()
    return Padding(shown.number if number is None and shown else number, length,
                   shown.left if shown else True)  # fmt: skip


def _shown(rows: Tensor) -> Padding | None:
    """The padding of sequences (N, T): a number that stands nowhere but in front of them, or
    nowhere but behind, and not as often each time.
    """
    for left in (True, False):
        lines = rows if left else rows.flip(1)
        number = int(lines[:, 0].mode().values)
        is_pad = lines == number
        run = is_pad.long().cumprod(1)
        counts = run.sum(1)
        if torch.equal(run.bool(), is_pad) and len(counts.unique()) > 1 and int(counts.max()) > 1:
            return Padding(number, rows.shape[1], left)
    return None


def begin_of(axes: Axes, batches: Sequence[Batch], padding: Padding | None) -> int | None:
    """The word that every sequence begins with, and that stands nowhere else."""
    found, count = set[int](), 0
    for rows in _word_rows(axes, batches):
        for row in rows.tolist():
            words = _stripped(row, padding)
            if not words:
                continue
            found.add(words[0])
            count += 1
            if len(found) > 1 or words[0] in words[1:] or len(words) < 2:
                return None
    return found.pop() if count >= _LEAST_SEQUENCES and found else None


def _stripped(row: list[Any], padding: Padding | None) -> list[Any]:
    """A sequence without its padding."""
    row = list(row)
    while padding and row and row[0 if padding.left else -1] == padding.number:
        row.pop(0 if padding.left else -1)
    return row


def _puts_in(user: UserModel, word: int) -> bool:
    """Whether `prepare` puts a word in front of a text itself."""
    if user.prepare is None:
        return False
    others = [number for number in range(3) if number != word][:2]
    with users_code("prepare="):
        fed = user.prepare(list(others))
    return any(is_whole(t) and word in t.flatten().tolist() for _, t in tensors(fed))


def _sequence(batch: Batch, axes: Axes, trace: Trace, padding: Padding | None) -> _Sequence | None:
    """The sequence of a batch that shows most: the one with most padding, of two words or more."""
    rows = rows_of(axes, batch)
    steps, count, _ = trace.states[axes.kinds[-1]].shape
    if rows is None or len(rows) != count or rows.shape[1] < steps:
        return None
    ends = [rows.shape[1]] * count if trace.lengths is None else trace.lengths.tolist()
    best: tuple[int, int, list[Any]] | None = None
    for k, (row, end) in enumerate(zip(rows.tolist(), ends, strict=False)):
        words = _stripped(row[: min(end, steps)], padding)
        if len(words) > 1 and (best is None or len(words) < len(best[2])):
            first = min(end, steps) - len(words) if padding and padding.left else 0
            best = (k, first, words)
    if best is None:
        return None
    k, first, words = best
    some = slice(first, first + len(words))
    y = trace.y
    if y is not None:
        y = y[some, k] if len(y) > 1 else y[:, k]
    return _Sequence(words, {kind: trace.states[kind][some, k] for kind in axes.kinds}, y)


@dataclass(frozen=True)
class _Seen:
    """What is seen when a text is read."""

    read: Read
    make: Make
    kinds: Sequence[str]
    mark: int | None
    prepared: bool  # whether a function of the user's makes what is fed
    begin: int | None = None  # which a module may put in itself, and not read

    def reading(self, sequence: _Sequence, padding: Padding | None, forced: bool) -> TextReading:
        """How texts have to be read: padded, unless they are read the same without."""
        plain = TextReading()
        if padding is not None and not forced:
            try:
                if self._same(plain, sequence):
                    padding = None
            except _UnreadableError:
                pass  # it reads nothing shorter
        reading = plain if padding is None else TextReading(padding)
        first, tried = self._place(reading, sequence.words[-_WORDS:])
        unsure = () if tried else ("the order of words in a text",)
        reading = replace(reading, first=first, tried=tried, trusted=unsure)
        return replace(reading, same=self._same(reading, sequence))

    def _trace(self, reading: TextReading, words: Sequence[Any]) -> tuple[Trace, TextBatch]:
        """All timesteps of a text, and which of them are its words."""
        given, first = list(words), reading.first
        if reading.padding:
            given, first = reading.padding.around(given)
        fed = self.make(given)
        try:
            return self.read(fed), TextBatch(fed, len(words), first)
        except UsersCodeError as error:
            own = error.__cause__
            reason = " ".join(str(own).split())[:120]
            raise _UnreadableError(f"{type(own).__name__}: {reason}") from error

    def _same(self, reading: TextReading, sequence: _Sequence) -> bool:
        """Whether a sequence of a batch has the same states where it is read as a text."""
        words = sequence.words
        if self.mark is not None:  # which stands in the batch, and is put in front of a text
            if words[0] != self.mark:
                return False
            words = [*words[1:], words[-1]]
        whole, text = self._trace(reading, words)
        trace = text.of(whole)
        if any(values.shape[1] != 1 for values in at_hand(trace.states).values()):
            return False
        if not all(_close(trace.states[k][:, 0], v) for k, v in sequence.states.items()):
            return False
        both = sequence.y is not None and trace.y is not None
        return not both or _close(trace.y[:, 0], sequence.y)  # type: ignore[index, arg-type]

    def _place(self, reading: TextReading, words: list[Any]) -> tuple[int, int]:
        """Where a text's words stand, as `TextBatch.first`, and how many of them tell it; refused
        where they are not read one after the other.
        """
        place, steps = self._first(reading, words)
        if place is None:
            return 0, 0
        start = 1 if self.mark is not None else 0
        if not self.prepared:
            start = reading.padding.around(words)[1] if reading.padding else 0
        elif self.mark is None and (place or steps != len(words)):
            other, fewer = self._first(reading, words[1:])
            behind = (steps - len(words) - place, fewer - len(words) + 1 - (other or 0))
            if other == place:
                return place, len(words)
            if other is not None and behind[0] == behind[1]:
                return -1 - behind[0], len(words)
        if place != start:
            raise RnnlensError(
                f"the first word of a text of {len(words)} is read at timestep {place + 1} of "
                f"{steps}, where no place fits all lengths; give prepare= a function that puts as "
                "much in front of each text, or as much behind"
            )
        return 0, len(words)

    def _first(self, reading: TextReading, words: list[Any]) -> tuple[int | None, int]:
        """The timestep of a text's first word, by the kinds that tell, of so many timesteps."""
        before = self._trace(reading, words)[0].states
        steps = max(len(before[kind]) for kind in self.kinds)
        changed = [self._changed(reading, words, at, before) for at in range(len(words))]
        known = [at for at, rows in enumerate(changed) if any(rows.values())]
        read = len(words) - (0 if self.mark is None else 1)
        start = 1 if words[0] == self.begin else 0
        if missing := [at for at in range(start, read) if at not in known]:
            raise RnnlensError(
                f"whatever word {missing[0] + 1} of a text of {len(words)} is, no state changes: "
                "it is not read; give prepare= a function that puts every word of a text where the "
                "module reads it"
            )
        for kind in self.kinds:
            rows = [changed[at].get(kind, []) for at in known]
            if len(known) < 2 or not all(rows) or all(len(some) == steps for some in rows):
                continue
            for end in (min, max):
                places = {end(some) - at for at, some in zip(known, rows, strict=True)}
                if len(places) == 1:
                    return places.pop(), steps
            raise RnnlensError(
                f"a text's words are not read in their order: {kind} reads word 1 of {len(words)} "
                f"at timestep {min(rows[0]) + 1} and word {known[-1] + 1} at {min(rows[-1]) + 1}; "
                "let prepare= keep their order, and turn them in feed=, for batches and texts alike"
            )
        return None, steps

    def _changed(
        self, reading: TextReading, words: list[Any], at: int, before: States
    ) -> dict[str, list[int]]:
        """The timesteps of each kind that change with a word of a text."""
        rows: dict[str, list[int]] = {}
        for number in range(_REPLACEMENTS):
            other = [*words[:at], _other(words, at, number), *words[at + 1 :]]
            after = self._trace(reading, other)[0].states
            rows = {
                kind: (before[kind] != after[kind]).any(-1).any(-1).nonzero()[:, 0].tolist()
                for kind in self.kinds
                if before[kind].shape == after[kind].shape
            }
            if any(rows.values()):
                break
        return rows


def _other(words: list[Any], at: int, number: int) -> Any:
    """Another word of a text than the one in a place."""
    if isinstance(words[at], float | list):
        values = words[at] if isinstance(words[at], list) else [words[at]]
        moved = [value + 1 + number for value in values]
        return moved if isinstance(words[at], list) else moved[0]
    others = sorted({*words} - {words[at]}) or [words[at] + 1 if words[at] == 0 else words[at] - 1]
    return others[number * len(others) // _REPLACEMENTS]


def _close(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape:
        return False
    scale = max(1.0, float(b.abs().max())) if b.numel() else 1.0
    return float((a.double() - b.double()).abs().max()) <= _SAME * scale
