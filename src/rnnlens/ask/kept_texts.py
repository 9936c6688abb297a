"""Texts to choose from, where none can be typed: those that were recorded."""

from dataclasses import dataclass

from pydantic.dataclasses import dataclass as question

from rnnlens.ask.json_types import Count
from rnnlens.ask.questions import STRICT, Name, OfRun, Row, Subjects, given
from rnnlens.base.rules import count
from rnnlens.base.schema import sent


@question(frozen=True, kw_only=True, config=STRICT)
class TextsQuestion(OfRun):
    """Which texts there are."""

    find: Name = given("", "words, of which each begins one of the text; #12: that one")
    first: Row = given(0, "how many of those that are found to leave out")


@dataclass(frozen=True)
class KeptText:
    """A text that can be asked about."""

    text: str = sent("what it is asked by")
    words: str = sent("it begins with these")


@dataclass(frozen=True)
class Texts:
    """Some of the texts that there are."""

    total: Count = sent("how many there are")
    found: Count = sent("how many of them are what was looked for")
    texts: tuple[KeptText, ...] = sent("the first of these")


def texts(subjects: Subjects, asked: TextsQuestion) -> Texts:
    """The recorded texts of a run; of one that reads whatever is typed, its examples."""
    subject, most, long = subjects.asked(asked), count("listed_texts"), count("listed_characters")
    listed = subject.session.text.listed(asked.find, asked.first, most)
    if listed is None:
        every = [(text, text) for text in subject.examples()]
        some = [one for one in every if asked.find in one[0]]
        total, found, shown = len(every), len(some), some[asked.first : asked.first + most]
    else:
        total, found, shown = listed
    kept = tuple(KeptText(text, words[:long]) for text, words in shown)
    return Texts(total, found, kept)
