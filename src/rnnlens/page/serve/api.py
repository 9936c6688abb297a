"""What the server answers.

The OpenAPI schema is made of these and of `questions`, and so are, with those of `views`, the types
that the page's modules are checked with: run `python scripts/page_types.py` after a change.
"""

from typing import Literal

from pydantic import Field

from rnnlens.page.serve.fields import (
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


class Training(Answer):
    """Where in a training a run stands whose checkpoints were kept."""

    of: str = Field(description="the id of the run that the training ended with")
    epoch: Count = Field(description="after which these weights were")
    perplexity: Perplexity | None = Field(description="the model's own; null: not measured")


class RunSummary(Answer):
    """A run that can be asked for."""

    id: str
    title: str
    labels: Count = Field(description="how many there are")
    semantics: list[str]
    palettes: list[str]
    examples: list[str]
    probes: bool = Field(description="whether it has any")
    corpus: bool = Field(description="whether it has an index of one")
    training: Training | None = Field(description="null: no checkpoints were kept")


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


class Side(Answer):
    """One of two readings that are compared."""

    run: str
    title: str
    text: str
    columns: list[Column] = Field(description="as this run has them; none: the grid's")


class Line(Answer):
    """A line of two readings that are compared."""

    side: Literal["both", "first", "second"] = Field(description="whose; both: all is the same")
    row: Count | None = Field(description="of its text; null: no word stands here")
    then: str | None = Field(
        description="the word that came next, where nothing else is another; empty: the end"
    )


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
    rows: list[list[State | None]] = Field(
        description="a state for each column; null: it was not wanted"
    )
    edits: list[str] = Field(description="what was changed while it was read, such as l2@4=0")
    dropped: list[str] = Field(description="why edits that were asked for are left out")
    changes: list[list[Change]] = Field(
        description="where there are edits, what they change in each state of the rows; of two "
        "readings, how far each state of the second's lines lies from the first's; else none"
    )
    sides: list[Side] = Field(description="the two readings that are compared; else none")
    lines: list[Line] = Field(description="what each of the words is, where two are compared")
    notes: list[str] = Field(description="what of the two is not compared")


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
