"""Answers held to their schema."""

from typing import Any

from pydantic import TypeAdapter

from rnnlens.base.schema import json_type


def held_to(answer: Any, json: bytes | str) -> Any:
    """An answer's JSON, whose type is that of a class.

    Strict: numbers are numbers, and extra fields are refused as missing ones are.
    """
    return TypeAdapter(json_type(answer)).validate_json(json, strict=True)
