"""Semantics: which label a state is asked about."""

import re

from rnnlens.errors import RnnlensError

INPUT = "input"
_FORM = re.compile(r"input|output(?:[+-][1-9]\d{0,3})?")


def offset(semantic: str) -> int:
    """How many words after the one just read the label stands: 0 for `input`, 1 for `output`."""
    if not _FORM.fullmatch(semantic):
        raise RnnlensError(
            f"{semantic!r} is no semantic; give output, input, output+N or output-N, comma between"
        )
    return 0 if semantic == INPUT else 1 + int(semantic.removeprefix("output") or 0)


def parse(text: str) -> tuple[str, ...]:
    """The semantics in a list with commas, without repetitions."""
    semantics = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for semantic in semantics:
        offset(semantic)
    return semantics
