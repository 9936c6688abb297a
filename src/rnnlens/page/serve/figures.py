"""Figures for print, as the page asks for them: drawn by what `rnnlens show -o` draws with."""

import base64
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Literal

from pydantic import Field

from rnnlens.ask.follow import joined
from rnnlens.ask.readings import following
from rnnlens.base.errors import RnnlensError
from rnnlens.draw import figure
from rnnlens.draw.look import Look, row_numbers
from rnnlens.draw.pen import check_matplotlib
from rnnlens.page.serve.fields import MOST_LABELS, MOST_ROWS, Answer, Asked, Edits, Name, Text
from rnnlens.reading.side_by_side import SideBySide


class FigureRequest(Asked):
    """A part of a text's grid to be drawn for print; names and numbers as `rnnlens show` takes
    them.
    """

    run: Name | None = Field(None, description="null: the first")
    text: Text
    semantic: Name | None = Field(None, description="null: the run's first")
    palette: Name | None = Field(None, description="null: the run's first")
    rows: str = Field("", max_length=2000, description="such as 7-8 or 1,4-; empty: all")
    kinds: list[Name] | None = Field(
        None, max_length=2000, description="columns or layers; null: the usual"
    )
    bars: int = Field(3, ge=1, le=20)
    density: Literal["bars", "compact"] = "bars"
    edits: Edits = Field([], description="what is changed on the way, such as l2@4=0")
    beside: Name | None = Field(None, description="another run that reads the text, too")
    symbols: bool = Field(False, description="head columns with symbols only")
    width: float | None = Field(None, ge=1, le=100, description="inches; null: as it comes")
    labels: list[Name] = Field(default=[], max_length=MOST_LABELS, description="to follow")
    against: list[Name] = Field(default=[], max_length=MOST_LABELS)
    pins: list[Name] = Field(default=[], max_length=2000, description="such as l2:8")
    key: bool = Field(True, description="whether colours and marks are explained below")
    ending: Literal["svg", "pdf", "png"] = "svg"

    def look(self) -> Look:
        """The fields that say how the figure is to look."""
        shared = {one.name for one in fields(Look)} & type(self).model_fields.keys()
        return Look(**{name: getattr(self, name) for name in shared})


class Figure(Answer):
    """A figure, and how large it is in print."""

    ending: Literal["svg", "pdf", "png"]
    width: float = Field(gt=0, description="inches")
    height: float = Field(gt=0, description="inches")
    type: float = Field(gt=0, description="of the smallest text, in points")
    data: str = Field(description="the file: an SVG as it is, others in base64")


def figured(
    lens: SideBySide, asked: FigureRequest, beside: SideBySide | None = None
) -> Iterator[tuple[dict[str, Any], bool]]:
    """The figure in turns, of which the last gives it; only rows that are drawn are computed."""
    check_matplotlib()
    if asked.against and not asked.labels:
        raise RnnlensError("there are labels to stand against and none to follow; give labels")
    pairing = lens.pairing(asked.text, beside, asked.semantic, asked.palette)
    one = None if pairing else lens.request(asked.text, asked.semantic, asked.palette)
    look, rows = asked.look(), len(one.words if one else pairing.lines if pairing else ())
    if not rows:
        raise RnnlensError("there is nothing to draw; give words to read")
    taken = row_numbers(look.rows or f"1-{rows}", rows)
    first, count = taken[0], taken[-1] + 1 - taken[0]
    if count > MOST_ROWS:
        raise RnnlensError(
            f"{count:,} rows are too many for a figure; give at most {MOST_ROWS}, such as 1-20"
        )
    parts, numbers = [], []
    for part, _ in lens.steps(
        asked.text, asked.semantic, asked.palette, asked.text, first, count, asked.edits,
        asked.edits, beside=beside,
    ):  # fmt: skip
        parts.append(part)
        yield {}, True
    if asked.labels:
        for some, _ in following(
            lens,
            asked.text,
            asked.semantic,
            asked.labels,
            asked.against,
            first,
            count,
            asked.edits,
            beside,
        ):
            numbers.append(some)
            yield {}, True
    labels = {label: group for part in parts for label, group in part["labels"].items()}
    followed = joined(numbers) if numbers else None
    changes = [row for part in parts for row in part["changes"]]
    whole = {**joined(parts), "labels": labels, "changes": changes}
    drawing = figure.draw(whole, look, f".{asked.ending}", followed)
    data = drawing.data
    written = data.decode() if asked.ending == "svg" else base64.b64encode(data).decode()
    size = {"width": drawing.width, "height": drawing.height, "type": drawing.type}
    yield {"ending": asked.ending, **size, "data": written}, False
