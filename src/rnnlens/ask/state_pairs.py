"""How far apart pairs of states are, of one text or of several."""

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from rnnlens.ask.json_types import Divergences
from rnnlens.ask.questions import (
    MOST_EDITS,
    MOST_PAIRS,
    STRICT,
    EditOrText,
    Name,
    OfRun,
    OfText,
    Row,
    Subjects,
    Text,
    given,
    several,
)
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message
from rnnlens.reading.divergence import bits_between
from rnnlens.reading.reading import Reading

_MOST = count("compared_words")  # of all texts together


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PairEnd:
    """One of two states to compare: a column and a row of a text's grid."""

    column: Name
    row: Row
    text: Text | None = given(None, "null: the question's")
    semantic: Name | None = given(None, "null: the question's")
    edits: tuple[EditOrText, ...] = several(
        MOST_EDITS, "what is changed on the way, such as l2@4=0"
    )


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Pair:
    """Two states to compare."""

    a: PairEnd
    b: PairEnd


@dataclass(frozen=True, kw_only=True, config=STRICT)
class DivergenceQuestion(OfRun):
    """States to compare, two by two; a state that names no text or semantic has the question's."""

    text: Text = ""
    semantic: Name | None = given(None, "null: the run's first")
    pairs: tuple[Pair, ...] = several(MOST_PAIRS, default=...)


def divergence(subjects: Subjects, question: DivergenceQuestion) -> Divergences:
    """The divergence of each pair of states in bits, exact: over all labels."""
    readings: dict[tuple[object, ...], Reading] = {}

    def read(end: PairEnd) -> Reading:
        text = question.text if end.text is None else end.text
        semantic = end.semantic or question.semantic
        key = (text, semantic, *map(str, end.edits))
        if key not in readings:
            one = OfText(run=question.run, text=text, semantic=semantic, edits=end.edits)
            readings[key] = subjects.read_one(one)
        return readings[key]

    ends = [(end, read(end)) for pair in question.pairs for end in (pair.a, pair.b)]
    words = sum(len(one.ids) for one in readings.values())
    if words > _MOST:
        raise RnnlensError(message("compared_words", count=f"{words:,}", most=f"{_MOST:,}"))
    if len({one.answers.names for one in readings.values()}) > 1:
        raise RnnlensError(message("compared_labels"))
    logits = [_pooled(reading, end.column, end.row) for end, reading in ends]
    return {"bits": [between(a, b) for a, b in zip(logits[::2], logits[1::2], strict=True)]}


def _pooled(reading: Reading, column: str, row: int) -> Tensor:
    return reading.answers.pooled(reading.logits(column, row).double())


@torch.inference_mode()
def between(a: Tensor, b: Tensor) -> float:
    """The divergence of two states with these logits, (V,), in bits; 0 where they are the same."""
    return float(bits_between(a.reshape(1, -1), b.reshape(1, -1))[0])


def state_divergence(a: tuple[Reading, str, int], b: tuple[Reading, str, int]) -> float:
    """The divergence of two states, each a reading, a column and a row."""
    if a[0].answers.names != b[0].answers.names:
        raise RnnlensError("states of runs with different labels cannot be compared")
    return between(_pooled(*a), _pooled(*b))
