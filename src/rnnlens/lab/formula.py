"""Predictions about surprisals, as SyntaxGym writes them: `[(6;%match%) < (6;%mismatch%)] & ...`.

`(6;%match%)` is the surprisal of region 6 of the sentence of the condition *match*, and
`(*;%match%)` that of the whole sentence. Formulas come from files of strangers: they are parsed
here, by hand, and are of numbers, sums and comparisons alone.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rnnlens.base.errors import RnnlensError

WHOLE = 0  # the number of the region that is the whole sentence
LONGEST, DEEPEST = 10_000, 40  # characters of a formula, and brackets within brackets
EQUAL = 1e-5  # bits by which two surprisals that are called equal may differ
_TOKEN = re.compile(
    r"\s*(?:\(\s*(?P<region>\*|\d{1,6})\s*;\s*%(?P<condition>[^%]{1,200})%\s*\)"
    r"|(?P<number>\d{1,15}(?:\.\d{1,15})?)|(?P<sign>[-+*/<>=&|()\[\]]))"
)
_ENDS = {"[": "]", "(": ")"}
_LEVELS: tuple[tuple[str, ...], ...] = (("|",), ("&",), ("<", ">", "="), ("+", "-"), ("*", "/"))
_TRUTHS, _COMPARES = ("|", "&"), ("<", ">", "=")

Surprisal = Callable[[int, str], float]  # of a region of a condition, in bits
# A number, a region of a condition, or a sign with what stands on both sides of it.
_Node = float | tuple[int, str] | tuple[str, Any, Any]


@dataclass(frozen=True)
class Formula:
    """A prediction, which holds of an item or does not."""

    text: str
    _node: Any = field(repr=False, compare=False)

    @property
    def regions(self) -> frozenset[tuple[int, str]]:
        """The regions of conditions whose surprisals it is about."""
        return frozenset(node for node in _within(self._node) if _is_region(node))

    @property
    def comparisons(self) -> tuple[tuple[int, str, int, str], ...]:
        """Its parts that compare one region with one other: the region and condition that is to
        surprise less, then those that are to surprise more.
        """
        found = []
        for node in _within(self._node):
            if isinstance(node, tuple) and len(node) == 3 and node[0] in ("<", ">"):
                less, more = node[1:] if node[0] == "<" else node[:0:-1]
                if _is_region(less) and _is_region(more):
                    found.append((*less, *more))
        return tuple(found)

    def holds(self, surprisal: Surprisal) -> bool:
        """Whether it holds, where regions surprise so much."""
        return bool(_value(self._node, surprisal))


def parsed_formula(text: str) -> Formula:
    """A formula, or an error that says what is wrong with it."""
    if len(text) > LONGEST:
        raise _wrong(text, f"it has {len(text):,} characters, and {LONGEST:,} are the most")
    parser = _Parser(text)
    node = parser.level(0)
    if parser.sign:
        raise _wrong(text, f"{parser.sign!r} is left over")
    if not _is_truth(node):
        raise _wrong(text, "it compares nothing")
    return Formula(text.strip(), node)


def _wrong(text: str, why: str) -> RnnlensError:
    short = text.strip()[:60]
    return RnnlensError(
        f"the formula {short!r} does not parse: {why}; write it like (6;%match%) < (6;%mismatch%)"
    )


class _Parser:
    """One token ahead."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.sign = ""  # the next sign; empty: the next is none, or the end
        self.leaf: float | tuple[int, str] | None = None  # the next number or region
        self.next()

    def next(self) -> None:
        """Go one token on."""
        self.sign, self.leaf = "", None
        if not self.text[self.at :].strip():
            self.at = len(self.text)
            return
        if (found := _TOKEN.match(self.text, self.at)) is None:
            raise _wrong(self.text, f"{self.text[self.at :].strip()[:20]!r} is nothing it can have")
        self.at = found.end()
        if found["sign"]:
            self.sign = found["sign"]
        elif found["number"]:
            self.leaf = float(found["number"])
        else:
            number = WHOLE if found["region"] == "*" else int(found["region"])
            self.leaf = (number, found["condition"])

    def level(self, at: int) -> _Node:
        """What signs of this level and of those that bind more join."""
        if at == len(_LEVELS):
            return self.atom()
        node = self.level(at + 1)
        while self.sign in _LEVELS[at]:
            sign = self.sign
            self.next()
            other = self.level(at + 1)
            for side in (node, other):
                if _is_truth(side) != (sign in _TRUTHS):
                    what = (
                        "joins no comparisons" if sign in _TRUTHS else "stands between no numbers"
                    )
                    raise _wrong(self.text, f"{sign!r} {what}")
            node = (sign, node, other)
        return node

    def atom(self) -> _Node:
        """A number, a region, or what stands in brackets."""
        if self.leaf is not None:
            leaf = self.leaf
            self.next()
            return leaf
        begin = self.sign
        if begin not in ("[", "(", "-"):
            raise _wrong(self.text, f"{begin!r} stands where a number should" if begin else
                         "it ends too early")  # fmt: skip
        self.depth += 1
        if self.depth > DEEPEST:
            raise _wrong(self.text, f"it has more than {DEEPEST} brackets within brackets")
        self.next()
        if begin == "-":
            node = self.atom()
            if _is_truth(node):
                raise _wrong(self.text, "'-' stands before no number")
            self.depth -= 1
            return ("-", 0.0, node)
        node = self.level(0)
        if self.sign != _ENDS[begin]:
            raise _wrong(self.text, f"{_ENDS[begin]!r} is missing")
        self.depth -= 1
        self.next()
        return node


def _is_region(node: Any) -> bool:
    return isinstance(node, tuple) and len(node) == 2


def _is_truth(node: Any) -> bool:
    return isinstance(node, tuple) and len(node) == 3 and node[0] in (*_TRUTHS, *_COMPARES)


def _within(node: Any) -> Iterator[Any]:
    """A node and all that are in it; chains are long, so that nothing calls itself here."""
    ahead = [node]
    while ahead:
        one = ahead.pop()
        yield one
        if isinstance(one, tuple) and len(one) == 3:
            ahead += one[:0:-1]


def _value(node: Any, surprisal: Surprisal) -> float:
    """What a node comes to; truths are 1 and 0."""
    done: list[float] = []
    order = list(_within(node))  # each before those in it: backwards, each after them
    for one in reversed(order):
        if not isinstance(one, tuple):
            done.append(one)
        elif len(one) == 2:
            done.append(surprisal(*one))
        else:
            done.append(_joined(one[0], done.pop(), done.pop()))
    return done[0]


def _joined(sign: str, a: float, b: float) -> float:
    match sign:
        case "|" | "&":
            return float(bool(a) or bool(b)) if sign == "|" else float(bool(a) and bool(b))
        case "<" | ">":
            return float(a < b if sign == "<" else a > b)
        case "=":
            return float(abs(a - b) <= EQUAL)
        case "+" | "-":
            return a + b if sign == "+" else a - b
        case "*":
            return a * b
        case _:
            return a / b if b else float("nan")
