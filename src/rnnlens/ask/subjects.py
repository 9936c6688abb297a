"""Those who can be asked, by the names they are asked for with."""

from collections.abc import Iterator, Mapping

from rnnlens.ask.questions import OfRun, OfText
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message
from rnnlens.reading.lines import Lines
from rnnlens.reading.reading import Reading
from rnnlens.reading.subject import Subject


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
