"""What the server answers, and what a saved page or a notebook begins with.

The OpenAPI schema is made of these and of `questions`, and so are the types that the
page's modules are checked with: run `python scripts/page_types.py` after a change.
"""

from typing import Annotated, Literal

from pydantic import Field

from rnnlens.view.page.server.fields import (
    Amount,
    Answer,
    Bits,
    Colour,
    Count,
    DivergenceBits,
    FollowedNumber,
    Logits,
    Perplexity,
    Probability,
    Rank,
    Share,
    Steps,
)


class Problem(Answer):
    """What is wrong and what to do, in one line."""

    error: str


class RunSummary(Answer):
    """A run that can be asked for."""

    id: str
    title: str
    labels: Count = Field(description="how many there are")
    semantics: list[str]
    palettes: list[str]
    examples: list[str]
    probes: bool = Field(description="whether it has any")


class Runs(Answer):
    """Every run that is served."""

    runs: list[RunSummary]


class Column(Answer):
    """A kind as it is drawn."""

    id: str
    kind: str = Field(description="its id")
    letter: str = Field(description="such as l; empty: a submodule's output, called by its path")
    part: str = Field(description="of the module, where it has several that are recurrent")
    reverse: bool = Field(description="whether its layer reads backwards")
    back: Count = Field(description="timesteps before that of its row")
    layer: Count = Field(description="0: before the first; that of the prediction is the last")
    name: str
    symbol: str
    equation: str
    sources: list[tuple[str, Steps]] = Field(
        description="the kinds it is computed from, so many timesteps back"
    )
    shown: bool = Field(description="whether it is, unless somebody chooses")
    perplexity: Perplexity | None = Field(description="null: not measured")
    used: Share | None = Field(
        description="how much of what its probe reads the model uses; null: not measured"
    )


class Word(Answer):
    """A word of the text and what the network takes it for."""

    text: str
    label: str
    unknown: bool
    group: str
    value: Amount | None = Field(description="what is read at its step; null: it is a word")


class Scale(Answer):
    """An axis of numbers, cut into bins that are labels."""

    edges: list[Amount] = Field(description="of the bins, from the least number of training up")
    names: list[str] = Field(description="of the bins, in order")


class State(Answer):
    """The encoding of one state."""

    colour: Colour
    group: str = Field(description="that dominates")
    share: Probability
    entropy: Bits
    top: list[tuple[str, Probability]] = Field(description="the most probable labels first")
    wanted: tuple[str, Probability, Rank] | None = Field(description="what really came")
    unread: bool = Field(description="whether no word was read into it yet: what it says is void")
    number: tuple[Amount, Amount, Amount] | None = Field(
        description="where labels are bins, the mean and the interval that holds 80%"
    )


class Change(Answer):
    """What edits have changed in a state."""

    bits: DivergenceBits = Field(description="between what it says and what it said before")
    before: tuple[str, Probability] = Field(description="the most probable label before")
    now: Probability = Field(description="the probability of that label now")


class Grid(Answer):
    """The encodings of a text: all of its words and columns, and the rows that were asked for."""

    format: Literal["rnnlens-grid"]
    version: Literal[1]
    run: str
    title: str
    text: str
    follows: bool = Field(description="whether labels are the words that follow")
    answer: Literal["last", "mean"] | None = Field(
        description="where a whole text has one label, how the model's answer follows from y: what "
        "it says last, or the mean; null: labels are of words"
    )
    semantic: str
    semantics: list[str]
    palette: str
    palettes: list[str]
    groups: dict[str, Colour]
    columns: list[Column]
    edges: list[tuple[str, str]] = Field(
        description="which columns feed which; K@-1 without a column is K one row up, K@+1 one down"
    )
    numbers: bool = Field(description="whether the model itself predicts numbers")
    scale: Scale | None = Field(description="of the labels, where they are bins of numbers")
    several: bool = Field(description="whether each label holds or not by itself")
    words: list[Word]
    left_out: Count = Field(description="words of the text beyond the most that are drawn")
    labels: dict[str, str] = Field(description="the group of every label that a state names")
    from_: Count = Field(alias="from", description="rows[0] is this row of the grid")
    rows: list[list[State]] = Field(description="a state for each column")
    edits: list[str] = Field(description="what was changed while it was read, such as l2@4=0")
    dropped: list[str] = Field(description="why edits that were asked for are left out")
    changes: list[list[Change]] = Field(
        description="where there are edits, what they change in each state of the rows; else none"
    )


class Divergences(Answer):
    """Jensen-Shannon divergence of each pair."""

    bits: list[DivergenceBits]


class Followed(Answer):
    """Of each state the probability of labels, or the logarithm of their odds against others."""

    labels: list[str]
    against: list[str]
    from_: Count = Field(alias="from", description="rows[0] is this row of the grid")
    rows: list[list[FollowedNumber]] = Field(description="a number for each column")


class Written(Answer):
    """Which words have made a state say some labels rather than others, in logits, for each word of
    the text up to there; null: the model has no such reading.
    """

    labels: list[str]
    against: list[str]
    difference: Logits = Field(description="how far the labels are ahead")
    instead: str = Field(description="the word that is read in a word's place; empty: left out")
    stored: list[Logits | None] | None = Field(description="the exact split of the memory")
    stored_rest: Logits = Field(description="which with all of `stored` makes the difference")
    path: list[Logits | None] | None = Field(description="down to the words, with gates held")
    path_rest: Logits = Field(description="which with all of `path` makes the difference")
    without: list[Logits | None] = Field(
        description="what goes without the word, all read again: the truth"
    )
    gates: list[Logits | None] | None = Field(description="what of `without` runs through gates")
    note: str = Field(description="why a reading is missing; empty: none is")


class Continued(Answer):
    """The model's own likeliest words after a text, each read before the next is asked for."""

    before: list[str] = Field(description="without the edits")
    after: list[str] = Field(description="with them")


class TurnRow(Answer):
    """How far the states of a row lie from others; null where there is nothing to compare with."""

    edges: list[DivergenceBits | None] = Field(description="between the ends of each edge")
    above: list[DivergenceBits | None] = Field(description="of each column from the row above")
    surprisal: Bits | None = Field(description="of the word that came next, by y")


class Turns(Answer):
    """The turns of some rows, by Jensen-Shannon divergence."""

    from_: Count = Field(alias="from", description="rows[0] is this row of the grid")
    rows: list[TurnRow]


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
    page: Literal["grid", "accuracy"]


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
