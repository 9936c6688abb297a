"""A text as a subject reads it: its words, their numbers, the labels that came, and its edits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message
from rnnlens.labels.sets import LabelSet
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.semantics import base, offset
from rnnlens.reading.changes import TextEdits
from rnnlens.reading.edits import Edit, parsed
from rnnlens.reading.encoding import Palette
from rnnlens.reading.session import prefixes
from rnnlens.reading.subject import Column, Subject
from rnnlens.reading.two_texts import plain

LONGEST_TEXT, LONGEST = count("text_characters"), count("text_words")
BLOCK = 24  # rows at once: memory stays bounded, and others get their turn
_NO_ROW = 10**9  # a row that no text has
Edits = Sequence[Edit | str]


@dataclass(frozen=True, eq=False)
class Reading:
    """A text under a semantic, as words and as labels, perhaps with edits on the way.

    It is made once: whoever asks about a text that was read already is given its Reading.
    """

    subject: Subject
    text: str
    words: tuple[str, ...]
    ids: list[int]
    came: list[int]  # the label each word is, where the text tells what came; else -1
    semantic: str
    palette_name: str
    left_out: int = 0  # words of the text beyond the most that are read
    edits: TextEdits | None = None  # on the way
    dropped: tuple[str, ...] = ()  # why edits that were asked for are not among them
    wanted: frozenset[str] | None = None  # columns whose states are wanted; None: all

    @classmethod
    def of(
        cls,
        subject: Subject,
        text: str,
        semantic: str | None = None,
        palette: str | None = None,
        edits: Edits = (),
        lenient: bool = False,
    ) -> "Reading":
        """Refuse what this subject cannot read.

        Edits that cannot be made are refused, or, with `lenient`, left out and named in `dropped`.
        """
        chosen = subject.check_semantic(semantic)
        colours = subject.check_palette(palette, chosen)
        every = words_of(subject, text)
        words = every[:LONGEST]
        ids, left_out = subject.session.numbers(text, words), len(every) - len(words)
        came = subject.session.text.came(ids)
        reading = cls(subject, text, words, ids, came, chosen, colours, left_out)
        return reading.edited(edits, lenient) if edits else reading

    def edited(self, edits: Edits, lenient: bool = False) -> "Reading":
        """The text with these edits on the way."""
        self.subject.model.check_reads("an edit")
        session, probes = self.subject.session, self.subject.probes
        strict = () if lenient else parsed(edits)
        changes = TextEdits.of(strict, session, probes, self.ids, self.semantic)
        changes, dropped = changes.possible(edits) if lenient else (changes, ())
        return replace(self, edits=changes if changes.edits else None, dropped=dropped)

    @cached_property
    def prefixes(self) -> tuple[bytes, ...]:
        """What tells each beginning of the text from others, the empty one first."""
        return prefixes(self.ids)

    @cached_property
    def told(self) -> list[int] | None:
        """The label that is right at each state, -1 where there is none; None where a text does not
        tell it otherwise than by its words.
        """
        side = self.subject.session.text
        return side.told(self.ids, base(self.semantic), self.answers)

    @cached_property
    def before(self) -> "Reading":
        """The text without its edits."""
        return replace(self, edits=None)

    @property
    def made_edits(self) -> tuple[Edit, ...]:
        """The edits that are made, none where the text is read as it is."""
        return self.edits.edits if self.edits else ()

    @cached_property
    def answers(self) -> LabelSet:
        """What the semantic asks for."""
        return self.subject.answers(self.semantic)

    @cached_property
    def columns(self) -> list[Column]:
        """Those of its grid."""
        return self.subject.columns_for(self.semantic)

    def wants(self, column: Column) -> bool:
        """Whether the states of a column are wanted."""
        return self.wanted is None or column.id in self.wanted

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds that a wanted column shows."""
        return frozenset(one.kind.id for one in self.columns if self.wants(one))

    @cached_property
    def earlier(self) -> frozenset[str]:
        """The kinds that a wanted column shows one step back."""
        return frozenset(c.kind.id for c in self.columns if c.back and self.wants(c))

    @property
    def palette(self) -> Palette:
        """The colours of its labels."""
        return self.subject.palettes_for(self.semantic)[self.palette_name]

    @cached_property
    def source(self) -> int:
        """How many of its words, the first ones, are of a source; 0: it is no pair."""
        return self.subject.session.text.sources(self.ids)

    def rows_of(self, kind: str, first: int, last: int) -> range:
        """Those of some rows in which a kind has a state: of a pair, those of its side."""
        if not self.source:
            return range(first, last)
        if kind in self.subject.model.source_kinds:
            return range(first, max(first, min(last, self.source)))
        return range(max(first, self.source), max(last, self.source))

    def shows(self, column: Column, row: int) -> bool:
        """Whether a row has a state in a column: in one that is wanted and, of a pair, that is of
        its side.
        """
        if not self.wants(column):
            return False
        if not self.source:
            return True
        there = self.rows_of(column.kind.id, -1, len(self.ids))
        return row in there and row - column.back in there

    def showing(self, columns: Sequence[str], always: Sequence[str] = ()) -> "Reading":
        """The text, of which only some columns are wanted, and those that show a kind of `always`;
        one of which none of its columns is named is wanted whole.
        """
        named = frozenset(one.id for one in self.columns if one.id in columns)
        beside = frozenset(one.id for one in self.columns if one.kind.id in always)
        return replace(self, wanted=named | beside) if named else self

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[int, int]]:
        """The first row and the row after the last, a few rows at a time."""
        for first in range(0, len(self.ids), size):
            yield first, min(first + size, len(self.ids))

    def column(self, name: str, row: int) -> Column:
        """A column by its id; an error where the grid has none such, or no such row."""
        column = next((c for c in self.columns if c.id == name), None)
        if column is None:
            there = ", ".join(c.id for c in self.columns)
            raise RnnlensError(
                message("no_column", run=self.subject.name, column=repr(name), known=there)
            )
        if row >= len(self.ids):
            raise RnnlensError(message("no_row", row=row, count=len(self.ids)))
        if not self.shows(column, row):
            side = "source" if row < self.source else "target"
            raise RnnlensError(message("no_state_of_side", column=name, row=row + 1, side=side))
        return column

    def place(self, name: str, row: int) -> Column:
        """A column by its id, or where a kind without a probe would have one."""
        bare = {kind.id: kind for kind in self.subject.model.kinds}.get(name)
        if bare is None or any(column.id == name for column in self.columns):
            return self.column(name, row)
        if row >= len(self.ids):
            raise RnnlensError(message("no_row", row=row, count=len(self.ids)))
        return Column(bare, bare.layer)

    @torch.inference_mode()
    def vector(self, name: str, row: int) -> Tensor:
        """One state, (H,); also of a kind that has no probe."""
        column = self.place(name, row)
        states, before = self.subject.session.read(self.ids, row, row + 1, self.edits)
        return before[column.kind.id] if column.back else states[column.kind.id][0]

    @torch.inference_mode()
    def logits(self, name: str, row: int) -> Tensor:
        """What one state says of every label, (V,)."""
        column, subject = self.column(name, row), self.subject
        states, before = subject.session.read(self.ids, row, row + 1, self.edits)
        if column.id == PREDICTION or subject.shown_probes is None:
            logits = subject.model.predict(states[PREDICTION])[0]
        else:
            kind = column.kind.id
            state = before[kind] if column.back else states[kind][0]
            logits = subject.shown_probes.logits(kind, state, self.semantic)
        if self.edits:
            self.edits.check_size(logits)
        return logits

    def probabilities(self, name: str, row: int) -> Tensor:
        """The probability of every label by one state, (V,), in double precision."""
        return self.answers.probabilities(self.logits(name, row).double())

    def first_new(self, before: "Reading") -> int:
        """The first row whose states, or whose labels that really came, are not those of another
        reading under the same semantic.
        """
        first = first_new(self.ids, before.ids, offset(self.semantic))
        first = min(first, first_other(self.made_edits, before.made_edits))
        return 0 if first < len(self.ids) and not self.subject.model.causal else first


def words_of(subject: Subject, text: str) -> tuple[str, ...]:
    """The words of a single text, whose braces may have backslashes before them."""
    if not isinstance(text, str):
        raise RnnlensError(f"a text is wanted, and {type(text).__name__} given; give a str")
    if len(text) > LONGEST_TEXT:
        raise RnnlensError(too_many(len(text), "characters", LONGEST_TEXT))
    return subject.session.words(plain(text, subject.session.vocabulary.inputs))


def too_many(given: int, things: str, most: int) -> str:
    """What is wrong with a text that is too long."""
    return message("too_many", count=f"{given:,}", things=things, most=f"{most:,}")


def first_new(ids: Sequence[int], previous: Sequence[int], shift: int) -> int:
    """The first row whose states or whose labels that came are not those of `previous`.

    `shift` says how many words after a row's own the label is that it is asked about.
    """
    pairs = zip(ids, previous, strict=False)
    same = next((t for t, (a, b) in enumerate(pairs) if a != b), min(len(ids), len(previous)))
    if same == len(ids) == len(previous):
        return same
    return max(0, same - max(1, shift))  # rows that ask about the first other word


def first_other(edits: Sequence[Edit], others: Sequence[Edit]) -> int:
    """The first row that some edits change otherwise than others do, each in its reading."""
    ours, theirs = ([edit.on("both") for edit in some] for some in (edits, others))
    steps = [edit.step for edit in {*ours} ^ {*theirs}]
    if not steps and ours != theirs:  # in another order
        steps = [edit.step for edit in edits]
    return min(steps, default=_NO_ROW)
