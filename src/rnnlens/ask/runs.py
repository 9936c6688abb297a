"""What there is to ask, and how well each kind predicts."""

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from pydantic.dataclasses import dataclass

from rnnlens.ask.json_types import Accuracy, Runs, RunSummary
from rnnlens.ask.questions import STRICT, OfRun, Subjects, UnknownRunError
from rnnlens.base.rules import message
from rnnlens.reading.lines import comparable
from rnnlens.reading.subject import Subject


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RunsQuestion:
    """Every run that can be asked about."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AccuracyQuestion(OfRun):
    """How well each kind of a run predicts, as `rnnlens eval` measured it."""


class NotMeasuredError(UnknownRunError):
    """Nothing was measured of a run yet."""


def runs(subjects: Subjects, _: RunsQuestion) -> Runs:
    """Every run, in the order in which they are listed."""
    every = list(subjects.values())
    return {"runs": [summary(subject, every) for subject in every]}


_compared: WeakKeyDictionary[Subject, WeakKeyDictionary[Subject, dict[str, bool]]] = (
    WeakKeyDictionary()
)


def _can_be_compared(first: Subject, second: Subject, semantic: str) -> bool:
    """Whether two runs can be compared, which is looked at once: there may be many checkpoints."""
    known = _compared.setdefault(first, WeakKeyDictionary()).setdefault(second, {})
    if semantic not in known:
        known[semantic] = comparable(first, second, semantic)
    return known[semantic]


def summary(subject: Subject, others: Sequence[Subject] = ()) -> RunSummary:
    """What a list of runs says of one; `others` are those that are listed, too."""
    training = subject.training
    return {
        "id": subject.name,
        "title": subject.title,
        "labels": len(subject.labels),
        "semantics": list(subject.semantics),
        "palettes": list(subject.palettes_for("output")),
        "examples": subject.examples(),
        "probes": subject.probes is not None,
        "comparable": {
            semantic: [
                other.name
                for other in others
                if other is not subject and _can_be_compared(subject, other, semantic)
            ]
            for semantic in subject.semantics or ("output",)
        },
        "corpus": subject.run is not None and subject.run.has_index(subject.index_folder),
        "reads": subject.model.reads,
        "training": None
        if training is None
        else {"of": training.of, "epoch": training.epoch, "perplexity": subject.scores.own},
    }


def accuracy(subjects: Subjects, question: AccuracyQuestion) -> Accuracy:
    """What was measured of a run, with the checkpoints of its training."""
    subject = subjects.asked(question)
    measured: Accuracy | None = accuracy_of(subject, subjects)
    if measured is None:
        raise NotMeasuredError(message("not_measured", run=subject.name))
    return measured


def accuracy_of(subject: Subject, subjects: Subjects) -> Any:
    """What the accuracy page draws, with the checkpoints of the same training among all subjects;
    None where nothing was measured.
    """
    scores, training, text = subject.scores, subject.training, subject.session.text
    if scores.own is None and not scores.semantics:
        return None
    points = [
        {"run": one.name, "epoch": one.training.epoch, **one.scores.over_training()}
        for one in subjects.values()
        if one.training and training and one.training.of == training.of
    ]
    return {
        "run": subject.name,
        "title": subject.title,
        "follows": text.follows,
        "rounding": None,
        "numbers": text.labels.scale is not None,
        **scores.to_json(),
        "training": sorted(points, key=lambda point: int(point["epoch"])),
    }
