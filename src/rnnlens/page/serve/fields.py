"""The fields that questions and answers are made of."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from rnnlens.ask.continuation import MOST
from rnnlens.reading.source import LONGEST, LONGEST_TEXT, too_many
from rnnlens.search.language import LONGEST as LONGEST_QUESTION

MOST_ROWS, MOST_PAIRS, MOST_LABELS, MOST_EDITS = 200, 64, 64, 64
MOST_COLUMNS = 5_000
_FLOAT = 3.5e38  # beyond what 32 bits hold


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
        raise PydanticCustomError("long", too_many(len(text), "characters", LONGEST_TEXT))
    return text


_LENGTH: dict[str, Any] = {"maxLength": LONGEST_TEXT}
Text = Annotated[
    str, BeforeValidator(_characters), AfterValidator(_short), Field(json_schema_extra=_LENGTH)
]
Name = Annotated[str, Field(max_length=200), BeforeValidator(_characters)]
Question = Annotated[str, Field(max_length=LONGEST_QUESTION), BeforeValidator(_characters)]
Row = Annotated[int, Field(ge=0, le=1_000_000), BeforeValidator(_whole)]
Limit = Annotated[int, Field(ge=1, le=MOST_ROWS), BeforeValidator(_whole)]

Words = Annotated[int, Field(ge=1, le=MOST), BeforeValidator(_whole)]
_Edit = Annotated[str, Field(max_length=LONGEST_TEXT), BeforeValidator(_characters)]
Edits = Annotated[list[_Edit], Field(max_length=MOST_EDITS)]


class Asked(BaseModel):
    """A request: nothing is converted, and unknown fields are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


def _named(name: str, **bounds: Any) -> Any:
    """A number or text that the page's types call by this name."""
    return Field(json_schema_extra={"x-name": name}, **bounds)


Count = Annotated[int, _named("Count", ge=0)]
Rank = Annotated[int, _named("Rank", ge=1, description="1: the most probable")]
Probability = Annotated[float, _named("Probability", ge=0, le=1)]
Bits = Annotated[float, _named("Bits", ge=0)]
DivergenceBits = Annotated[float, _named("DivergenceBits", ge=0, le=1)]
Perplexity = Annotated[float, _named("Perplexity", gt=0)]
Ratio = Annotated[float, _named("Ratio", gt=0)]
Steps = Annotated[int, _named("Steps", ge=-LONGEST, le=LONGEST)]
FollowedNumber = Annotated[float, _named("FollowedNumber", ge=-_FLOAT, le=_FLOAT)]
Logits = Annotated[float, _named("Logits", ge=-_FLOAT, le=_FLOAT)]
Nats = Annotated[float, _named("Nats", ge=-_FLOAT, le=_FLOAT)]
Share = Annotated[float, _named("Share", ge=-_FLOAT, le=_FLOAT, description="0: none, 1: all")]
Amount = Annotated[float, _named("Amount", ge=-1e300, le=1e300)]
Correlation = Annotated[float, _named("Correlation", ge=-1.001, le=1.001)]
Colour = Annotated[str, _named("Colour", pattern="^#[0-9a-f]{6}$")]


class Answer(BaseModel):
    """What is sent, to the last field. Held to by tests: checking takes longer than answering."""

    model_config = ConfigDict(extra="forbid")
