"""The labels of a run, for whoever types one: those that begin so, and which there are not."""

from dataclasses import dataclass

from pydantic.dataclasses import dataclass as question

from rnnlens.ask.questions import MOST_LABELS, STRICT, Name, OfRun, Subjects, given, several
from rnnlens.base.rules import count
from rnnlens.base.schema import sent
from rnnlens.labels.sets import BLANK, nearest


@question(frozen=True, kw_only=True, config=STRICT)
class LabelsQuestion(OfRun):
    """The beginning of a label, and whole ones that may be none."""

    semantic: Name | None = given(None, "null: the run's first")
    begins: Name = given("", "how labels are to begin")
    names: tuple[Name, ...] = several(MOST_LABELS, "labels, to hear which of them there are not")


@dataclass(frozen=True)
class Labels:
    """Labels that begin as is asked, and names that are no labels."""

    begins: tuple[str, ...] = sent("an equal one first, the others in the run's own order")
    nearest: tuple[str, ...] = sent("where none begins so, those that are spelled most like it")
    absent: tuple[str, ...] = sent("those of the names that are no labels")


def labels(subjects: Subjects, asked: LabelsQuestion) -> Labels:
    """The labels that a semantic of a run asks about, as far as somebody has typed one."""
    subject = subjects.asked(asked)
    known = subject.answers(subject.check_semantic(asked.semantic)).names
    every = {*known, *(name.removeprefix(BLANK) for name in known)} if asked.names else set()
    starts = (asked.begins, BLANK + asked.begins)
    begun = [label for label in known if label.startswith(starts)] if asked.begins else []
    begun.sort(key=lambda label: label not in starts)
    return Labels(
        begins=tuple(begun[: count("completions")]),
        nearest=tuple([] if begun or not asked.begins else nearest(asked.begins, known)),
        absent=tuple(name for name in dict.fromkeys(asked.names) if name not in every),
    )
