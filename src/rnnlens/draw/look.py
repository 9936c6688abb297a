"""How a grid is to look, and the part of it that is drawn: its columns, rows and pinned states."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.cells import NUMBERS
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.semantics import base, shift

MOST_BARS = 20
_WIDTHS = (1.0, 100.0)  # inches
_SPAN = re.compile(r"(\d{1,6})(-(\d{1,6})?)?")
_BRACKETS = {"both": "", "first": "┌ ", "second": "└ "}
_GAP = "–"

Grid = Mapping[str, Any]  # a grid as JSON has it, or what is followed through one


@dataclass(frozen=True)
class Look:
    """How a grid is to look."""

    #: Ids of columns, "layer2" for a whole layer, "h" for the h of every layer, "all", "outputs" or
    #: "default": all but gates and candidates, and of many columns the outputs; None: default.
    kinds: str | Sequence[str] | None = None
    rows: str = ""  #: Such as "7-8" or "2,5-": by the numbers that are drawn; all without it.
    bars: int | None = None  #: Labels of each state; None: 3, in a terminal 1.
    #: "bars" or "compact", rectangles only; None: bars, in a terminal where they fit.
    density: str | None = None
    symbols: bool = False  #: Head columns with symbols only.
    head: int = 0  #: Of a pair whose attention has several heads, which is told; 0: their mean.
    pins: str | Sequence[str] = ""  #: States to ring in a figure, such as "l2:8,h2:8".
    key: bool = True  #: Below a figure: what colours and marks mean.
    #: What cells of memories that are matrices show in the place of what the probe says: "norm",
    #: "rank" or "half_life".
    memories: str | None = None
    asked: str | None = None  #: Or what they would answer if this word came next.
    title: str = ""  #: Above a figure.
    width: float | None = None  #: Of a figure, in inches.

    @property
    def compact(self) -> bool:
        """Whether states are rectangles only."""
        return self.density == "compact"

    def check(self, most_bars: int = MOST_BARS) -> None:
        """Refuse numbers and names that mean nothing."""
        if self.bars is not None and not 1 <= self.bars <= most_bars:
            raise RnnlensError(f"{self.bars} bars: give a number from 1 to {most_bars}")
        if self.density not in (None, "bars", "compact"):
            raise RnnlensError(f"no density is called {self.density!r}; give bars or compact")
        if self.memories is not None and self.memories not in NUMBERS:
            raise RnnlensError(
                f"memories {self.memories!r}: give {', '.join(NUMBERS)}, or leave it out for what "
                "the probe says"
            )
        if self.memories and self.asked:
            raise RnnlensError(
                f"cells of memories show {self.memories} or what {self.asked!r} is answered; give "
                "memories or asked"
            )
        if self.head < 0:
            raise RnnlensError(f"head {self.head}: give the number of a head, or 0 for their mean")

    def check_width(self) -> None:
        """Refuse a width that no figure can have."""
        if self.width is not None and not _WIDTHS[0] <= self.width <= _WIDTHS[1]:
            raise RnnlensError(
                f"a width of {self.width:g}: give {_WIDTHS[0]:g} to {_WIDTHS[1]:g} inches"
            )


def changed_look(look: Look | None, changes: Mapping[str, Any]) -> Look:
    """A look with some of its fields changed, checked."""
    known = [one.name for one in fields(Look)]
    for name in changes:
        if name not in known:
            raise RnnlensError(f"a look has no field {name!r}; it has {', '.join(known)}")
    new = replace(look or Look(), **changes)
    new.check()
    return new


def chosen_rows(grid: Grid, rows: str, followed: Grid | None = None) -> tuple[Grid, Grid | None]:
    """A grid with some of its rows, and what is followed in them; others may be missing in both."""
    if not rows:
        return grid, followed
    numbers = row_numbers(rows, len(grid["words"]))

    def chosen(part: Mapping[str, Any], name: str = "rows") -> list[Any]:
        return [part[name][row - part.get("from", 0)] for row in numbers]

    words = [{"number": row + 1, **grid["words"][row]} for row in numbers]
    if followed:
        followed = {**followed, "rows": chosen(followed)}
    changes = chosen(grid, "changes") if grid.get("changes") else []
    lines = [grid["lines"][row] for row in numbers] if grid.get("lines") else []
    then = chosen(grid, "then") if grid.get("then") else []
    part = {"words": words, "count": len(grid["words"]), "lines": lines, "changes": changes,
            "then": then}  # fmt: skip
    if cells := grid.get("cells"):
        part["cells"] = {**cells, "rows": chosen({**cells, "from": grid.get("from", 0)})}
    return {**grid, **part, "rows": chosen(grid)}, followed


def row_numbers(rows: str, count: int) -> list[int]:
    """Rows from 0, of numbers and spans such as 2,5-7 that count from 1."""
    numbers: set[int] = set()
    for part in rows.split(","):
        span = _SPAN.fullmatch(part.strip())
        first = int(span[1]) if span else 0
        last = first if span and not span[2] else int(span[3] or count) if span else 0
        if not 1 <= first <= last <= count:
            raise RnnlensError(
                f"rows {rows!r}: give numbers from 1 to {count}, such as "
                f"{max(1, count - 1)}-{count}, comma between"
            )
        numbers |= set(range(first - 1, last))
    return sorted(numbers)


def pinned_states(grid: Grid, pins: str | Sequence[str]) -> Iterator[tuple[int, int]]:
    """The row and column of each state that is named as `l2:8`, by its kind and row's number."""
    columns = {column["id"]: k for k, column in enumerate(grid["columns"])}
    rows = {word.get("number", k + 1): k for k, word in enumerate(grid["words"])}
    count = grid.get("count", len(rows))  # of the whole text, where some rows are drawn
    for pin in pins.split(",") if isinstance(pins, str) else pins:
        kind, _, number = pin.strip().rpartition(":")
        if not pin.strip():
            continue
        if kind not in columns or not number.isascii() or not number.isdecimal():
            raise RnnlensError(
                f"pin {pin.strip()!r}: give a kind of {', '.join(columns)} and the number of a "
                f"row, such as {next(reversed(columns))}:1"
            )
        if not 1 <= int(number) <= count:
            raise RnnlensError(f"pin {pin.strip()!r}: the text has {count} rows, from 1")
        if int(number) in rows:  # others are of rows that are not drawn
            yield rows[int(number)], columns[kind]


def bracketed(grid: Grid) -> Grid:
    """A grid of two readings whose words show which lines stand side by side, and have the numbers
    that they have in their texts.
    """
    if not grid.get("lines"):
        return grid
    words = [
        {
            **word,
            "text": _BRACKETS[line["side"]] + (_GAP if line["row"] is None else word["text"]),
            "number": "" if line["row"] is None else line["row"] + 1,
        }
        for word, line in zip(grid["words"], grid["lines"], strict=True)
    ]
    return {**grid, "words": words}


_OPEN, _CLOSED = ("first", "inner"), ("inner", "last")  # pieces that go on below, and from above


def joins(grid: Grid) -> list[tuple[str, ...]]:
    """Of each row the part that it has of the brackets that join the pieces of one word: first,
    inner, last, or nothing. Of two texts there are two, as the pieces of a word of the one may have
    rows of the other between them, past which its bracket goes.
    """
    words, lines = grid["words"], grid.get("lines")
    pieces = ["" if word.get("piece") == "mark" else word.get("piece", "") for word in words]
    if not lines:
        return [(piece,) for piece in pieces]
    sides = []
    for side in ("first", "second"):
        own = [k for k, line in enumerate(lines)
               if line["row"] is not None and line["side"] in (side, "both")]  # fmt: skip
        parts = [""] * len(lines)
        for k in own:
            parts[k] = pieces[k]
        for above, below in pairwise(own):
            if parts[above] in _OPEN and parts[below] in _CLOSED:
                parts[above + 1 : below] = ["inner"] * (below - above - 1)
        sides.append(parts)
    once = _without_common(sides[1], [line["side"] for line in lines])
    return list(zip(sides[0], once, strict=True))


def _without_common(parts: list[str], sides: list[str]) -> list[str]:
    """The brackets of the second text, but for those of words that are all of them in both."""
    made, word = list(parts), list[int]()
    for k, part in enumerate(parts):
        word = [*([] if part == "first" else word), k] if part else []
        if part == "last" and all(sides[one] == "both" for one in word):
            for one in word:
                made[one] = ""
    return made


def partings(grid: Grid) -> Iterator[tuple[int, list[tuple[str, float | None]]]]:
    """The rows after which two texts part: the next word of each, and how probable the model finds
    it, None where it is unknown.
    """
    own = next((k for k, c in enumerate(grid["columns"]) if c["letter"] == PREDICTION), None)
    for row, (line, pairs) in enumerate(
        zip(grid.get("lines", ()), grid.get("then", ()), strict=False)
    ):
        if pairs and own is not None:
            words = zip(line["then"], pairs[own], strict=True)
            yield row, [(word, p) for word, p in words if word]


def sections(grid: Grid, columns: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The rows and columns that are drawn together: of a pair its source, and below it its target,
    each with the columns that have states there.
    """
    if not grid.get("pairs"):
        return [(list(range(len(grid["words"]))), list(columns))]
    of_source = {column for pair in grid["pairs"] for column in pair["columns"]}
    every = []
    for side in (True, False):
        mine = [k for k in columns if (grid["columns"][k]["id"] in of_source) is side]
        rows = [row for row, states in enumerate(grid["rows"]) if any(states[k] for k in mine)]
        every += [(rows, mine)] if rows else []
    return every


def bits_at(grid: Grid, row: int, column: int) -> float:
    """How far a state lies from the one it is compared with; 0 where there is none."""
    changes = grid["changes"][row] if grid.get("lines") and grid.get("changes") else []
    change = changes[column] if changes else None
    return float(change["bits"]) if change else 0.0


def asked_for(grid: Mapping[str, Any]) -> str:
    """What its states are asked about, in words."""
    semantic, follows = str(grid["semantic"]), bool(grid.get("follows", True))
    own = "number" if grid.get("scale") else "word" if follows else "label"
    name, steps = base(semantic), shift(semantic)
    names = {"output": f"next {own}" if follows else own, "input": "word just read"}
    later = f", {abs(steps)} {'later' if steps > 0 else 'earlier'}" if steps else ""
    source = " of the target; in the source, any of its words" if grid.get("pairs") else ""
    return f"the {names.get(name, name)}{later}{source}"


TWO_LEAD = "two groups within .05"
OUTSIDE = "outside what the probe has seen"  # of states that are unlike those of the fit


SILENT = "says no more than the frequencies of labels"  # of kinds whose probes learnt nothing


def has_silent(grid: Mapping[str, Any]) -> bool:
    """Whether a grid has kinds whose probes tell no more than how frequent labels are."""
    return any(column.get("silent") for column in grid["columns"])


def has_outside(grid: Mapping[str, Any]) -> bool:
    """Whether a grid has states that are unlike those that the probes were fitted on."""
    return any(state and state.get("outside") for row in grid["rows"] for state in row)


def has_rivals(grid: Mapping[str, Any]) -> bool:
    """Whether two groups are close in any state."""
    return any(state and state.get("rival") for row in grid["rows"] for state in row)


def paleness(grid: Mapping[str, Any]) -> str:
    """What a faded rectangle means."""
    if grid.get("scale"):
        return "the state tells less"
    if grid.get("rule") == "excess":
        return "nearer the base rate"
    if grid.get("several"):
        return "less probable"
    return "less sure of its label" if grid.get("alone") else "groups mixed"
