"""What can be asked, and of whom: one frozen, strict dataclass for each question, whoever asks it.

Bases and the types of fields are here; each question stands beside its answer.
"""

import operator
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)
from pydantic.dataclasses import dataclass
from pydantic_core import PydanticCustomError

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message
from rnnlens.reading.edits import Edit
from rnnlens.reading.lines import Lines
from rnnlens.reading.reading import LONGEST_TEXT, Reading, too_many
from rnnlens.reading.subject import Subject

MOST_ROWS, MOST_PAIRS, MOST_LABELS, MOST_EDITS = 200, 64, 64, 64
MOST_COLUMNS = 5_000
MOST_SEED = 2**32 - 1
STRICT = ConfigDict(extra="forbid")  # and of its fields none is converted: their types are strict


def _whole(value: Any) -> Any:
    """JSON has one type of number: 3.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def readable(value: Any) -> Any:
    """Halves of characters, which are no text, become the sign for what cannot be read."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _short(text: str) -> str:
    """Said as Python says it: people read this one."""
    if len(text) > LONGEST_TEXT:
        raise PydanticCustomError("long", too_many(len(text), "characters", LONGEST_TEXT))
    return text


def _edit(value: Any) -> Edit | str:
    """An edit, or the text of one; whether it can be made is found out where it is read."""
    if isinstance(value, Edit):
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "Input should be a valid string")
    return _short(readable(value))


_LENGTH: dict[str, Any] = {"maxLength": LONGEST_TEXT}
Text = Annotated[
    StrictStr, BeforeValidator(readable), AfterValidator(_short), Field(json_schema_extra=_LENGTH)
]
Name = Annotated[StrictStr, Field(max_length=200), BeforeValidator(readable)]
Row = Annotated[StrictInt, Field(ge=0, le=1_000_000), BeforeValidator(_whole)]
Limit = Annotated[StrictInt, Field(ge=1, le=MOST_ROWS), BeforeValidator(_whole)]
Whole = BeforeValidator(_whole)
EditOrText = Annotated[
    Any, PlainValidator(_edit), WithJsonSchema({"type": "string", "maxLength": LONGEST_TEXT})
]


def given(default: Any, description: str | None = None, **bounds: Any) -> Any:
    """A field that need not be given."""
    return Field(default, description=description, **bounds)


def several(most: int, description: str | None = None, default: Any = ()) -> Any:
    """A field of several, as a tuple whichever way they are given."""
    return given(default, description, max_length=most)


_FIRST = "null: the run's first"
_EDITS = "what is changed on the way, such as l2@4=0; l2@2:4=0 in the second text alone"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OfRun:
    """A question to a run."""

    run: Name | None = given(None, "null: the first")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OfText(OfRun):
    """A question about a text, or about two in one with braces."""

    text: Text
    semantic: Name | None = given(None, _FIRST)
    palette: Name | None = given(None, _FIRST)
    edits: tuple[EditOrText, ...] = several(MOST_EDITS, _EDITS)
    lenient: StrictBool = given(False, "whether edits that cannot be made are left out")
    beside: Name | None = given(None, "another run that reads the text, too")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OfRows(OfText):
    """A question about some rows of a text's grid."""

    first: Row = given(0, "row to begin with")
    limit: Limit | None = given(100, "rows to answer with at most; null: all")
    columns: tuple[Name, ...] | None = several(
        MOST_COLUMNS, "whose states are wanted, as a grid's question has them; null: all", None
    )


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OfState(OfText):
    """A question about one state of a text's grid."""

    column: Name
    row: Row


def check_whole(refused: str, value: int, least: int, most: int) -> None:
    """Refuse, in the words of a message, what is no whole number or lies beyond its limits."""
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if not least <= whole <= most or isinstance(value, bool):
        huge = abs(whole) > 10**20  # of which Python may not even write all digits
        shown = "beyond 10^20" if huge else repr(value)[: count("quoted_number")]
        raise RnnlensError(message(refused, count=shown, most=f"{most:,}"))


class UnknownRunError(RnnlensError):
    """A run was asked for that there is not."""


class Subjects(Mapping[str, Subject]):
    """Subjects by name; the first is asked where none is named."""

    def __init__(self, subjects: Mapping[str, Subject]) -> None:
        self._subjects = dict(subjects)

    @classmethod
    def of(cls, *subjects: Subject) -> "Subjects":
        """Subjects by their own names."""
        return cls({subject.name: subject for subject in subjects})

    def __getitem__(self, name: str) -> Subject:
        if name not in self._subjects:
            there = ", ".join(self._subjects)
            raise UnknownRunError(message("no_run", run=repr(name), known=there))
        return self._subjects[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._subjects)

    def __len__(self) -> int:
        return len(self._subjects)

    def named(self, run: str | None) -> Subject:
        """The subject of this name, the first where there is none."""
        return self[next(iter(self._subjects)) if run is None else run]

    def asked(self, question: OfRun) -> Subject:
        """The subject that a question is put to."""
        return self.named(question.run)

    def read(self, question: OfText) -> Lines:
        """The text that a question is about, or both texts."""
        beside = None if question.beside is None else self[question.beside]
        return Lines.of(
            self.asked(question), question.text, question.semantic, question.palette,
            question.edits, question.lenient, beside,
        )  # fmt: skip

    def read_one(self, question: OfText) -> Reading:
        """The single text that a question is about; two are refused."""
        lines = self.read(question)
        if lines.are_two:
            raise RnnlensError(
                message("two_texts", text=repr(question.text[: count("quoted_text")]))
            )
        return lines.shown[0]
