"""Questions about the corpus that a run's index is of."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictStr
from pydantic.dataclasses import dataclass

from rnnlens.ask.questions import (
    STRICT,
    Limit,
    Name,
    OfRun,
    OfState,
    Row,
    Subjects,
    given,
    readable,
)
from rnnlens.search import answers
from rnnlens.search.find import CorpusPage
from rnnlens.search.language import LONGEST
from rnnlens.search.map_answers import place_of, state_map
from rnnlens.search.pictures import picture
from rnnlens.search.similar import similar
from rnnlens.search.store import Deadline

CorpusText = Annotated[StrictStr, Field(max_length=LONGEST), BeforeValidator(readable)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class CorpusQuestion(OfRun):
    """What is known of a run's corpus."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PictureQuestion(OfRun):
    """A picture of the whole corpus, as numbers."""

    name: answers.PictureName


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FindQuestion(OfRun):
    """The words whose states say what is asked for, or how many they are."""

    question: CorpusText
    first: Row = given(0, "answers before this one are at hand")
    limit: Limit = given(50, "answers at most")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TableQuestion(OfRun):
    """The words whose states say what is asked for, as a table to be saved."""

    question: CorpusText


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SimilarQuestion(OfState):
    """States of the corpus that are like one of a text."""

    count: Limit = given(10, "how many")
    by: Literal["cosine", "divergence"] = given("cosine", "of states, or predictions")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class MapQuestion(OfRun):
    """The map of a kind's states, as numbers."""

    kind: Name


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PlaceQuestion(OfState):
    """Where a state of a text is on the map of its kind."""


def corpus(subjects: Subjects, question: CorpusQuestion) -> answers.Corpus:
    """What is known of a run's corpus."""
    return CorpusPage(subjects.asked(question)).about()


def corpus_picture(subjects: Subjects, question: PictureQuestion) -> answers.Picture:
    """A picture of the whole corpus, as numbers."""
    return picture(subjects.asked(question), question.name)


def find(subjects: Subjects, question: FindQuestion) -> answers.FoundSlice:
    """Some of the words whose states say what is asked for."""
    page = CorpusPage(subjects.asked(question))
    return page.find(question.question, question.first, question.limit)


def table(subjects: Subjects, question: TableQuestion) -> answers.Table:
    """All words whose states say what is asked for, as comma-separated values."""
    return CorpusPage(subjects.asked(question)).table(question.question)


def similar_states(subjects: Subjects, question: SimilarQuestion) -> answers.Similar:
    """The states of the corpus nearest to one of a text's."""
    reading, row = subjects.read(question).state(question.row)
    column = reading.column(question.column, row)
    return similar(
        reading, column, row, question.count, question.by, deadline=Deadline.of_page(),
        run=reading.subject.name,
    )  # fmt: skip


def corpus_map(subjects: Subjects, question: MapQuestion) -> answers.Map:
    """The map of a kind's states, as numbers."""
    return state_map(subjects.asked(question), question.kind)


def map_place(subjects: Subjects, question: PlaceQuestion) -> answers.MapPlace:
    """Where a state of a text is on the map of its kind."""
    reading, row = subjects.read(question).state(question.row)
    return place_of(reading, reading.column(question.column, row), row)
