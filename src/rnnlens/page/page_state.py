"""What is chosen on the page, and what a saved page or a notebook's view begins with: for the types
that the page is checked with.
"""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from rnnlens.ask.json_types import Count, DivergenceBits, Grid, about, whole


@whole
class Place(TypedDict):
    """A state of a grid."""

    column: str
    row: Count


@whole
class Pin(Place):
    """A state that is kept in view; null: of the view's own run, text or semantic."""

    run: str | None
    text: str | None
    semantic: str | None


@whole
class Follow(TypedDict):
    """Labels to follow, and those they stand against."""

    labels: list[str]
    against: list[str]


@whole
class View(TypedDict):
    """Everything that is chosen on the page; null: what is usual."""

    run: str | None
    text: str | None
    beside: Annotated[str | None, about("another run that reads the text, too")]
    semantic: str | None
    palette: str | None
    density: Literal["bars", "compact"]
    kinds: Literal["all", "outputs"] | list[str] | None
    naming: Literal["both", "names", "symbols"]
    bars: Annotated[int, Field(ge=1, le=5)]
    pins: list[Pin]
    focus: Place | None
    follow: Follow | None
    turns: Annotated[bool, about("whether it is shown where predictions turn")]
    edits: Annotated[list[str], about("what is changed while the text is read, such as l2@4=0")]
    page: Literal["grid", "accuracy", "corpus"]
    find: Annotated[str | None, about("what the corpus is asked; null: the first example")]


@whole
class SavedPage(TypedDict):
    """What a saved page holds: a whole grid, how it is seen, and divergences that are known."""

    grid: Grid
    view: View
    bits: Annotated[
        list[tuple[str, Count, str, Count, DivergenceBits]],
        about("between two states, each a column and a row"),
    ]


@whole
class NotebookView(TypedDict):
    """What a view in a notebook begins with."""

    grid: Grid
    typing: Annotated[bool, about("whether it has a field for texts")]
    examples: list[str]
