"""Answers that are schema, JSON and Python result at once.

An answer is a frozen dataclass. `to_json` makes JSON of it, and `json_type` the type of that JSON,
of which schemas and the page's types are made. A field says with `sent` what is different in JSON:
its name, its type, how its numbers are rounded; with `unsent`, that it is for Python alone.
"""

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from inspect import getdoc
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from typing_extensions import TypedDict

_typed_dict: Any = TypedDict  # of fields that are known only at run time


@dataclass(frozen=True)
class Sent:
    """How a field is sent."""

    description: str = ""
    name: str = ""  # in JSON; empty: the field's own
    type: Any = None  # in JSON; None: the field's own
    write: Callable[[Any], Any] | None = None  # makes JSON of its value
    is_sent: bool = True


def sent(
    description: str = "",
    *,
    name: str = "",
    type: Any = None,
    write: Callable[[Any], Any] | None = None,
    default: Any = MISSING,
) -> Any:
    """A field of an answer that is described, or that is another in JSON."""
    metadata = {"sent": Sent(description, name, type, write)}
    return (
        field(default=default, metadata=metadata)
        if default is not MISSING
        else field(metadata=metadata)
    )


def unsent(*, default: Any = MISSING) -> Any:
    """A field of an answer that is for Python alone."""
    metadata = {"sent": Sent(is_sent=False)}
    return (
        field(default=default, metadata=metadata)
        if default is not MISSING
        else field(metadata=metadata)
    )


def to_json(value: Any) -> Any:
    """An answer, or whatever is in one, as JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            how.name or one.name: (how.write or to_json)(getattr(value, one.name))
            for one, how in _sent_fields(type(value))
        }
    if isinstance(value, Mapping):
        return {key: to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def rounded(decimals: int) -> Callable[[Any], Any]:
    """What writes a number, or arrays of numbers, with so many decimals; what is none, as None."""

    def write(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, np.ndarray | list | tuple):
            return [write(one) for one in (value.tolist() if hasattr(value, "tolist") else value)]
        return round(float(value), decimals) if np.isfinite(value) else None

    return write


@cache
def json_type(answer: Any) -> Any:
    """The type of an answer's JSON; one that is no dataclass is its own."""
    if not is_dataclass(answer) or not isinstance(answer, type):
        return answer
    hints = get_type_hints(answer, include_extras=True)
    declared = {
        how.name or one.name: _described(_typed(how.type or hints[one.name]), how.description)
        for one, how in _sent_fields(answer)
    }
    made: Any = _typed_dict(answer.__name__, declared)
    made.__doc__ = (getdoc(answer) or "").partition("\n\n")[0]
    made.__pydantic_config__ = {"extra": "forbid"}
    return made


def _sent_fields(answer: Any) -> Iterator[tuple[Field[Any], Sent]]:
    for one in fields(answer):
        how = one.metadata.get("sent", Sent())
        if how.is_sent:
            yield one, how


def _typed(hint: Any) -> Any:
    """A type in which every answer stands for its JSON."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is None:
        return json_type(hint)
    inner: Any = tuple(map(_typed, args))
    if origin is Annotated:
        return Annotated[(inner[0], *args[1:])]
    if origin in (Union, types.UnionType):
        return Union[inner]  # noqa: UP007 - of a tuple
    if origin is tuple and args[-1] is ...:
        origin, inner = list, inner[:1]
    return origin[inner] if origin in (list, dict, tuple) else hint


def _described(hint: Any, description: str) -> Any:
    if not description:
        return hint
    from pydantic import Field as Described

    return Annotated[hint, Described(description=description)]
