"""What the server is asked and what it answers; the OpenAPI schema is made of these."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from rnnlens.view.source import LONGEST_TEXT, too_long

MOST_ROWS, MOST_PAIRS = 200, 64


def _whole(value: Any) -> Any:
    """JSON has one type of number: 3.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _characters(value: Any) -> Any:
    """Halves of characters, which are no text, become the sign for what cannot be read."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _short(text: str) -> str:
    """Said as the lens says it: people read this one."""
    if len(text) > LONGEST_TEXT:
        raise PydanticCustomError("long", too_long(text))
    return text


_LENGTH: dict[str, Any] = {"maxLength": LONGEST_TEXT}
Text = Annotated[
    str, BeforeValidator(_characters), AfterValidator(_short), Field(json_schema_extra=_LENGTH)
]
Name = Annotated[str, Field(max_length=200), BeforeValidator(_characters)]
Row = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=1_000_000)]
Limit = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=MOST_ROWS)]


class Asked(BaseModel):
    """A request: nothing is converted, and unknown fields are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


class GridRequest(Asked):
    """A text, and the rows that whoever asks already has."""

    run: Name | None = Field(None, description="null: the first")
    text: Text
    semantic: Name | None = Field(None, description="null: the run's first")
    palette: Name | None = Field(None, description="null: the run's first")
    previous: Text = Field("", description="the text whose grid's first rows are at hand")
    have: Row = Field(0, description="how many of them")
    limit: Limit = Field(100, description="rows to answer with at most")


class Pin(Asked):
    """One state: a column and a row of a text's grid."""

    column: Name
    row: Row
    text: Text | None = Field(None, description="null: the request's")
    semantic: Name | None = Field(None, description="null: the request's")


class Pair(Asked):
    """Two states to compare."""

    a: Pin
    b: Pin


class DivergenceRequest(Asked):
    """States to compare, two by two."""

    run: Name | None = Field(None, description="null: the first")
    text: Text = ""
    semantic: Name | None = Field(None, description="null: the run's first")
    pairs: list[Pair] = Field(max_length=MOST_PAIRS)


class Problem(BaseModel):
    """What is wrong and what to do, in one line."""

    error: str


class RunSummary(BaseModel):
    """A run that can be asked for."""

    id: str
    title: str
    labels: int
    semantics: list[str]
    palettes: list[str]
    examples: list[str]
    probes: bool


class Runs(BaseModel):
    """Every run that is served."""

    runs: list[RunSummary]


class ColumnModel(BaseModel):
    """A kind as it is drawn."""

    id: str
    kind: str
    back: int
    layer: int
    name: str
    symbol: str
    equation: str
    shown: bool
    perplexity: float | None


class Word(BaseModel):
    """A word of the text and what the network takes it for."""

    text: str
    label: str
    unknown: bool
    group: str


class State(BaseModel):
    """The encoding of one state."""

    colour: str = Field(pattern="^#[0-9a-f]{6}$")
    group: str
    share: float
    entropy: float = Field(description="bits")
    top: list[tuple[str, float]]
    wanted: tuple[str, float, int] | None = Field(description="label, probability, rank")


class Grid(BaseModel):
    """The encodings of a text: all of its words and columns, and the rows that were asked for."""

    format: str
    version: int
    run: str
    title: str
    text: str
    follows: bool = Field(description="whether labels are the words that follow")
    semantic: str
    semantics: list[str]
    palette: str
    palettes: list[str]
    groups: dict[str, str]
    columns: list[ColumnModel]
    edges: list[tuple[str, str]]
    words: list[Word]
    labels: dict[str, str]
    from_: int = Field(alias="from", description="rows[0] is this row of the grid")
    rows: list[list[State]]


class Divergences(BaseModel):
    """Jensen-Shannon divergence of each pair, in bits."""

    bits: list[float]


class Score(BaseModel):
    """How well the states of a kind predict, on the test split."""

    kind: str
    perplexity: float | None
    ratio: float | None
    accuracy: float | None
    kl: float | None
    calibration: float | None


class Accuracy(BaseModel):
    """The evaluation of a run."""

    run: str
    title: str
    follows: bool
    own: float
    unigram: float
    unigrams: dict[str, float] = Field(description="by semantic")
    semantics: dict[str, list[Score]]
