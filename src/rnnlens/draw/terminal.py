"""The grid in a terminal: words down, kinds across, each state a coloured block and its labels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, product
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.cells import Cell, brief, cell_at, cells_key, is_told
from rnnlens.draw.columns import chosen_columns, last_layer
from rnnlens.draw.followed import FollowedScale
from rnnlens.draw.look import (
    OUTSIDE,
    SILENT,
    TWO_LEAD,
    Grid,
    Look,
    asked_for,
    bits_at,
    bracketed,
    chosen_rows,
    has_outside,
    has_rivals,
    has_silent,
    joins,
    paleness,
    partings,
    sections,
)
from rnnlens.draw.pen import mixed
from rnnlens.draw.printable import (
    bar,
    bar_length,
    clip,
    name_of,
    padded,
    percent,
    printable,
    tail,
    width_of,
)

NARROWEST = 20  # columns a terminal must have
PLAIN, INDEXED, TRUE = 0, 256, 1 << 24  # how many colours a terminal can show

_RESET = "\x1b[0m"
_SHADES = "░▒▓█"
_NUMBERED = "#77777f"  # of the rectangle of a number
_NO_COLOUR = 0.005  # a share that is none
_LEVELS = " ▁▂▃▄▅▆▇█"
_FORMS = ((12, 4), (12, 0), (7, 0))  # widths of a label and its bar, the best first
_VOID, _OUTSIDE, _SILENT = "nothing read", "outside", "says nothing"
_WIDEST_WORD = 18  # columns
_CUBE = (0, 95, 135, 175, 215, 255)  # levels of a channel among the 256 colours
_ATTENDED = 3  # words of a source that a line names
_BLOCK, _ALONE = 2, 3  # width of a rectangle beside labels, and on its own


@dataclass(frozen=True)
class _Cells:
    """How states are drawn: as rectangles alone where `lines` is 0."""

    colours: int
    lines: int = 0  # labels of a state, one below the other
    label: int = 0
    bar: int = 0
    names: bool = False  # of the columns, below their symbols

    @property
    def width(self) -> int:
        if not self.lines:
            return _ALONE
        return _BLOCK + 1 + self.label + (self.bar and self.bar + 1)

    def ink(self, text: str, colour: str) -> str:
        """Text in a colour, where the terminal has any."""
        return f"\x1b[38;{_code(colour, self.colours)}m{text}{_RESET}" if self.colours else text

    def paper(self, text: str, colour: str) -> str:
        """Text on a colour."""
        return f"\x1b[48;{_code(colour, self.colours)}m{text}{_RESET}"


def draw(
    grid: Grid,
    look: Look,
    *,
    width: int,
    colours: int = PLAIN,
    followed: Grid | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The grid in at most `width` columns; without a density, labels are drawn where they fit.

    Labels that are followed take the place of the most probable ones. `notes` stand below the
    title.
    """
    screen = _Screen(*chosen_rows(grid, look.rows, followed), look, width, colours)
    return "\n".join(line.rstrip() for line in screen.lines(notes)) + "\n"


class _Screen:
    """Where everything stands: panels of columns, one below the other."""

    def __init__(
        self, grid: Grid, followed: Grid | None, look: Look, width: int, colours: int
    ) -> None:
        self.grid, self.width = bracketed(grid), width
        self.columns = chosen_columns(grid["columns"], look.kinds)
        self.sections = sections(grid, self.columns)
        self.letters = _letters(grid["groups"])
        self.scale = FollowedScale.of(followed, self.columns) if followed else None
        longest = max((width_of(printable(_shown(word))) for word in self.grid["words"]), default=1)
        every = [one if len(one) == 1 else (*one, "") for one in joins(grid)]  # a gap behind two
        self.joins = every if any(map(any, every)) else [("",)] * len(every)
        self.behind = 1 + max(map(len, self.joins), default=1)  # its group's mark, and brackets
        self.margin = min(longest, _WIDEST_WORD, width // 4) + self.behind
        self.room = width - self.margin
        look = replace(look, bars=1, density="bars") if self.scale else look
        self.cells = self._fitting(look, colours)

    def _fitting(self, look: Look, colours: int) -> _Cells:
        """The most that fits: labels with bars, labels, fewer letters, at last rectangles alone."""
        alone, bars = _Cells(colours), look.bars or 1
        if look.compact:
            return alone
        states = (row[k] for row in self.grid["rows"] for k in self.columns)
        labels = [label for state in states if state for label, _ in state["top"][:bars]]
        told = (one for row in self.grid.get("cells", {}).get("rows", ()) for one in row if one)
        labels += [label for one in told for label, _ in one.get("top", ())[:bars]]
        longest = max((width_of(self._called(label, colours)) for label in labels), default=1)
        forms = [
            _Cells(colours, bars, min(label, max(longest, 7)), bar, not look.symbols)
            for label, bar in _FORMS
        ]
        side_by_side = [max((columns for _, columns in self.sections), key=len)]
        if look.density == "bars":  # else in panels: of whole layers, or of what fits
            side_by_side += [max(self._layers(self.columns), key=len), self.columns[:1]]
        for widest in side_by_side:
            for cells in forms:
                if self._extent(widest, cells) <= self.room:
                    return cells
        return forms[-1] if look.density == "bars" else alone

    def lines(self, notes: Sequence[str]) -> list[str]:
        """The whole drawing."""
        title = f"{self.grid['title']} · what each state says of {asked_for(self.grid)}"
        above = [title, *notes, *([self.scale.title] if self.scale else [])]
        lines = [*(clip(line, self.width) for line in above), ""]
        several = self.cells.lines > 1
        for rows, panel in self._panels():
            lines += self._headings(panel)
            for row in rows:
                word = self.grid["words"][row]
                on = "".join("│" if part in ("first", "inner") else " " for part in self.joins[row])
                below = " " * (self.margin - len(on)) + on
                heads = [self._word(word, row), *[below] * (self.cells.lines - 1)]
                for line, head in enumerate(heads):
                    states = [self._block(row, k) + self._beside(row, k, line) for k in panel]
                    lines.append(head + self._joined(panel, states))
                lines += [below.rstrip()] if several else []
            lines += [] if several else [""]
        return lines + self._legend()

    def _layer(self, column: int) -> int:
        return int(self.grid["columns"][column]["layer"])

    def _layers(self, columns: Sequence[int]) -> list[list[int]]:
        return [list(group) for _, group in groupby(columns, self._layer)]

    def _extent(self, columns: Sequence[int], cells: _Cells) -> int:
        """Columns of the terminal that columns of the grid take; a gap more between layers."""
        layers = len({self._layer(k) for k in columns})
        return len(columns) * (cells.width + 1) + max(0, layers - 1) - 1

    def _panels(self) -> Iterator[tuple[list[int], list[int]]]:
        """Rows, and columns that stand side by side in them."""
        for rows, columns in self.sections:
            yield from ((rows, panel) for panel in self._side_by_side(columns))

    def _side_by_side(self, columns: Sequence[int]) -> list[list[int]]:
        """Whole layers where they fit."""
        panels: list[list[int]] = []
        for layer in self._layers(columns):
            if panels and self._extent([*panels[-1], *layer], self.cells) <= self.room:
                panels[-1] += layer
                continue
            fits = max(1, (self.room + 1) // (self.cells.width + 1))
            panels += [layer[k : k + fits] for k in range(0, len(layer), fits)]
        return panels

    def _joined(self, panel: Sequence[int], states: Iterable[str]) -> str:
        line, before = "", None
        for k, state in zip(panel, states, strict=True):
            layer = self._layer(k)
            line += ("" if before is None else " " if layer == before else "  ") + state
            before = layer
        return line

    def _headings(self, panel: Sequence[int]) -> list[str]:
        """Layers, the symbols of their kinds and, where there is room, the names."""
        cells, described = self.cells, [self.grid["columns"][k] for k in panel]
        layers, last = "", last_layer(self.grid["columns"])
        for group in self._layers(panel):
            layer, extent = self._layer(group[0]), self._extent(group, cells)
            name = "" if layer == 0 else "model" if layer == last else f"layer {layer}"
            if len(name) > extent:
                name = "" if layer == last else str(layer)
            layers += padded(name, extent) + "  "
        symbols = [padded(_symbol(column, cells), cells.width) for column in described]
        lines = [layers, self._joined(panel, symbols)]
        if cells.names:
            names = [padded(self._heading(column), cells.width) for column in described]
            named = self._joined(panel, names)
            lines.append(f"\x1b[2m{named}{_RESET}" if cells.colours else named)  # faint
        return [" " * self.margin + line for line in lines]

    def _heading(self, column: Mapping[str, Any]) -> str:
        """A kind's name, or what its cells show in the place of what its probe says."""
        if is_told(self.grid, column):
            return clip(str(self.grid["cells"]["name"]), self.cells.width)
        return _name(column, self.cells.width)

    def _word(self, word: Mapping[str, Any], row: int) -> str:
        room = self.margin - self.behind
        shown, group = clip(_shown(word), room), word["group"]
        inked = group is not None and self.cells.colours
        mark = self.cells.ink("▌", self.grid["groups"][group]) if inked else " "
        brackets = "".join(_PIECES.get(part, " ") for part in self.joins[row])
        return " " * (room - width_of(shown)) + shown + mark + brackets

    def _block(self, row: int, column: int) -> str:
        """The rectangle of a state; without colours a letter and a shade."""
        state, wide = self.grid["rows"][row][column], _BLOCK if self.cells.lines else _ALONE
        if state is None:  # of a pair, one step back of its first word
            return " " * wide
        if (cell := self._told(row, column)) and not state["unread"]:
            return self._told_block(cell, wide)
        silent = self.grid["columns"][column].get("silent")
        if state["unread"] or state.get("outside") or silent:
            return ("╱" if state["unread"] else "╳" if state.get("outside") else "╲") * wide
        rival = state.get("rival")
        if self.cells.colours:
            block = self.cells.paper(" " * (wide - bool(rival)), state["colour"])
            shown = mixed(self.grid["groups"][rival], state["share"]) if rival else ""
            return block + (self.cells.paper(" ", shown) if rival else "")
        if state["share"] < _NO_COLOUR:
            return " " * wide
        shade = _shade(state["share"])
        close = self.letters[rival] if rival else ""
        return self.letters[state["group"]] + shade * (wide - 1 - len(close)) + close

    def _told_block(self, cell: Cell, wide: int) -> str:
        """The rectangle of a memory that shows a number, or what it would answer."""
        top = cell.get("top")
        part = top[0][1] if top else cell["share"]
        group = self.grid["labels"][top[0][0]] if top else ""
        if self.cells.colours:
            full = self.grid["groups"][group] if top else _NUMBERED
            return self.cells.paper(" " * wide, mixed(full, part))
        return (self.letters[group] if top else "") + _shade(part) * (wide - bool(top))

    def _beside(self, row: int, column: int, line: int) -> str:
        """What stands beside a rectangle: what is followed, or one of the most probable labels."""
        cells, state = self.cells, self.grid["rows"][row][column]
        if not cells.lines or state is None:
            return " " * (cells.width - _BLOCK) if cells.lines else ""
        silent = self.grid["columns"][column].get("silent")
        cell = None if state["unread"] else self._told(row, column)
        if cell and "number" in cell:
            drawn = f" {bar(cell['share'], cells.bar)}" if cells.bar else ""
            number = brief(cell["number"])
            return f" {padded(number, cells.label)}{drawn}" if not line else " " * len(
                f" {padded('', cells.label)}{drawn}")  # fmt: skip
        if state["unread"] or ((state.get("outside") or silent) and not (self.scale or cell)):
            told = _VOID if state["unread"] else _OUTSIDE if state.get("outside") else _SILENT
            void = told if state["top"] and not line else ""
            return f" {padded(void, cells.label + (cells.bar and cells.bar + 1))}"
        if self.scale:
            value = self.scale.values[row][column]
            number, part, colour = self.scale.typed(value)
            drawn = f" {cells.ink(bar(part, cells.bar), colour)}" if cells.bar else ""
            return f" {number.rjust(cells.label)}{drawn}"
        top = cell["top"] if cell else state["top"]
        label, probability = top[line] if line < len(top) else ("", 0.0)
        drawn = ""
        if cells.bar:
            drawn, group = bar(bar_length(probability), cells.bar), self.grid["labels"].get(label)
            drawn = " " + (cells.ink(drawn, self.grid["groups"][group]) if group else drawn)
        said = padded(self._called(label, cells.colours), cells.label)
        if cells.colours and name_of(label, self.grid):
            said = f"\x1b[2m{said}{_RESET}"  # faint
        return f"{self._apart(row, column, line)}{said}{drawn}"

    def _told(self, row: int, column: int) -> Cell | None:
        """What a memory's cell shows in the place of what its probe says."""
        return None if self.scale else cell_at(self.grid, row, column)

    def _called(self, label: str, colours: int) -> str:
        """A label, or its name set apart from words: by faint letters, else by brackets."""
        name = name_of(label, self.grid)
        return printable(label) if name is None else name if colours else f"‹{name}›"

    def _apart(self, row: int, column: int, line: int) -> str:
        """How far a state of the second of two readings lies from the first's: a column of 1 bit
        that is as high as the lines of labels are.
        """
        lines = self.cells.lines
        filled = bits_at(self.grid, row, column) * lines - (lines - 1 - line)
        return _LEVELS[round(min(1, max(0, filled)) * 8)]

    def _legend(self) -> list[str]:
        """Groups and signs, as many to a line as fit."""
        lines, used = [""], 0
        for sign, text in self._legend_entries():
            marked = 0 if not sign else 3 if self.cells.colours and sign not in "?▄╳" else 2
            shown = clip(text, self.width - marked)
            size = marked + width_of(shown)
            if used and used + 2 + size > self.width:
                lines, used = [*lines, ""], 0
            lines[-1] += ("  " if used else "") + (f"{sign} " if sign else "") + shown
            used += size + (2 if used else 0)
        return lines

    def _legend_entries(self) -> Iterator[tuple[str, str]]:
        """Each sign with what it means."""
        coloured = bool(self.cells.colours)
        for group, colour in self.grid["groups"].items():
            sign = self.cells.paper("  ", colour) if coloured else self.letters[group]
            yield sign, group.lower()
        yield "", f"faded = {paleness(self.grid)}" if coloured else "░▒▓█ = ever more decided"
        if self.cells.bar and not self.scale:
            yield "", "bar = √probability"
        if told := cells_key(self.grid, not self.cells.lines):
            yield "", told
        if has_outside(self.grid):
            yield "╳", OUTSIDE
        if has_rivals(self.grid):
            yield "", f"two {'colours' if coloured else 'letters'} = {TWO_LEAD}"
        if has_silent(self.grid):
            yield "╲", SILENT
        if any(word["unknown"] for word in self.grid["words"]):
            yield "?", "unknown word"
        if self.grid.get("lines") and self.cells.lines:
            yield "▄", "bits from the line above, █ is 1"


def _shade(share: float) -> str:
    return _SHADES[min(int(share * len(_SHADES)), len(_SHADES) - 1)]


def parted_lines(grid: Grid) -> list[str]:
    """Where two texts part, how probable the model finds the next word of each."""
    sides = {"both": "", "first": " in the first text", "second": " in the second text"}
    return [
        f"after {printable(grid['words'][row]['text'])}{sides[grid['lines'][row]['side']]}: "
        + ", ".join(f"{printable(word)} {'unknown' if p is None else percent(p)}"
                    for word, p in words)
        for row, words in partings(grid)
    ]  # fmt: skip


# What joins the pieces of one word, beside them.
_PIECES = {"first": "┐", "inner": "│", "last": "┘"}


def attention_lines(grid: Grid, head: int = 0) -> list[str]:
    """Where a decoder has attention: how much of it each word of the target has for words of the
    source, the largest first; of several heads, that of one, or their mean.
    """
    pairs = grid.get("pairs") or []
    if len(pairs) != 1 or not pairs[0]["attention"] or grid.get("count"):
        return []
    pair, words = pairs[0], [printable(word["text"]) for word in grid["words"]]
    heads = pair.get("heads") or []
    if head > max(1, len(heads)):
        raise RnnlensError(
            f"head {head}: the attention has {max(1, len(heads))}; give 1 to "
            f"{max(1, len(heads))}, or 0 for their mean"
        )
    which = f", head {head} of {len(heads)}" if head else f", the mean of {len(heads)} heads"
    name = f"{pair['attention']}{which if heads else ''}"
    lines = [f"attention ({name}) over {pair['source']} words of the source, no cause"]
    drawn = heads[head - 1] if heads and head else pair["links"]
    for row, links in enumerate(drawn, pair["source"]):
        said = ", ".join(f"{words[at]} {percent(weight)}" for at, weight in links[:_ATTENDED])
        lines.append(f"after {words[row]}: {said}")
    return lines


def changed_lines(grid: Grid) -> list[str]:
    """What the prediction was and is after each word, and how far apart these are; of two that are
    compared, the edits alone, as their lines tell how far apart they are.
    """
    if not grid["edits"]:
        return []
    edited = f"edited: {', '.join(map(printable, grid['edits']))}"
    if grid["sides"]:
        return [edited]
    margin = min(_WIDEST_WORD, max(width_of(printable(word["text"])) for word in grid["words"]))
    lines = [edited, "the prediction before, and now: bits between them"]
    for word, states, changes in zip(grid["words"], grid["rows"], grid["changes"], strict=True):
        if states[-1] is None:  # a word of a source
            continue
        change, (label, now) = changes[-1], states[-1]["top"][0]
        shown = clip(printable(word["text"]), margin)
        was = f"{printable(change['before'][0])} {percent(change['before'][1])}"
        line = " " * (margin - width_of(shown)) + f"{shown}  {change['bits']:.3f}  {was}"
        lines.append(f"{line} → {printable(label)} {percent(now)}" if change["bits"] else line)
    return lines


def _shown(word: Mapping[str, Any]) -> str:
    return f"{word['text']}?" if word["unknown"] else str(word["text"])


def _name(column: Mapping[str, Any], width: int) -> str:
    """As much of a kind's name as fits: long-term for long-term memory, …layers.0 of a path."""
    if not column["letter"]:
        return tail(printable(column["name"]), lambda end: width_of(end) <= width)
    words = str(column["name"]).split()
    while len(words) > 1 and width_of(" ".join(words)) > width:
        words.pop()
    return " ".join(words)


def _symbol(column: Mapping[str, Any], cells: _Cells) -> str:
    """A kind's symbol; a submodule's output has none but its name, which is told once."""
    if not column["letter"]:
        return "" if cells.names else _name(column, cells.width)
    return f"{column['symbol']}₋₁" if column["back"] else str(column["symbol"])


def _letters(groups: Iterable[str]) -> dict[str, str]:
    """A letter for each group, its own where it can be, for terminals without colour."""
    letters: dict[str, str] = {}
    for group in groups:
        own = f"{group.upper()}ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        free = (c for c in own if c.isascii() and c.isalnum() and c not in letters.values())
        letters[group] = next(free, "?")
    return letters


def _code(colour: str, colours: int) -> str:
    """A colour #rrggbb as the terminal takes it: as it is, or the nearest of the 256."""
    r, g, b = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"2;{r};{g};{b}" if colours == TRUE else f"5;{16 + _nearest(r, g, b)}"


@cache
def _nearest(r: int, g: int, b: int) -> int:
    """Of the 6 x 6 x 6 colours the one most alike, in hue above all: a fading group keeps it."""

    def apart(levels: tuple[int, ...]) -> float:
        dr, dg, db = levels[0] - r, levels[1] - g, levels[2] - b
        return (dr - dg) ** 2 + ((dr + dg) / 2 - db) ** 2 + (dr + dg + db) ** 2 / 6

    return min(enumerate(product(_CUBE, repeat=3)), key=lambda pair: apart(pair[1]))[0]
