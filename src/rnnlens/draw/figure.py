"""The grid as a figure for print: .svg, .png or .pdf, by matplotlib.

Lengths are points, from the top left. Text in an SVG is drawn as outlines, so that it looks alike
in every viewer and typesetting program; a PDF embeds its fonts and its text can be searched.
"""

import io
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint
from rnnlens.base.rules import colour
from rnnlens.draw.cells import Cell, brief, cell_at, cells_key, is_told
from rnnlens.draw.columns import chosen_columns
from rnnlens.draw.followed import FollowedScale
from rnnlens.draw.look import (
    OUTSIDE,
    SILENT,
    TWO_LEAD,
    Grid,
    Look,
    bits_at,
    bracketed,
    chosen_rows,
    has_outside,
    has_rivals,
    has_silent,
    joins,
    paleness,
    pinned_states,
    sections,
)
from rnnlens.draw.pen import SMALL, Pen, check_matplotlib, fonts, mixed
from rnnlens.draw.printable import bar_length, name_of, printable, short_percent
from rnnlens.draw.terminal import attention_lines, parted_lines
from rnnlens.model.kinds import PREDICTION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")
BARS = 3  # labels of a state, unless a look says otherwise
DOTS = 200  # of a .png, per inch
LARGEST, MOST_DOTS = 190, 120e6  # inches either way, as a PDF may have; dots of a .png

_RC: dict[Any, Any] = {
    "svg.fonttype": "path", "svg.hashsalt": "rnnlens", "pdf.fonttype": 42,
    "mathtext.fontset": "stix", "text.hinting": "none",
}  # fmt: skip
_METADATA: dict[str, dict[str, Any]] = {  # no dates: the same grid gives the same bytes
    ".svg": {"Date": None, "Creator": "rnnlens"},
    ".pdf": {"CreationDate": None, "Creator": "rnnlens", "Producer": "rnnlens"},
    ".png": {"Software": "rnnlens"},
}
_LOCK = Lock()
_INK, _GREY, _RULE, _TRACK = colour("ink"), "#77777f", "#d6d6dc", "#f5f5f4"
_MILD = "#38383f"  # can be read on a bar as well
_EDGE, _GAP = 8.0, 9.0  # margins, between layers
_SIZE, _NUMBER = 8.6, 6.0  # of the words, of their numbers
_LINE, _BASE, _INSET = 9.8, 7.0, 1.8  # a label, its baseline, and from its bar's left to it
_TINT = 0.38  # how strong a bar's colour is behind text, as on the page
_COMPACT, _NARROWEST = 19.0, 170.0  # a column without labels, and a page
_VALUE = 10.0  # the width of a number beside a label
_BLOCK, _LONGEST_WORD, _WIDEST_LABEL, _NARROWEST_LABEL = 9.6, 110.0, 52.0, 26.0
_WIDEST_NUMBER = ">99.9%"
_KEY_LINE, _KEY_SAMPLE = 11.0, 10.0
_FULL_BIN = 0.5  # the probability of a bin that is as tall as can be, as on the page
_LEAST_BIN, _OTHER_BIN = 0.3, "#c9c9c3"


@dataclass(frozen=True)
class Drawing:
    """A figure as a file holds it."""

    data: bytes
    width: float  # inches
    height: float
    type: float  # points of its smallest text


@contextmanager
def _settings() -> Iterator[None]:
    """Ours, whatever the user's own settings say; one thread at a time, since all share them."""
    check_matplotlib()
    import matplotlib as mpl

    with _LOCK, mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


def build(grid: Grid, look: Look, followed: Grid | None = None, ending: str = ".pdf") -> "Figure":
    """The figure, refused where a file of this ending could not hold it."""
    with _settings():
        return _placed(grid, look, followed, ending).figure()


def draw(grid: Grid, look: Look, ending: str, followed: Grid | None = None) -> Drawing:
    """The figure's bytes, and how large it is in print; `followed`: labels that are followed
    through the grid, which take the place of the bars.
    """
    with _settings():
        layout = _placed(grid, look, followed, ending)
        metadata = dict(_METADATA[ending])
        if ending != ".png":
            metadata["Title"] = printable(layout.title or grid["text"])
        file, figure = io.BytesIO(), layout.figure()
        figure.savefig(file, format=ending[1:], dpi=DOTS, metadata=metadata)
        width, height = figure.get_size_inches()
        return Drawing(file.getvalue(), float(width), float(height), _NUMBER * layout.scale)


def check_size(rows: int, columns: int, look: Look, ending: str, *, followed: bool) -> None:
    """Refuse a figure that would be too large for a page however narrow its labels are, before its
    grid is computed.
    """
    cell = _COMPACT if look.compact else _BLOCK + 9 + _NARROWEST_LABEL
    width = max(columns * cell, _NARROWEST)
    scale = look.width * 72 / width if look.width else 1.0
    _check_page(rows, width, _pitch(look, followed), scale, ending)


def _pitch(look: Look, followed: bool) -> float:
    """From row to row."""
    lines = 1 if followed else look.bars or BARS
    return 12.0 if look.compact else max(lines * _LINE, 12) + 6


def _check_page(rows: int, width: float, pitch: float, scale: float, ending: str) -> None:
    wide, high = (length * scale / 72 for length in (width, pitch * rows))
    too_long = max(wide, high) > LARGEST
    if too_long or (ending == ".png" and wide * high * DOTS**2 > MOST_DOTS):
        raise RnnlensError(
            f"{rows} words make a figure of {wide:.0f} by {high:.0f} inches, too large for a "
            f"{ending} file; give fewer, --density compact, or a name ending in "
            f"{'.html' if too_long else '.pdf'}"
        )


def _placed(grid: Grid, look: Look, followed: Grid | None, ending: str) -> "_Layout":
    layout = _Layout(*chosen_rows(grid, look.rows, followed), look)
    layout.check(ending)
    layout.place()
    return layout


class _Layout:
    """Where everything stands."""

    def __init__(self, grid: Grid, followed: Grid | None, look: Look) -> None:
        self.grid, self.look, self.joins = bracketed(grid), look, joins(grid)
        self.columns = chosen_columns(grid["columns"], look.kinds)
        self.pins = frozenset(pinned_states(grid, look.pins))
        self.title = look.title or _edited(grid)
        self.bars, self.compact = look.bars or BARS, look.compact
        self.described = [grid["columns"][k] for k in self.columns]
        self.values = not self.compact  # whether numbers stand beside labels
        self.labels = self._labels()
        self.pen = pen = Pen(fonts(self._characters()))
        grid = self.grid
        self.numbers = 6.0 + pen.width(str(len(grid["words"])))
        words = {(word["text"], word["unknown"]) for word in grid["words"]}
        longest = max(pen.width(self._shown(*word), _SIZE, **_face(word[1])) for word in words)
        self.left = _EDGE + self.numbers + longest + 8
        self.sections = sections(grid, self.columns)
        layers = max(len({self.grid["columns"][k]["layer"] for k in some})
                     for _, some in self.sections)  # fmt: skip
        self.across = max(len(some) for _, some in self.sections)
        self.fixed = self.left + (layers - 1) * _GAP + _EDGE
        self.scale_of = FollowedScale.of(followed, self.columns) if followed else None
        self.pitch = _pitch(look, followed is not None)
        self.cell = self._cell()
        self.width = max(self.fixed + self.cell * self.across, _NARROWEST)
        self.scale = look.width * 72 / self.width if look.width else 1.0
        self.height = 0.0

    def _labels(self) -> set[str]:
        """What every label that will be drawn is called."""
        states = (row[k] for row in self.grid["rows"] for k in self.columns)
        labels = {label for state in states if state for label, _ in state["top"][: self.bars]}
        cells = self.grid.get("cells", {}).get("rows", ())
        told = (one for row in cells for one in row if one)
        labels |= {label for one in told for label, _ in one.get("top", ())[: self.bars]}
        return {name_of(label, self.grid) or label for label in labels}

    def _characters(self) -> set[str]:
        """Every character that will be drawn."""
        words = [word["text"] for word in self.grid["words"]]
        names = [column["name"] + column["symbol"] for column in self.grid["columns"]]
        told = self.grid.get("cells", {}).get("name", "")
        texts = [*words, *names, *self.labels, *self.grid["groups"], self.title, told]
        return set(printable("".join(texts)))

    def figure(self) -> "Figure":
        """Everything that was placed, as matplotlib has it."""
        return self.pen.figure(self.width, self.height, self.scale)

    def _cell(self) -> float:
        """A column's width: what its labels need, or what the width asked for leaves."""
        if self.compact:
            return _COMPACT
        labels = {_WIDEST_NUMBER} if self.scale_of else self.labels
        needed = max(map(self._label_width, labels), default=0)
        beside = _BLOCK + 3 + 6
        label = min(max(needed + 2 * _INSET, _NARROWEST_LABEL), _WIDEST_LABEL)
        if not self.look.width:
            return beside + label + (0 if self.scale_of else _VALUE)
        leaves = (self.look.width * 72 - self.fixed) / self.across - beside
        self.values = leaves >= label + _VALUE
        return beside + max(leaves, _NARROWEST_LABEL)

    def _label_width(self, label: str) -> float:
        checkpoint()
        return self.pen.width(self.pen.shown(label[:40]))

    def check(self, ending: str) -> None:
        """Refuse what is too large for a page, before it is drawn."""
        _check_page(len(self.grid["words"]), self.width, self.pitch, self.scale, ending)

    def place(self) -> None:
        """Put everything on the page, from top to bottom."""
        y = _EDGE
        if self.title:
            size = _SIZE + 1
            title = self.pen.clipped(self.title, self.width - 2 * _EDGE, size, weight="bold")
            self.pen.text(_EDGE, y + size, title, size, weight="bold")
            y += size + 10
        if self.scale_of:
            followed = self.pen.clipped(self.scale_of.title, self.width - 2 * _EDGE)
            self.pen.text(_EDGE, y + SMALL, followed, color=_GREY)
            y += SMALL + 8
        for rows, columns in self.sections:
            self.columns = columns
            self.described = [self.grid["columns"][k] for k in columns]
            y = self._section(y, rows)
        if self.look.key:
            y = self._key(y + 6, _EDGE, self.width - _EDGE)
        self.height = y + _EDGE

    def _section(self, y: float, rows: Iterable[int]) -> float:
        """Some rows, with the columns that have states in them, below their headings."""
        top = y
        y = self._headings(y)
        for row in rows:
            self._word(y, row, self.grid["words"][row])
            for x, k in zip(self._lefts(), self.columns, strict=True):
                checkpoint()
                if state := self.grid["rows"][row][k]:
                    cell = None if self.scale_of else cell_at(self.grid, row, k)
                    if cell and not state["unread"]:
                        self._memory(cell, x, y)
                    else:
                        self._state(x, y, row, k)
                if (row, k) in self.pins:
                    self._ring(x, y)
            y += self.pitch
        pairs = zip(self._lefts(), [None, *self.described], self.described, strict=False)
        for x, last, column in pairs:
            if last and last["layer"] != column["layer"]:
                self.pen.box(x - _GAP / 2 - 1.5, top, 0.01, y - top - 2, _RULE)
        return y

    def _lefts(self) -> Iterable[float]:
        """The left edges of the columns."""
        x, before = self.left, self.described[0]["layer"]
        for column in self.described:
            x += _GAP if column["layer"] != before else 0
            before = column["layer"]
            yield x
            x += self.cell

    def _headings(self, y: float) -> float:
        """Layers, and the symbols or the names of their kinds."""
        last = max(column["layer"] for column in self.grid["columns"])
        placed = list(zip(self._lefts(), self.described, strict=True))
        for layer, group in groupby(placed, lambda pair: int(pair[1]["layer"])):
            members = list(group)
            name = "" if layer == 0 else "model" if layer == last else f"layer {layer}"
            room = members[-1][0] + self.cell - members[0][0] - (0 if layer == last else 3)
            if self.pen.width(name) > room + _EDGE / 2:
                name = "" if layer == last else str(layer)
            self.pen.text(members[0][0], y + SMALL, name, color=_GREY)
        named = not self.look.symbols
        told = [is_told(self.grid, column) for column in self.described]
        upright = self.compact and (named or any(told))
        names = [self._name(column, upright) if named or other else ""
                 for column, other in zip(self.described, told, strict=True)]  # fmt: skip
        tall = max(map(self.pen.width, names)) + 4 if upright else 0.0
        base = y + SMALL + 16 + tall
        for (x, column), name, other in zip(placed, names, told, strict=True):
            colour = _INK if other else _GREY
            if upright:
                self.pen.text(x + 8, base - 14, name, rotation=90, ha="center", va="bottom",
                              color=colour)  # fmt: skip
            elif name:
                self.pen.text(x, base + 9, name, color=colour)
            if named and not column["letter"]:
                continue  # a submodule's output has no symbol but its name
            centre = {"ha": "center"} if self.compact else {}
            symbol = _mathematical(column, not named)
            self.pen.text(x + 8 * self.compact, base, symbol or self._plain(column),
                          11 if symbol else SMALL, parse_math=bool(symbol), **centre)  # fmt: skip
        return base + (15 if (named or any(told)) and not upright else 7)

    def _plain(self, column: Mapping[str, Any]) -> str:
        room = self.cell - (3 if self.compact else 6)
        cut = self.pen.clipped if column["letter"] else self.pen.tail
        return cut(str(column["symbol"]), room)

    def _name(self, column: Mapping[str, Any], whole: bool) -> str:
        """As much of a kind's name as fits its column: long-term for long-term memory."""
        name, room = self.pen.shown(column["name"]), self.cell - 6
        if is_told(self.grid, column):  # which must not be taken for what a probe says
            name = self.pen.shown(self.grid["cells"]["name"])
            return name if whole else self.pen.clipped(name, room)
        if whole:
            return name
        if not column["letter"]:
            return self.pen.tail(name, room)
        words = name.split()
        while len(words) > 1 and self.pen.width(" ".join(words)) > room:
            words.pop()
        return self.pen.clipped(" ".join(words), room)

    def _shown(self, word: str, unknown: bool) -> str:
        return self.pen.clipped(word, _LONGEST_WORD, _SIZE, **_face(unknown))

    def _word(self, y: float, row: int, word: Mapping[str, Any]) -> None:
        """The word read, underlined in its group's colour, where words have one."""
        pen, right = self.pen, self.left - 8
        base = y + (self.pitch - 6 if not self.compact else 10) / 2 + _SIZE * 0.32
        pen.text(_EDGE, base, str(word.get("number", row + 1)), color=_GREY, size=_NUMBER)
        shown, face = self._shown(word["text"], word["unknown"]), _face(word["unknown"])
        pen.text(right, base, shown, _SIZE, ha="right", **face)
        for lane, part in enumerate(self.joins[row]):
            self._bracket(self.left - 5.5 + 2.5 * lane, y, base, part)
        wide, group = pen.width(shown, _SIZE, **face), word["group"]
        if group is not None:
            under = 1.6 if self.compact else 2.6
            pen.box(right - wide, base + under, wide, 1.1, self.grid["groups"][group])

    def _bracket(self, x: float, y: float, base: float, piece: str) -> None:
        """A part of what joins the pieces of one word, from the first to the last."""
        if not piece:
            return
        middle = base - _SIZE * 0.3
        top = middle if piece == "first" else y
        bottom = middle if piece == "last" else y + self.pitch
        self.pen.box(x, top, 0.6, bottom - top, _GREY)
        if piece != "inner":
            self.pen.box(x - 2, middle - 0.3, 2, 0.6, _GREY)

    def _ring(self, x: float, y: float) -> None:
        """Around a whole state."""
        if self.compact:
            self.pen.ring(x - 0.5, y - 0.5, 17.0, 11.0)
        else:
            self.pen.ring(x - 2.2, y - 2.2, self.cell - 1.6, self.pitch - 1.6)

    def _state(self, x: float, y: float, row: int, column: int) -> None:
        """The rectangle, and beside it labels on bars, or what is followed."""
        state, scale = self.grid["rows"][row][column], self.scale_of
        value = scale.values[row][column] if scale else 0.0
        colour = scale.shade(value) if scale and self.compact else state["colour"]
        edge = mixed(colour, 0.82, "#000000")
        wide, high = self._size()
        silent = self.grid["columns"][column].get("silent")
        outside = (state.get("outside") or silent) and not (scale and self.compact)
        if state["unread"] or (outside and not scale):
            self.pen.hatch(x, y, wide, high, _GREY)
            if not self.compact:
                void = "unread" if state["unread"] else "says nothing" if silent else "outside"
                self.pen.text(x + _BLOCK + 4, y + _BASE, void if state["top"] else "", color=_GREY)
            return
        if outside:
            self.pen.hatch(x, y, wide, high, _GREY)
        else:
            self.pen.box(x, y, wide, high, colour, edge)
            if state.get("rival") and not (scale and self.compact):
                side = min(wide, high) / 3
                rival = self.grid["groups"][state["rival"]]
                self.pen.box(x + wide - side, y + high - side, side, side, rival)
        if bits := bits_at(self.grid, row, column):  # from the bottom up: the whole height is 1
            tall = max(0.4, bits * high)
            self.pen.box(x + wide + 0.4, y + high - tall, 1.6, tall, _INK)
        if self.compact:
            return
        left, room = x + _BLOCK + 3, self.cell - _BLOCK - 3 - 6
        if scale:
            scale.write(self.pen, (left, y), room, value)
            return
        if state.get("number"):
            self._bins(state, (left, y), (room, high))
            return
        for k, (label, probability) in enumerate(state["top"][: self.bars]):
            self._label(label, probability, (left, y + k * _LINE), room)

    def _size(self) -> tuple[float, float]:
        """Of a state's rectangle."""
        return (16.0, 10.0) if self.compact else (_BLOCK, self.pitch - 6)

    def _memory(self, cell: Cell, x: float, y: float) -> None:
        """A memory's number on a bar, or the labels that it answers with."""
        (wide, high), top = self._size(), cell.get("top", ())
        groups, labels = self.grid["groups"], self.grid["labels"]
        colour = mixed(groups[labels[top[0][0]]], top[0][1]) if top else mixed(_GREY, cell["share"])
        self.pen.box(x, y, wide, high, colour, mixed(colour, 0.82, "#000000"))
        if self.compact:
            return
        left, room = x + _BLOCK + 3, self.cell - _BLOCK - 3 - 6
        for k, (label, probability) in enumerate(top[: self.bars]):
            self._label(label, probability, (left, y + k * _LINE), room)
        if not top:
            self.pen.text(left, y + _BASE, brief(cell["number"]))
            below = y + _LINE if high > _LINE + 3 else y + high - 1.6
            self.pen.box(left, below, room, 2.4, _TRACK)
            self.pen.box(left, below, max(0.01, cell["share"] * room), 2.4, _GREY)

    def _label(self, label: str, p: float, at: tuple[float, float], room: float) -> None:
        """A label on its bar, which is on a track of 100%, and its number where there is room."""
        (left, top), pen, name = at, self.pen, name_of(label, self.grid)
        full = self.grid["groups"][self.grid["labels"][label]]
        pen.box(left, top + 0.4, room, _LINE - 0.8, _TRACK)
        length = max(bar_length(p) * room, 0.4)
        pen.box(left, top + 0.4, length, _LINE - 0.8, mixed(full, _TINT))
        wide = room - 2 * _INSET - (_VALUE if self.values else 0)
        if name and pen.width(name) <= wide + 0.01:
            pen.text(left + _INSET, top + _BASE, name, style="italic", color=_MILD)
        else:  # a sign itself is better than half its name
            pen.text(left + _INSET, top + _BASE, pen.clipped(label, wide))
        if self.values:
            number = short_percent(p)
            pen.text(left + room - _INSET, top + _BASE, number, _NUMBER, ha="right", color=_MILD)

    def _bins(
        self, state: Mapping[str, Any], at: tuple[float, float], size: tuple[float, float]
    ) -> None:
        """What a state says of a number: the mean, and below it the bins side by side."""
        (left, top), (width, height), scale = at, size, self.grid["scale"]
        known, each = dict(state["top"]), width / len(scale["names"])
        room = height - _BASE - 2
        for k, name in enumerate(scale["names"]):
            tall = max(_LEAST_BIN, min(1.0, known.get(name, 0.0) / _FULL_BIN) * room)
            colour = self.grid["groups"].get(name, _OTHER_BIN)
            self.pen.box(left + k * each, top + height - tall, each * 0.85, tall, colour)
        self.pen.text(left, top + _BASE, _mean(state, scale))

    def _key(self, y: float, left: float, right: float) -> float:
        """What colours and marks mean, as many entries to a line as fit; where the last ends."""
        x, pen = left, self.pen
        for text, sample in self._key_entries():
            room = _KEY_SAMPLE if sample else 0.0
            shown = pen.clipped(text, right - left - _KEY_SAMPLE)
            wide = pen.width(shown) + room
            if x > left and x + wide > right:
                x, y = left, y + _KEY_LINE
            if sample == "hatch":
                pen.hatch(x, y, 7, 7, _GREY)
            elif sample == "ring":
                pen.ring(x, y, 7, 7)
            elif sample:
                pen.box(x, y, 7, 7, sample)
            pen.text(x + room, y + 6.2, shown, color=_GREY)
            x += wide + 11
        return y + 8

    def _key_entries(self) -> Iterator[tuple[str, str]]:
        """Each entry with the colour of its sample, `ring`, `hatch`, or nothing."""
        grid, groups = self.grid, self.grid["groups"]
        names = (
            grid["scale"]["names"] if grid.get("scale") else groups
        )  # of numbers, the bins alone
        yield from ((name.lower(), groups[name]) for name in names if name in groups)
        yield f"faded = {paleness(grid)}", ""
        yield from (
            (line, "") for line in (*parted_lines(grid), *attention_lines(grid, self.look.head))
        )
        if not (self.compact or self.scale_of or grid.get("scale")):
            yield "bar = √probability" + (", numbers in %" if self.values else ""), ""
        if told := cells_key(grid, self.compact):
            yield told, ""
        if has_outside(grid):
            yield OUTSIDE, "hatch"
        if has_rivals(grid):
            yield f"corner = {TWO_LEAD}", ""
        if has_silent(grid):
            yield SILENT, "hatch"
        if any(word["unknown"] for word in grid["words"]):
            yield "italic = unknown word", ""
        if grid.get("lines"):
            yield "bar = bits from the line above, whole height = 1", ""
        if self.pins:
            yield "pinned", "ring"


def _edited(grid: Grid) -> str:
    """What a figure of a text with edits is headed with: none is to be taken for one without."""
    edits = ", ".join(grid.get("edits", ()))
    return f"edited: {edits[:120]}" if edits else ""


def _face(unknown: bool) -> dict[str, str]:
    """How a word is set: bold, or in italics where the network does not know it."""
    return {"style": "italic"} if unknown else {"weight": "bold"}


def _mathematical(column: Mapping[str, Any], layered: bool) -> str:
    """A kind's symbol as mathematics; nothing for the name of some other module."""
    symbol = str(column["symbol"])
    letter, accent = symbol[:1], symbol[1:]
    drawable = letter.isascii() and letter.isalpha() and accent in ("", "\u0303")
    if not (column["letter"] and drawable):
        return ""
    base = rf"\tilde{{{letter}}}" if accent else letter
    inner = layered and column["layer"] and column["letter"] != PREDICTION
    above = f"^{{{column['layer']}}}" if inner else ""
    below = "_{t{-}1}" if column["back"] else "_{t}" if layered else ""
    return f"${base}{above}{below}$"


def _mean(state: Mapping[str, Any], scale: Mapping[str, Any]) -> str:
    """The mean that a state says, as exact as can be told on its axis."""
    span = scale["edges"][-1] - scale["edges"][0] or 1.0
    near = round(state["number"][0], 2 - math.floor(math.log10(span))) + 0.0  # no negative zero
    return f"{near:.6g}".replace("-", "\N{MINUS SIGN}")
