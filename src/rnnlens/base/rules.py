"""What Python and the page's JavaScript must have in common, written once in rules.json.

Limits, patterns, and the words of refusals that both give. `scripts/page_types.py` writes the
page's module base/rules.js from the same file.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

_SLOT = re.compile(r"\{(\w+)\}")


@cache
def rules() -> dict[str, dict[str, Any]]:
    """All of them, by section and name."""
    text = (files("rnnlens.base") / "rules.json").read_text(encoding="utf-8")
    sections: dict[str, dict[str, Any]] = json.loads(text)
    return sections


def count(name: str) -> int:
    """How many there may be of something, or how many digits or characters it has."""
    return int(rules()["counts"][name])


def number(name: str) -> float:
    """A threshold, a share or a cost."""
    return float(rules()["numbers"][name])


def text(name: str) -> str:
    """A name or a mark."""
    return str(rules()["texts"][name])


def texts(name: str) -> tuple[str, ...]:
    """Several names, in their order."""
    return tuple(rules()["lists"][name])


def steps(name: str) -> tuple[int, ...]:
    """Several whole numbers, in their order."""
    return tuple(rules()["lists"][name])


def signs() -> dict[str, str]:
    """What punctuation and other signs are called where they are labels: comma for `,`."""
    return rules()["signs"]


def colour(name: str) -> str:
    """A colour that is drawn with on the page and in figures, such as #1b1b1f."""
    return str(rules()["colours"][name])


def pattern(name: str) -> re.Pattern[str]:
    r"""A pattern, whose dot matches every character and whose \d any digit."""
    return re.compile(rules()["patterns"][name], re.DOTALL)


def message(name: str, /, **values: object) -> str:
    """What is wrong, in one line; each {slot} of it has one of the values."""
    template: str = (rules()["messages"] | rules()["notices"])[name]
    return _SLOT.sub(lambda slot: str(values[slot[1]]), template)
