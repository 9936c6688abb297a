"""What a lens is asked, as the page asks it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rnnlens.ask.answer import answer
from rnnlens.ask.grids import GridQuestion, grid_steps
from rnnlens.ask.questions import Subjects
from rnnlens.lens.lens import Lens
from rnnlens.reading.edits import Edit
from rnnlens.reading.reading import Reading


def ask(lens: Lens, question: Any, beside: Lens | None = None) -> Any:
    """The answer to a question, as JSON; the lens `beside` may be asked for by its name, too."""
    return json.loads(json.dumps(answer(_subjects(lens, beside), question), allow_nan=False))


def grid_json(lens: Lens, text: str, *given: Any, **fields: Any) -> Any:
    """The whole grid of a text, or what is asked of it."""
    question, subjects = _question(lens, text, *given, **fields)
    return answer(subjects, question)


def grid_parts(lens: Lens, text: str, *given: Any, **fields: Any) -> Iterator[Any]:
    """The parts of a grid, and whether there are more."""
    question, subjects = _question(lens, text, *given, **fields)
    return grid_steps(subjects, question)


def _question(
    lens: Lens,
    text: str,
    semantic: str | None = None,
    palette: str | None = None,
    previous: str = "",
    have: int = 0,
    limit: int | None = None,
    edits: Sequence[Edit | str] = (),
    previous_edits: Sequence[Edit | str] = (),
    lenient: bool = False,
    columns: Sequence[str] | None = None,
    beside: Lens | None = None,
) -> tuple[GridQuestion, Subjects]:
    question = GridQuestion(
        text=text, semantic=semantic, palette=palette, previous=previous, have=have, limit=limit,
        edits=tuple(edits), previous_edits=tuple(previous_edits), lenient=lenient,
        columns=None if columns is None else tuple(columns),
        beside=None if beside is None else beside.name,
    )  # fmt: skip
    return question, _subjects(lens, beside)


def _subjects(lens: Lens, beside: Lens | None) -> Subjects:
    return Subjects.of(lens.subject, *([beside.subject] if beside else []))


def reading(lens: Lens, text: str, *given: Any, **fields: Any) -> Reading:
    """A single text as a lens reads it."""
    return Reading.of(lens.subject, text, *given, **fields)
