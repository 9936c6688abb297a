"""What the server is asked, what it answers, and what a saved page or a notebook begins with.

The OpenAPI schema is made of these, and so are the types that the page's modules are checked with:
run `python scripts/page_types.py` after a change.
"""

from typing import Annotated, Literal

from pydantic import Field

from rnnlens.view.divergence import End
from rnnlens.view.page.server.fields import (
    MOST_LABELS,
    MOST_PAIRS,
    Answer,
    Asked,
    Bits,
    Colour,
    Count,
    DivergenceBits,
    FollowedNumber,
    Limit,
    Name,
    Perplexity,
    Probability,
    Rank,
    Ratio,
    Row,
    Steps,
    Text,
)


class GridRequest(Asked):
    """A text, and the rows that whoever asks already has."""

    run: Name | None = Field(None, description="null: the first")
    text: Text
    semantic: Name | None = Field(None, description="null: the run's first")
    palette: Name | None = Field(None, description="null: the run's first")
    previous: Text = Field("", description="the text whose grid's first rows are at hand")
    have: Row = Field(0, description="how many of them")
    limit: Limit = Field(100, description="rows at most; fewer if they take long")


class PairEnd(Asked):
    """One of two states to compare: a column and a row of a text's grid."""

    column: Name
    row: Row
    text: Text | None = Field(None, description="null: the request's")
    semantic: Name | None = Field(None, description="null: the request's")


class Pair(Asked):
    """Two states to compare."""

    a: PairEnd
    b: PairEnd


class DivergenceRequest(Asked):
    """States to compare, two by two."""

    run: Name | None = Field(None, description="null: the first")
    text: Text = ""
    semantic: Name | None = Field(None, description="null: the run's first")
    pairs: list[Pair] = Field(max_length=MOST_PAIRS)

    def ends(self) -> list[tuple[End, End]]:
        """The pairs; a state that names no text or semantic is of the request's."""

        def end(given: PairEnd) -> End:
            text = self.text if given.text is None else given.text
            return End(given.column, given.row, text, given.semantic or self.semantic)

        return [(end(pair.a), end(pair.b)) for pair in self.pairs]


class FollowRequest(Asked):
    """Labels to follow through some rows of a text's grid."""

    run: Name | None = Field(None, description="null: the first")
    text: Text
    semantic: Name | None = Field(None, description="null: the run's first")
    labels: list[Name] = Field(max_length=MOST_LABELS)
    against: list[Name] = Field(default=[], max_length=MOST_LABELS)
    first: Row = Field(0, description="row to begin with")
    limit: Limit = Field(100, description="rows at most; fewer if they take long")


class TurnsRequest(Asked):
    """Rows of a text's grid whose turns are wanted."""

    run: Name | None = Field(None, description="null: the first")
    text: Text
    semantic: Name | None = Field(None, description="null: the run's first")
    first: Row = Field(0, description="row to begin with")
    limit: Limit = Field(100, description="rows at most; fewer if they take long")


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


class Word(Answer):
    """A word of the text and what the network takes it for."""

    text: str
    label: str
    unknown: bool
    group: str


class State(Answer):
    """The encoding of one state."""

    colour: Colour
    group: str = Field(description="that dominates")
    share: Probability
    entropy: Bits
    top: list[tuple[str, Probability]] = Field(description="the most probable labels first")
    wanted: tuple[str, Probability, Rank] | None = Field(description="what really came")
    unread: bool = Field(description="whether no word was read into it yet: what it says is void")


class Grid(Answer):
    """The encodings of a text: all of its words and columns, and the rows that were asked for."""

    format: Literal["rnnlens-grid"]
    version: Literal[1]
    run: str
    title: str
    text: str
    follows: bool = Field(description="whether labels are the words that follow")
    semantic: str
    semantics: list[str]
    palette: str
    palettes: list[str]
    groups: dict[str, Colour]
    columns: list[Column]
    edges: list[tuple[str, str]] = Field(
        description="which columns feed which; K@-1 without a column is K one row up, K@+1 one down"
    )
    words: list[Word]
    left_out: Count = Field(description="words of the text beyond the most that are drawn")
    labels: dict[str, str] = Field(description="the group of every label that a state names")
    from_: Count = Field(alias="from", description="rows[0] is this row of the grid")
    rows: list[list[State]] = Field(description="a state for each column")


class Divergences(Answer):
    """Jensen-Shannon divergence of each pair."""

    bits: list[DivergenceBits]


class Followed(Answer):
    """Of each state the probability of labels, or the logarithm of their odds against others."""

    labels: list[str]
    against: list[str]
    from_: Count = Field(alias="from", description="rows[0] is this row of the grid")
    rows: list[list[FollowedNumber]] = Field(description="a number for each column")


class TurnRow(Answer):
    """How far the states of a row lie from others; null where there is nothing to compare with."""

    edges: list[DivergenceBits | None] = Field(description="between the ends of each edge")
    above: list[DivergenceBits | None] = Field(description="of each column from the row above")
    surprisal: Bits | None = Field(description="of the word that came next, by y")


class Turns(Answer):
    """The turns of some rows, by Jensen-Shannon divergence."""

    from_: Count = Field(alias="from", description="rows[0] is this row of the grid")
    rows: list[TurnRow]


class Score(Answer):
    """How well the states of a kind predict, on the test split; null: not measured."""

    kind: str
    perplexity: Perplexity | None
    ratio: Ratio | None = Field(description="of its perplexity to the model's own")
    accuracy: Probability | None
    kl: Bits | None = Field(description="from the model's own prediction, in bits")
    calibration: Probability | None


class Accuracy(Answer):
    """The evaluation of a run."""

    run: str
    title: str
    follows: bool
    own: Perplexity = Field(description="the model's")
    unigram: Perplexity | None
    unigrams: dict[str, Perplexity] = Field(description="by semantic")
    semantics: dict[str, list[Score]]


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
