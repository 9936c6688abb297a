"""Answers are schema, JSON and Python result at once."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from rnnlens.base.schema import json_type, rounded, sent, to_json, unsent


@dataclass(frozen=True)
class Inner:
    """A part."""

    names: tuple[str, ...]
    best: tuple[str, float] | None = None


@dataclass(frozen=True)
class Outer:
    """An answer.

    Whatever else is said of it is for Python.
    """

    parts: tuple[Inner, ...]
    values: NDArray[np.float64] = sent(
        "a number each", name="rows", type=list[float | None], write=rounded(2)
    )
    first: int = sent("where rows begin", name="from", default=0)
    words: tuple[str, ...] = unsent(default=())
    more: dict[str, Inner] = field(default_factory=dict)


ANSWER = Outer((Inner(("a", "b"), ("a", 0.5)), Inner(())), np.array([1.234, np.nan]), 3, ("x",))


def test_json_has_the_names_and_roundings_of_its_fields():
    assert to_json(ANSWER) == {
        "parts": [{"names": ["a", "b"], "best": ["a", 0.5]}, {"names": [], "best": None}],
        "rows": [1.23, None],
        "from": 3,
        "more": {},
    }


def test_the_schema_is_that_of_the_json():
    schema = TypeAdapter(json_type(Outer)).json_schema()
    assert set(schema["properties"]) == {"parts", "rows", "from", "more"}
    assert schema["description"] == "An answer."
    assert schema["properties"]["from"]["description"] == "where rows begin"
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Inner"]["properties"]["names"]["items"] == {"type": "string"}
    TypeAdapter(json_type(Outer)).validate_python(to_json(ANSWER))


def test_what_is_no_dataclass_is_its_own_type():
    assert json_type(int) is int
