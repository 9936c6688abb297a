"""What the server is asked."""

from pydantic import Field

from rnnlens.ask.divergence import End
from rnnlens.page.serve.fields import (
    MOST_COLUMNS,
    MOST_LABELS,
    MOST_PAIRS,
    Asked,
    Edits,
    Limit,
    Name,
    Row,
    Text,
    Words,
)


class GridRequest(Asked):
    """A text, and the rows that whoever asks already has."""

    run: Name | None = Field(None, description="null: the first")
    text: Text
    semantic: Name | None = Field(None, description="null: the run's first")
    palette: Name | None = Field(None, description="null: the run's first")
    previous: Text = Field("", description="the text whose grid's first rows are at hand")
    have: Row = Field(0, description="how many of them")
    limit: Limit = Field(100, description="rows to answer with at most")
    edits: Edits = Field([], description="what is changed on the way, such as l2@4=0")
    previous_edits: Edits = Field([], description="those of the grid whose rows are at hand")
    lenient: bool = Field(False, description="whether edits that cannot be made are left out")
    columns: list[Name] | None = Field(
        None, max_length=MOST_COLUMNS, description="whose states are wanted; null: all"
    )
    beside: Name | None = Field(None, description="another run that reads the text, too")


class PairEnd(Asked):
    """One of two states to compare: a column and a row of a text's grid."""

    column: Name
    row: Row
    text: Text | None = Field(None, description="null: the request's")
    semantic: Name | None = Field(None, description="null: the request's")
    edits: Edits = Field([], description="what is changed on the way, such as l2@4=0")


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
            semantic = given.semantic or self.semantic
            return End(given.column, given.row, text, semantic, tuple(given.edits))

        return [(end(pair.a), end(pair.b)) for pair in self.pairs]


class RowsRequest(Asked):
    """Some rows of a text's grid."""

    run: Name | None = Field(None, description="null: the first")
    text: Text
    semantic: Name | None = Field(None, description="null: the run's first")
    first: Row = Field(0, description="row to begin with")
    limit: Limit = Field(100, description="rows to answer with at most")
    edits: Edits = Field([], description="what is changed on the way, such as l2@4=0")
    beside: Name | None = Field(None, description="another run that reads the text, too")


class TurnsRequest(RowsRequest):
    """Rows of a text's grid whose turns are wanted."""


class FollowRequest(RowsRequest):
    """Labels to follow through some rows of a text's grid."""

    labels: list[Name] = Field(max_length=MOST_LABELS)
    against: list[Name] = Field(default=[], max_length=MOST_LABELS)


class WrittenRequest(Asked):
    """A state, and the labels whose difference is to be told by the words."""

    run: Name | None = Field(None, description="null: the first")
    text: Text
    semantic: Name | None = Field(None, description="null: the run's first")
    column: Name
    row: Row
    labels: list[Name] = Field(
        default=[], max_length=MOST_LABELS, description="none: the most probable"
    )
    against: list[Name] = Field(
        default=[], max_length=MOST_LABELS, description="none: the most probable other"
    )


class PublishRequest(Asked):
    """A run to be published, and the text that its page reads first."""

    run: Name | None = Field(None, description="null: the first")
    text: Text


class ContinueRequest(Asked):
    """A text that the model is to go on with by itself."""

    run: Name | None = Field(None, description="null: the first")
    text: Text
    edits: Edits = Field([], description="what is changed on the way, such as l2@4=0")
    words: Words = Field(10, description="how many to go on with")
