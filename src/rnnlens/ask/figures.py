"""Figures for print, drawn by what `rnnlens show -o` draws with."""

import base64
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr
from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict

from rnnlens.ask.follow import FollowQuestion, follow_steps
from rnnlens.ask.grids import Steps, drawn_columns, joined, parts
from rnnlens.ask.json_types import about, whole
from rnnlens.ask.memories import with_cells
from rnnlens.ask.questions import (
    MOST_LABELS,
    MOST_ROWS,
    STRICT,
    Name,
    OfText,
    Row,
    Subjects,
    given,
    several,
)
from rnnlens.base.errors import RnnlensError
from rnnlens.draw import figure
from rnnlens.draw.look import Look, row_numbers
from rnnlens.draw.pen import check_matplotlib
from rnnlens.reading.lines import Lines

_MOST = 2000  # kinds, pins, characters of rows
MOST_DRAWN = 8_000  # labels of a figure, each of which takes about a millisecond


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FigureQuestion(OfText):
    """A part of a text's grid to be drawn for print; names and numbers as `rnnlens show` takes
    them.
    """

    rows: StrictStr = given("", "such as 7-8 or 1,4-; empty: all", max_length=_MOST)
    kinds: tuple[Name, ...] | None = several(_MOST, "columns or layers; null: the usual", None)
    bars: StrictInt = given(3, ge=1, le=20)
    density: Literal["bars", "compact"] = "bars"
    symbols: StrictBool = given(False, "head columns with symbols only")
    head: Row = given(0, "of the attention's heads, which is told; 0: their mean")
    width: StrictFloat | None = given(None, "inches; null: as it comes", ge=1, le=100)
    labels: tuple[Name, ...] = several(MOST_LABELS, "to follow")
    against: tuple[Name, ...] = several(MOST_LABELS)
    pins: tuple[Name, ...] = several(_MOST, "such as l2:8")
    memories: Literal["norm", "rank", "half_life"] | None = given(
        None, "what cells of memories that are matrices show; null: what the probe says"
    )
    asked: Name | None = given(None, "or what they would answer if this word came next")
    key: StrictBool = given(True, "whether colours and marks are explained below")
    ending: Literal["svg", "pdf", "png"] = "svg"

    def look(self) -> Look:
        """How the figure is to look."""
        return Look(
            kinds=self.kinds, rows=self.rows, bars=self.bars, density=self.density,
            symbols=self.symbols, head=self.head, pins=self.pins, key=self.key, width=self.width,
            memories=self.memories, asked=self.asked,
        )  # fmt: skip


@whole
class Figure(TypedDict):
    """A figure, and how large it is in print."""

    ending: Literal["svg", "pdf", "png"]
    width: Annotated[float, Field(gt=0, description="inches")]
    height: Annotated[float, Field(gt=0, description="inches")]
    type: Annotated[float, Field(gt=0, description="of the smallest text, in points")]
    data: Annotated[str, about("the file: an SVG as it is, others in base64")]


def figure_steps(subjects: Subjects, question: FigureQuestion) -> Steps:
    """The figure in turns, of which the last gives it; only rows that are drawn are computed."""
    check_matplotlib()
    if question.against and not question.labels:
        raise RnnlensError("there are labels to stand against and none to follow; give labels")
    lines, look = subjects.read(question), question.look()
    look.check()
    first, count = _span(look, len(lines.lines))
    columns = _drawn(question, look, lines)
    lines = lines.showing(columns)
    drawn, numbers = list[dict[str, Any]](), list[dict[str, Any]]()
    for part, _ in parts(lines, first, count):
        drawn.append(part)
        yield {}, True
    if question.labels:
        asked = FollowQuestion(
            run=question.run, text=question.text, semantic=question.semantic,
            edits=question.edits, lenient=question.lenient, beside=question.beside, first=first,
            limit=count, labels=question.labels, against=question.against, columns=tuple(columns),
        )  # fmt: skip
        for part, _ in follow_steps(subjects, asked):
            numbers.append(part)
            yield {}, True
    followed = joined(iter(numbers)) if numbers else None
    grid = with_cells(joined(iter(drawn)), lines, look)
    yield _file(grid, followed, look, question.ending), False


def _span(look: Look, rows: int) -> tuple[int, int]:
    """The first row that is drawn, and how many there are up to the last."""
    if not rows:
        raise RnnlensError("there is nothing to draw; give words to read")
    taken: Sequence[int] = row_numbers(look.rows or f"1-{rows}", rows)
    count = taken[-1] + 1 - taken[0]
    if count > MOST_ROWS:
        raise RnnlensError(
            f"{count:,} rows are too many for a figure; give at most {MOST_ROWS}, such as 1-20"
        )
    return taken[0], count


def _drawn(question: FigureQuestion, look: Look, lines: Lines) -> list[str]:
    """The columns that are drawn; what takes long to draw or is too large for a page is refused,
    before anything is computed.
    """
    every = len(lines.lines)
    rows = len(row_numbers(look.rows or f"1-{every}", every))
    drawn = drawn_columns(lines, look.kinds)
    columns = len(drawn)
    each = 0 if look.compact else 1 if question.labels else question.bars
    if rows * columns * each > MOST_DRAWN:
        raise RnnlensError(
            f"{rows:,} rows of {columns} kinds with {each} labels each are "
            f"{rows * columns * each:,} labels, more than the {MOST_DRAWN:,} that are drawn while "
            "somebody waits; give fewer rows, kinds or bars, or density compact, or draw it with "
            "rnnlens show -o"
        )
    figure.check_size(rows, columns, look, f".{question.ending}", followed=bool(question.labels))
    return drawn


def _file(grid: dict[str, Any], followed: Any, look: Look, ending: str) -> dict[str, Any]:
    drawing = figure.draw(grid, look, f".{ending}", followed)
    data = drawing.data
    return {
        "ending": ending,
        "width": drawing.width,
        "height": drawing.height,
        "type": drawing.type,
        "data": data.decode() if ending == "svg" else base64.b64encode(data).decode(),
    }
