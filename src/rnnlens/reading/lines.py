"""One or two readings in rows: a text, a text with edits beside itself without them, two texts, or
one text that two runs or two checkpoints read.
"""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import message, number
from rnnlens.base.threads import one_thread
from rnnlens.labels.sets import NUM, UNK, LabelSet
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.semantics import label_at, of_model
from rnnlens.reading.changes import TextEdits
from rnnlens.reading.divergence import Difference, Floats, bits_between
from rnnlens.reading.edits import Edit, Side, parsed
from rnnlens.reading.reading import (
    BLOCK,
    LONGEST,
    Edits,
    Reading,
    first_other,
    too_many,
)
from rnnlens.reading.rows import (
    Encoded,
    encoded,
    encoded_beside,
    encoded_with_logits,
    logits_of,
    places_of,
)
from rnnlens.reading.subject import Column, Subject
from rnnlens.reading.two_texts import Beside, TwoTexts, aligned, two_texts

REST = "(all labels that only one of them has)"
_NEVER = number("never_logit")  # whose probability is 0
_NAMED = 6  # kinds that a note lists
_HARDLY = 0.02  # of what either was trained on: less in common says nothing of the two
_PIECE = 40  # pairs of states at once: their distributions stay in the processor's cache
_NUMBERS = {"both": (0, 1), "first": (0,), "second": (1,)}  # of the readings, by side
Row = TypeVar("Row")


class Line(NamedTuple):
    """A line that is drawn: of the first reading, of the second, or of both where all is equal."""

    side: Side
    rows: Beside  # that stand side by side, one of each reading
    #: The word that comes next in each text, where these part: both have read the same word here.
    then: tuple[str, str] | None = None

    @property
    def number(self) -> int:
        """Whose states it shows: 0 is the first."""
        return int(self.side == "second")

    @property
    def row(self) -> int | None:
        """Of its reading; None: it is a gap."""
        return self.rows[self.number]


#: How probable a state finds the next word of the first text and of the second, None where a text
#: ends or its word is unknown; None: the state is not asked about the next word.
Parting = tuple[float | None, float | None] | None


class Block(NamedTuple):
    """Some lines: the states of each reading that they show, and how far apart states are."""

    shown: list[Encoded | None]  # by reading
    pairs: list[Beside]  # rows whose states are compared
    apart: Difference | None  # row by row and column by column
    then: "list[list[Parting]]"  # of each line, none where no texts part


@dataclass(frozen=True, eq=False)
class Lines:
    """What is drawn line by line. A single text has one reading; with edits it has two, the one
    without them first, of which only the second is shown.
    """

    text: str  # that stands for all of it, with braces where there are two
    readings: tuple[Reading, ...]
    common: "Common"
    beside: tuple[Beside, ...]  # rows that stand side by side, where two are compared
    lines: tuple[Line, ...]
    dropped: tuple[str, ...] = ()  # why edits that were asked for are not made
    #: All that are made in any reading: whoever asks again with these gets the same.
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(
        cls,
        subject: Subject,
        text: str,
        semantic: str | None = None,
        palette: str | None = None,
        edits: Edits = (),
        lenient: bool = False,
        beside: Subject | None = None,
    ) -> "Lines":
        """A text as somebody has typed it: one, or two in braces, or one that another subject
        reads, too. Edits that cannot be made are refused, or, with `lenient`, left out.
        """
        texts = _two_texts(subject, text)
        if texts is None and beside in (None, subject):
            kept, wrong = _edits_of_one(edits, lenient)
            reading = Reading.of(subject, text, semantic, palette, kept, lenient)
            return cls.of_reading(reading, (*wrong, *reading.dropped))
        texts = texts or TwoTexts(text, text)
        other = beside or subject
        first = Reading.of(subject, texts.first, semantic, palette)
        known = palette if palette in other.palettes_for(first.semantic) else None
        second = Reading.of(other, texts.second, first.semantic, known)
        readings, made, dropped = _edited((first, second), edits, lenient)
        return replace(cls.of_two(readings, text), dropped=dropped, edits=made)

    @classmethod
    def of_reading(cls, reading: Reading, dropped: tuple[str, ...] = ()) -> "Lines":
        """A single text, beside itself without its edits where it has any."""
        rows = range(len(reading.ids))
        common = Common.of(reading.subject, reading.subject, reading.semantic)
        if made := reading.made_edits:
            lines = tuple(Line("second", (row, row)) for row in rows)
            return cls(reading.text, (reading.before, reading), common, (), lines, dropped, made)
        lines = tuple(Line("first", (row, None)) for row in rows)
        return cls(reading.text, (reading,), common, (), lines, dropped)

    @classmethod
    def of_two(cls, readings: tuple[Reading, Reading], text: str) -> "Lines":
        """Two readings; `text` stands for both of their texts."""
        if not all(one.words for one in readings):
            raise RnnlensError(message("empty_text"))
        common = Common.of(readings[0].subject, readings[1].subject, readings[0].semantic)
        beside = _beside(readings)
        drawn, edits = tuple(_lines(beside, readings)), _by_side(readings)
        lines = cls(text, readings, common, tuple(beside), drawn, (), edits)
        lines.check_length()
        return lines

    @property
    def are_two(self) -> bool:
        """Whether two readings are shown."""
        return bool(self.beside)

    @property
    def shown(self) -> tuple[Reading, ...]:
        """The readings that are drawn, one or two."""
        return self.readings if self.are_two else self.readings[-1:]

    @property
    def columns(self) -> Sequence[Column]:
        """Those that all readings have."""
        return self.common.columns

    @property
    def words(self) -> list[str]:
        """The word of each line, empty where there is none."""
        return [
            "" if line.row is None else self.readings[line.number].words[line.row]
            for line in self.lines
        ]

    def spans(
        self, first: int = 0, limit: int | None = None, size: int = BLOCK
    ) -> Iterator[tuple[int, int, bool]]:
        """A few lines at a time: the first, the one after the last, and whether there are more."""
        count = len(self.lines)
        last = min(count, first + limit) if limit else count
        for start in range(first, max(last, first + 1), size):
            end = max(start, min(start + size, last))
            yield start, end, start < end < last

    def showing(self, columns: Sequence[str]) -> "Lines":
        """With the states of some columns alone; of pairs, with all. Where two readings are
        compared the prediction is always among them: what it was and is, is told.
        """
        if any(one.source for one in self.readings):
            return self
        always = (PREDICTION,) if len(self.readings) > 1 else ()
        return replace(self, readings=tuple(one.showing(columns, always) for one in self.readings))

    def doubled(self) -> "Lines":
        """A single text without edits beside itself: whoever has its rows has lines of both."""
        one = self.readings[0]
        return self if self.edits or not one.words else Lines.of_two((one, one), self.text)

    def check_length(self) -> None:
        """Refuse a text of which not all words are read."""
        for one in self.shown:
            if one.left_out:
                raise RnnlensError(too_many(len(one.words) + one.left_out, "words", LONGEST))

    def state(self, line: int) -> tuple[Reading, int]:
        """The reading and its row that a line shows."""
        if not 0 <= line < len(self.lines):
            raise RnnlensError(message("no_line", row=line, count=len(self.lines)))
        found = self.lines[line]
        if found.row is None:
            raise RnnlensError(message("no_word_in_line", row=line + 1))
        return self.readings[found.number], found.row

    def first_new(self, before: "Lines") -> int:
        """The first line that is another than in `before`."""
        if self.are_two and not before.are_two:
            before = before.doubled()
        if self.are_two != before.are_two:
            return 0
        pairs = zip(self.shown, before.shown, strict=True)
        first = [now.first_new(then) for now, then in pairs]
        if not self.are_two:
            return min(first[0], len(self.lines))
        if any(one.subject is not then.subject
               for one, then in zip(self.shown, before.shown, strict=True)):  # fmt: skip
            return 0
        for k, (line, other) in enumerate(zip(self.lines, before.lines, strict=False)):
            new = any(row is not None and row >= f for row, f in zip(line.rows, first, strict=True))
            if line != other or new:
                return k
        return min(len(self.lines), len(before.lines))

    @torch.inference_mode()
    def block(self, first: int, last: int) -> Block:
        """The lines first..last-1; of those of the second reading also how far each state lies
        from the one beside it.
        """
        if len(self.readings) == 1:
            return Block([encoded(self.readings[0], first, last)], [], None, [])
        if not self.are_two:
            return self._edited_block(first, last)
        lines = self.lines[first:last]
        pairs = [line.rows for line in lines if line.side == "second" and None not in line.rows]
        sides = [_Said.of(reading, lines, k) for k, reading in enumerate(self.readings)]
        shown = [side.encoded if side else None for side in sides]
        then = [self._parting(line, sides[line.number]) for line in lines]
        return Block(shown, pairs, self._apart(sides, pairs), then)

    def _parting(self, line: Line, said: "_Said | None") -> list[Parting]:
        """What the states of a line where texts part say of the next word of each, exactly."""
        if line.then is None or line.row is None or said is None:
            return []
        if not of_model(self.readings[0].semantic):  # no state is asked about words
            return [None] * len(self.columns)
        side = self.readings[0].subject.session.text
        labels = [
            label_at(one.came, row + 1)
            for one, row in zip(self.readings, line.rows, strict=True)
            if row is not None
        ]
        known = [label >= 0 and not side.is_unknown(label) for label in labels]
        nexts = self.readings[0].semantic == "output"
        asked = [c for c in self.columns if c.kind.id == PREDICTION or (nexts and not c.back)]
        numbers = said.numbers(asked, [line.row])
        p = said.logits[numbers[numbers >= 0]].double().softmax(1)[:, labels].tolist()
        there = (c.id for c, number in zip(asked, numbers.tolist(), strict=True) if number >= 0)
        found: dict[str, Parting] = {
            column: (one[0] if known[0] else None, one[1] if known[1] else None)
            for column, one in zip(there, p, strict=True)
        }
        return [found.get(column.id) for column in self.columns]

    def _edited_block(self, first: int, last: int) -> Block:
        """Rows of a text with edits, whose places are those of the text without them."""
        before, reading = self.readings
        shown, apart = encoded_beside(reading, before, first, last)
        at = {place: k for k, place in enumerate(shown.places)}
        chosen = [
            at.get((c.kind.id, row - c.back)) if reading.shows(c, row) else None
            for row in range(first, last)
            for c in self.columns
        ]
        pairs: list[Beside] = [(row, row) for row in range(first, last)]
        return Block([None, shown], pairs, apart.of_states(chosen), [])

    @torch.inference_mode()
    def differences(self, first: int, last: int) -> Difference | None:
        """How far apart the states of the rows first..last-1 are that stand side by side and are no
        gaps, row by row and column by column.
        """
        lines = [Line("second", rows) for rows in self.beside[first:last]]
        pairs = [line.rows for line in lines if None not in line.rows]
        sides = [_Said.of(reading, lines, k, False) for k, reading in enumerate(self.readings)]
        return self._apart(sides, pairs)

    def by_line(
        self, first: int, last: int, each: Callable[[Reading, int, int], Sequence[Row]]
    ) -> list[Row | None]:
        """What `each` says of rows of a reading, for the lines first..last-1; None for gaps."""
        lines = self.lines[first:last]
        at: list[dict[int, Row]] = []
        for k, reading in enumerate(self.readings):
            rows = [line.row for line in lines if line.number == k and line.row is not None]
            span = (min(rows), max(rows) + 1) if rows else (0, 0)
            values = each(reading, *span) if rows else ()
            at.append(dict(zip(range(*span), values, strict=True)))
        return [None if line.row is None else at[line.number][line.row] for line in lines]

    def _apart(self, sides: Sequence["_Said | None"], pairs: Sequence[Beside]) -> Difference | None:
        before, after = sides
        if not pairs or before is None or after is None:
            return None
        columns, common = self.common.columns, self.common
        numbers = [
            side.numbers(columns, [pair[k] for pair in pairs])
            for k, side in enumerate((before, after))
        ]

        def work(piece: tuple[Tensor, Tensor]) -> Difference:
            with one_thread(), torch.inference_mode():  # neither carries over to other threads
                return common.difference(after.logits[piece[1]], before.logits[piece[0]])

        there = (numbers[0] >= 0) & (numbers[1] >= 0)  # of a pair, states of either side
        pieces = zip(*(some[there].split(_PIECE) for some in numbers), strict=True)
        apart = Difference.join(list(self.readings[0].subject.parallel(work, pieces)))
        places = (there.cumsum(0) - 1).tolist()
        return apart if bool(there.all()) else apart.of_states(
            [at if is_there else None for at, is_there in zip(places, there.tolist(), strict=True)]
        )  # fmt: skip


def _beside(readings: tuple[Reading, Reading]) -> list[Beside]:
    """The words of two texts that stand side by side: of pairs, those of either side."""
    first, second = ([word.casefold() for word in one.words] for one in readings)
    i, j = (one.source for one in readings)
    if not i and not j:
        return aligned(first, second)
    targets = aligned(first[i:], second[j:])
    return aligned(first[:i], second[:j]) + [
        (None if a is None else i + a, None if b is None else j + b) for a, b in targets
    ]


def _two_texts(subject: Subject, text: str) -> TwoTexts | None:
    known = subject.session.vocabulary.inputs
    return two_texts(text, known) if isinstance(text, str) else None


def _parsed_leniently(edits: Edits) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """The edits that can be read, and what is wrong with the others."""
    read, wrong = list[Edit](), list[str]()
    for edit in edits:
        try:
            read += parsed((edit,))
        except RnnlensError as error:
            wrong.append(str(error))
    return tuple(read), tuple(wrong)


def _edits_of_one(edits: Edits, lenient: bool = False) -> tuple[list[Edit], tuple[str, ...]]:
    """The edits of a single text; those of a second one are refused, or named."""
    read, wrong = _parsed_leniently(edits) if lenient else (parsed(edits), ())
    for edit in read:
        if edit.side == "second":
            refusal = message("edit_second", edit=edit, kind=edit.kind, row=edit.step + 1)
            if not lenient:
                raise RnnlensError(refusal)
            wrong = (*wrong, refusal)
    return [edit for edit in read if edit.side != "second"], wrong


def _by_side(readings: Sequence[Reading]) -> tuple[Edit, ...]:
    """The edits of two readings: those of both where they have the same, else each by its side."""
    first, second = ([edit.on("both") for edit in one.made_edits] for one in readings)
    if first == second:
        return tuple(first)
    return (*(edit.on("first") for edit in first), *(edit.on("second") for edit in second))


def _edited(
    readings: tuple[Reading, Reading], edits: Edits, lenient: bool
) -> tuple[tuple[Reading, Reading], tuple[Edit, ...], tuple[str, ...]]:
    """Two readings, each with the edits of its side; one of both is made where it can be. And the
    edits that are made, and why others are not.
    """
    if not edits:
        return readings, (), ()
    read, dropped = _parsed_leniently(edits) if lenient else (parsed(edits), ())
    mine: tuple[list[Edit], list[Edit]] = ([], [])
    checks = [
        TextEdits.of((), one.subject.session, one.subject.probes, one.ids, one.semantic)
        for one in readings
    ]
    made: list[Edit] = []
    for edit in read:
        refusals = []
        for k in _NUMBERS[edit.side]:
            try:
                checks[k].check(edit)
                mine[k].append(edit)
            except RnnlensError as error:
                refusals.append(error)
        if len(refusals) < len(_NUMBERS[edit.side]):
            made.append(edit)
        elif lenient:
            dropped = (*dropped, str(refusals[0]))
        else:
            raise refusals[0]
    first, second = (
        one.edited(some) if some else one for one, some in zip(readings, mine, strict=True)
    )
    return (first, second), tuple(made), dropped


def _lines(beside: Sequence[Beside], readings: Sequence[Reading]) -> list[Line]:
    """A line for rows that have the same states, else one for each reading."""
    same = _same_until(readings)
    lines: list[Line] = []
    for rows in beside:
        row, then = rows[0] if rows[0] == rows[1] else None, _then(rows, readings)
        if row is not None and row < same and _is_one_word(readings, row):
            lines.append(Line("both", rows, then))
        else:
            lines += [Line("first", rows, then), Line("second", rows, then)]
    return lines


def _is_one_word(readings: Sequence[Reading], row: int) -> bool:
    """Whether a row has the same word in both texts; two unknown words may be read as one."""
    return len({one.words[row].casefold() for one in readings}) == 1


def _then(rows: Beside, readings: Sequence[Reading]) -> tuple[str, str] | None:
    """The word that comes next in each of two texts, empty at its end, where the texts part; None
    elsewhere, and where the labels are no words that follow.
    """
    side, (i, j) = readings[0].subject.session.text, rows
    if i is None or j is None or not side.follows or len({one.subject for one in readings}) > 1:
        return None
    (read, following), others = (
        [label_at(one.came, row + k) for k in (0, 1)]
        for one, row in zip(readings, (i, j), strict=True)
    )
    if read != others[0] or following == others[1]:
        return None
    later = 1 if side.mark is None else 0  # a state may stand beside the word that it predicts
    first, second = (
        next(iter(one.words[row + later : row + later + 1]), "")
        for one, row in zip(readings, (i, j), strict=True)
    )
    return first, second


def _same_until(readings: Sequence[Reading]) -> int:
    """How many rows have the same states in both readings."""
    first, second = readings
    if first.subject is not second.subject or not first.subject.model.causal:
        return 0
    pairs = enumerate(zip(first.ids, second.ids, strict=False))
    least = min(len(first.ids), len(second.ids))
    words = next((k for k, (a, b) in pairs if a != b), least)
    return min(words, first_other(first.made_edits, second.made_edits))


@dataclass(frozen=True)
class _Said:
    """What the states of some rows of one reading say of every label."""

    places: dict[tuple[str, int], int]  # the number of each
    logits: Tensor  # (N, V)
    encoded: Encoded | None  # where they are shown
    shows: Callable[[Column, int], bool]  # whether a row has a state in a column

    @classmethod
    def of(
        cls, reading: Reading, lines: Sequence[Line], number: int, shown: bool = True
    ) -> "_Said | None":
        """Of the rows that some lines want of a reading, None where they want none."""
        wanted = [line.rows[number] for line in lines if not (number and line.side == "both")]
        rows = [row for row in wanted if row is not None]
        if not rows:
            return None
        span = min(rows), max(rows) + 1
        if shown and any(line.number == number for line in lines):
            encoded, logits = encoded_with_logits(reading, *span)
            places = {place: k for k, place in enumerate(encoded.places)}
            return cls(places, logits, encoded, reading.shows)
        places = {place: k for k, place in enumerate(places_of(reading, *span))}
        return cls(places, logits_of(reading, *span), None, reading.shows)

    def numbers(self, columns: Sequence[Column], rows: Sequence[int | None]) -> Tensor:
        """Where the logits of some rows are, row by row and column by column; -1: nowhere."""
        return torch.tensor(
            [
                self.places.get((column.kind.id, row - column.back), -1)
                if self.shows(column, row)
                else -1
                for row in rows
                for column in columns
                if row is not None
            ]
        )


@dataclass(frozen=True)
class Common:
    """Columns that both have, and distributions over labels that both have."""

    columns: tuple[Column, ...]  # as the first has them
    answers: LabelSet  # that distributions are compared over
    notes: tuple[str, ...]  # what is not compared, or not label by label
    shared: tuple[Tensor, Tensor] | None = None  # numbers of the labels; None: all of them
    rest: tuple[Tensor, Tensor] | None = None  # and of those that only one has

    @classmethod
    def of(cls, first: Subject, second: Subject, semantic: str) -> "Common":
        """What they share under a semantic; subjects that share nothing are refused."""
        answers = [subject.answers(semantic) for subject in (first, second)]
        every = [subject.columns_for(semantic) for subject in (first, second)]
        if first is second:
            return cls(tuple(every[0]), answers[0], ())
        ids = {column.id for column in every[1]}
        columns = tuple(column for column in every[0] if column.id in ids)
        notes = [
            _only(one.name, [c.id for c in mine if c.id not in {d.id for d in others}])
            for one, mine, others in ((first, every[0], every[1]), (second, every[1], every[0]))
        ]
        if answers[0] == answers[1]:
            return cls(columns, answers[0], tuple(filter(None, notes)))
        names = [one.names for one in answers]
        places = {label: k for k, label in enumerate(names[1])}
        labels = tuple(label for label in names[0] if label in places)
        _check((first, second), semantic, answers, labels)
        known = set(labels)
        numbers = [
            [[k for k, label in enumerate(one) if (label in known) is inside]
             for inside in (True, False)]
            for one in names
        ]  # fmt: skip
        numbers[1][0] = [places[label] for label in labels]
        shared, rest = (
            (
                torch.tensor(numbers[0][k], dtype=torch.long),
                torch.tensor(numbers[1][k], dtype=torch.long),
            )
            for k in (0, 1)
        )
        notes.append(
            f"{len(labels):,} labels are in both; {len(rest[0]):,} only in {first.name} and "
            f"{len(rest[1]):,} only in {second.name} count as one"
        )
        return cls(columns, LabelSet((*labels, REST)), tuple(filter(None, notes)), shared, rest)

    def difference(self, after: Tensor, before: Tensor) -> Difference:
        """How far states of the second with these logits lie from states of the first."""
        return Difference.of(self.logits(1, after), self.logits(0, before), self.answers)

    def bits(self, after: Tensor, before: Tensor) -> Floats:
        """The divergence of each pair of states, in bits."""
        pooled = self.answers.pooled
        return bits_between(pooled(self.logits(1, after)), pooled(self.logits(0, before)))

    def logits(self, side: int, logits: Tensor) -> Tensor:
        """What states of the first (0) or the second (1) say of all answers, (N, answers)."""
        if self.shared is None or self.rest is None:
            return logits
        others = logits[:, self.rest[side]].logsumexp(1).clamp_min(_NEVER)
        return torch.cat([logits[:, self.shared[side]], others[:, None]], 1)


def comparable(first: Subject, second: Subject, semantic: str) -> bool:
    """Whether two subjects can be compared under a semantic, by what is refused where they are."""
    if semantic not in (second.semantics or ("output",)):
        return False
    try:
        Common.of(first, second, semantic)
    except RnnlensError:
        return False
    return True


def _check(
    subjects: Sequence[Subject], semantic: str, answers: Sequence[LabelSet], labels: Sequence[str]
) -> None:
    """Refuse subjects that predict hardly anything of the same; `labels` have the same name."""
    follows = {subject.session.text.follows for subject in subjects}
    share = min(_share(one, semantic, {*labels}) for one in subjects)
    what = ""
    if any(one.several or one.scale for one in answers):
        what = "other numbers or sets of labels"
    elif len(follows) > 1:  # the next word, and something else of this one
        what = "labels of other sorts"
    elif share < _HARDLY:
        what = f"{'almost no' if share else 'no'} labels in common"
    if what:
        first, second = (one.names[0] for one in answers)
        raise RnnlensError(
            f"{subjects[0].name} and {subjects[1].name} cannot be compared: they have {what} (the "
            f"first predicts {first!r}, the second {second!r}); compare runs that predict the same"
        )


def _share(subject: Subject, semantic: str, labels: AbstractSet[str]) -> float:
    """How much of what a subject is asked for are some labels, by how often each came in training.

    UNK and NUM stand for any words, and are not counted.
    """
    names = subject.answers(semantic).names
    counts = subject.probes.counts.get(semantic) if subject.probes else None
    often = [1] * len(names) if counts is None else counts.tolist()
    known = {n: often[k] for k, n in enumerate(names) if n not in (UNK, NUM)}
    return sum(known[n] for n in known.keys() & labels) / max(1, sum(known.values()))


def _only(name: str, ids: Sequence[str]) -> str:
    """That only one of two has some kinds."""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"only {name} has {', '.join(ids[:_NAMED])}{more}" if ids else ""
