"""The lines of two readings that are drawn side by side."""

from collections.abc import Mapping
from typing import Any

_MARKS = {"both": "", "first": "┌ ", "second": "└ "}
_GAP = "–"


def bracketed(grid: Mapping[str, Any]) -> Mapping[str, Any]:
    """A grid of two readings whose words show which lines stand side by side, and have the numbers
    that they have in their texts.
    """
    if not grid.get("lines"):
        return grid
    words = [
        {
            **word,
            "text": _MARKS[line["side"]] + _text(word, line),
            "number": "" if line["row"] is None else line["row"] + 1,
        }
        for word, line in zip(grid["words"], grid["lines"], strict=True)
    ]
    return {**grid, "words": words}


def _text(word: Mapping[str, Any], line: Mapping[str, Any]) -> str:
    """The word; where only what came next differs, that too."""
    if line["row"] is None:
        return _GAP
    return f"{word['text']}" + (f" →{line['then']}" if line["then"] else "")


def bits_at(grid: Mapping[str, Any], row: int, column: int) -> float:
    """How far a state lies from the one it is compared with; 0 where there is none."""
    changes = grid["changes"][row] if grid.get("lines") and grid.get("changes") else []
    return float(changes[column]["bits"]) if changes else 0.0
