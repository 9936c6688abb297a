"""What is chosen on the page, and what a saved page or a notebook begins with."""

from typing import Annotated, Literal

from pydantic import Field

from rnnlens.page.serve.api import Grid
from rnnlens.page.serve.fields import Answer, Count, DivergenceBits


class Place(Answer):
    """A state of a grid."""

    column: str
    row: Count


class Pin(Place):
    """A state that is kept in view; null: of the view's own run, text or semantic."""

    run: str | None
    text: str | None
    semantic: str | None


class Follow(Answer):
    """Labels to follow, and those they stand against."""

    labels: list[str]
    against: list[str]


class View(Answer):
    """Everything that is chosen on the page; null: what is usual."""

    run: str | None
    text: str | None
    beside: str | None = Field(description="another run that reads the text, too")
    semantic: str | None
    palette: str | None
    density: Literal["bars", "compact"]
    kinds: Literal["all", "outputs"] | list[str] | None
    naming: Literal["both", "names", "symbols"]
    bars: Annotated[int, Field(ge=1, le=5)]
    pins: list[Pin]
    focus: Place | None
    follow: Follow | None
    turns: bool = Field(description="whether it is shown where predictions turn")
    edits: list[str] = Field(description="what is changed while the text is read, such as l2@4=0")
    page: Literal["grid", "accuracy", "corpus"]
    find: str | None = Field(description="what the corpus is asked; null: the first example")


class SavedPage(Answer):
    """What a saved page holds: a whole grid, how it is seen, and divergences that are known."""

    grid: Grid
    view: View
    bits: list[tuple[str, Count, str, Count, DivergenceBits]] = Field(
        description="between two states, each a column and a row"
    )


class NotebookView(Answer):
    """What a view in a notebook begins with."""

    grid: Grid
    typing: bool = Field(description="whether it has a field for texts")
    examples: list[str]
