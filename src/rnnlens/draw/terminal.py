"""The grid in a terminal: words down, kinds across, each state a coloured block and its labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, product
from typing import Any

from rnnlens.draw.followed import FollowedScale
from rnnlens.draw.look import Look, bits_at, bracketed, chosen_columns, chosen_rows
from rnnlens.draw.printable import clip, padded, percent, printable, tail, width_of
from rnnlens.reading.payload import asked_for, last_layer, paleness

NARROWEST = 20  # columns a terminal must have
PLAIN, INDEXED, TRUE = 0, 256, 1 << 24  # how many colours a terminal can show

_RESET = "\x1b[0m"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SHADES = "░▒▓█"
_LEVELS = " ▁▂▃▄▅▆▇█"
_FORMS = ((12, 4), (12, 0), (7, 0))  # widths of a label and its bar, the best first
_VOID = "nothing read"
_WIDEST_WORD = 18  # columns
_CUBE = (0, 95, 135, 175, 215, 255)  # levels of a channel among the 256 colours
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


def draw(
    grid: Mapping[str, Any],
    look: Look,
    *,
    width: int,
    colours: int = PLAIN,
    followed: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The grid in at most `width` columns; without a density, labels are drawn where they fit.

    Labels that are followed take the place of the most probable ones. `notes` stand below the
    title.
    """
    part, followed = chosen_rows(grid, look.rows, followed)
    columns, grid = chosen_columns(grid["columns"], look.kinds), bracketed(part)
    letters = _letters(grid["groups"])
    margin = _margin(grid, width)
    scale = FollowedScale.of(followed, columns) if followed else None
    shown = replace(look, bars=1, density="bars") if scale else look
    cells = _cells(grid, columns, width - margin, shown, colours)
    title = f"{grid['title']} · what each state says of {asked_for(grid)}"
    heading = [title, *notes, *([scale.title] if scale else [])]
    lines = [*(clip(line, width) for line in heading), ""]
    for panel in _panels(grid, columns, width - margin, cells):
        lines += _headings(grid, panel, cells, margin)
        for row, word in enumerate(grid["words"]):
            heads = [_word(grid, word, margin, cells)] + [" " * margin] * (cells.lines - 1)
            for line, head in enumerate(heads):
                states = [
                    _block(grid["rows"][row][k], cells, letters)
                    + (
                        _number(grid, scale, row, k, cells)
                        if scale
                        else _top(grid, row, k, line, cells)
                    )
                    for k in panel
                ]
                lines.append(head + _joined(grid, panel, states))
            lines += [""] if cells.lines > 1 else []
        lines += [] if cells.lines > 1 else [""]
    lines += _legend(grid, cells, letters, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def changed_lines(grid: Mapping[str, Any]) -> list[str]:
    """What the prediction was and is after each word, and how far apart these are."""
    if not grid["edits"]:
        return []
    margin = min(_WIDEST_WORD, max(width_of(printable(word["text"])) for word in grid["words"]))
    lines = [f"edited: {', '.join(map(printable, grid['edits']))}",
             "the prediction before, and now: bits between them"]  # fmt: skip
    for word, states, changes in zip(grid["words"], grid["rows"], grid["changes"], strict=True):
        change, (label, now) = changes[-1], states[-1]["top"][0]
        shown = clip(printable(word["text"]), margin)
        was = f"{printable(change['before'][0])} {percent(change['before'][1])}"
        line = " " * (margin - width_of(shown)) + f"{shown}  {change['bits']:.3f}  {was}"
        lines.append(f"{line} → {printable(label)} {percent(now)}" if change["bits"] else line)
    return lines


def _cells(
    grid: Mapping[str, Any], columns: Sequence[int], room: int, look: Look, colours: int
) -> _Cells:
    """The most that fits: labels with bars, labels, fewer letters, at last rectangles alone."""
    alone, bars = _Cells(colours), look.bars or 1
    if look.compact:
        return alone
    tops = [top for row in grid["rows"] for k in columns for top in row[k]["top"][:bars]]
    longest = max((width_of(printable(label)) for label, _ in tops), default=1)
    forms = [
        _Cells(colours, bars, min(label, max(longest, 7)), bar, not look.symbols)
        for label, bar in _FORMS
    ]
    side_by_side = [columns]
    if look.density == "bars":  # else in panels: of whole layers, or of what fits
        side_by_side += [max(_layers(grid, columns), key=len), columns[:1]]
    for widest in side_by_side:
        for cells in forms:
            if _extent(grid, widest, cells) <= room:
                return cells
    return forms[-1] if look.density == "bars" else alone


def _layer(grid: Mapping[str, Any], column: int) -> int:
    return int(grid["columns"][column]["layer"])


def _layers(grid: Mapping[str, Any], columns: Sequence[int]) -> list[list[int]]:
    return [list(group) for _, group in groupby(columns, lambda k: _layer(grid, k))]


def _extent(grid: Mapping[str, Any], columns: Sequence[int], cells: _Cells) -> int:
    """Columns of the terminal that these columns of the grid take; a gap more between layers."""
    layers = len({_layer(grid, k) for k in columns})
    return len(columns) * (cells.width + 1) + max(0, layers - 1) - 1


def _panels(
    grid: Mapping[str, Any], columns: Sequence[int], room: int, cells: _Cells
) -> list[list[int]]:
    """Columns that stand side by side: whole layers where they fit."""
    panels: list[list[int]] = []
    for layer in _layers(grid, columns):
        if panels and _extent(grid, [*panels[-1], *layer], cells) <= room:
            panels[-1] += layer
            continue
        fits = max(1, (room + 1) // (cells.width + 1))
        panels += [layer[k : k + fits] for k in range(0, len(layer), fits)]
    return panels


def _margin(grid: Mapping[str, Any], width: int) -> int:
    """Room for the words: the word, its group's mark and a gap."""
    longest = max((width_of(printable(_shown(word))) for word in grid["words"]), default=1)
    return min(longest, _WIDEST_WORD, width // 4) + 2


def _shown(word: Mapping[str, Any]) -> str:
    return f"{word['text']}?" if word["unknown"] else str(word["text"])


def _joined(grid: Mapping[str, Any], panel: Sequence[int], states: Iterable[str]) -> str:
    line, before = "", None
    for k, state in zip(panel, states, strict=True):
        layer = _layer(grid, k)
        line += ("" if before is None else " " if layer == before else "  ") + state
        before = layer
    return line


def _headings(
    grid: Mapping[str, Any], panel: Sequence[int], cells: _Cells, margin: int
) -> list[str]:
    """Layers, the symbols of their kinds and, where there is room, the names."""
    described = [grid["columns"][k] for k in panel]
    layers, last = "", last_layer(grid["columns"])
    for group in _layers(grid, panel):
        layer, extent = _layer(grid, group[0]), _extent(grid, group, cells)
        name = "" if layer == 0 else "model" if layer == last else f"layer {layer}"
        if len(name) > extent:
            name = "" if layer == last else str(layer)
        layers += padded(name, extent) + "  "
    symbols = [padded(_symbol(column, cells), cells.width) for column in described]
    lines = [layers, _joined(grid, panel, symbols)]
    if cells.names:
        names = [padded(_name(column, cells.width), cells.width) for column in described]
        named = _joined(grid, panel, names)
        lines.append(f"\x1b[2m{named}{_RESET}" if cells.colours else named)  # faint
    return [" " * margin + line for line in lines]


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


def _word(grid: Mapping[str, Any], word: Mapping[str, Any], margin: int, cells: _Cells) -> str:
    shown = clip(_shown(word), margin - 2)
    mark = _ink("▌", grid["groups"][word["group"]], cells) if cells.colours else " "
    return " " * (margin - 2 - width_of(shown)) + shown + mark + " "


def _block(state: Mapping[str, Any], cells: _Cells, letters: Mapping[str, str]) -> str:
    """The rectangle of a state; without colours a letter and a shade."""
    block = _BLOCK if cells.lines else _ALONE
    if state["unread"]:
        return "╱" * block
    if cells.colours:
        return _paper(" " * block, state["colour"], cells)
    shade = _SHADES[min(int(state["share"] * len(_SHADES)), len(_SHADES) - 1)]
    return letters[state["group"]] + shade * (block - 1)


def _top(grid: Mapping[str, Any], row: int, column: int, line: int, cells: _Cells) -> str:
    """One of the most probable labels of a state and its bar."""
    if not cells.lines:
        return ""
    if grid["rows"][row][column]["unread"]:
        void = _VOID if grid["rows"][row][column]["top"] and not line else ""
        return f" {padded(void, cells.label + (cells.bar and cells.bar + 1))}"
    top = grid["rows"][row][column]["top"]
    label, probability = top[line] if line < len(top) else ("", 0.0)
    bar = ""
    if cells.bar:
        full, part = divmod(round(min(probability, 1) * cells.bar * 8), 8)
        inked = ("█" * full + (_EIGHTHS[part] if part else "")).ljust(cells.bar)
        group = grid["labels"].get(label)
        bar = " " + (_ink(inked, grid["groups"][group], cells) if group else inked)
    return f"{_apart(grid, row, column, line, cells)}{padded(label, cells.label)}{bar}"


def _apart(grid: Mapping[str, Any], row: int, column: int, line: int, cells: _Cells) -> str:
    """How far a state of the second of two readings lies from the first's: a column of 1 bit that
    is as high as the lines of labels are.
    """
    filled = bits_at(grid, row, column) * cells.lines - (cells.lines - 1 - line)
    return _LEVELS[round(min(1, max(0, filled)) * 8)]


def _number(
    grid: Mapping[str, Any], scale: FollowedScale, row: int, column: int, cells: _Cells
) -> str:
    """What is followed in a state."""
    if grid["rows"][row][column]["unread"]:
        return _top(grid, row, column, 0, cells)
    number, bar, colour = scale.typed(scale.values[row][column], cells.label, cells.bar)
    return f" {number}" + (f" {_ink(bar, colour, cells)}" if cells.bar else "")


def _legend(
    grid: Mapping[str, Any], cells: _Cells, letters: Mapping[str, str], width: int
) -> list[str]:
    """Groups and signs, as many to a line as fit."""
    entries = [
        (_paper("  ", colour, cells) if cells.colours else letters[group], group.lower())
        for group, colour in grid["groups"].items()
    ]
    entries.append(
        ("", f"faded = {paleness(grid)}" if cells.colours else "░▒▓█ = ever more decided")
    )
    if any(word["unknown"] for word in grid["words"]):
        entries.append(("?", "unknown word"))
    if grid.get("lines") and cells.lines:
        entries.append(("▄", "bits from the line above, █ is 1"))
    lines, used = [""], 0
    for sign, text in entries:
        marked = 0 if not sign else 3 if cells.colours and sign not in "?▄" else 2
        shown = clip(text, width - marked)
        size = marked + width_of(shown)
        if used and used + 2 + size > width:
            lines, used = [*lines, ""], 0
        lines[-1] += ("  " if used else "") + (f"{sign} " if sign else "") + shown
        used += size + (2 if used else 0)
    return lines


def _letters(groups: Iterable[str]) -> dict[str, str]:
    """A letter for each group, its own where it can be, for terminals without colour."""
    letters: dict[str, str] = {}
    for group in groups:
        own = f"{group.upper()}ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        free = (c for c in own if c.isascii() and c.isalnum() and c not in letters.values())
        letters[group] = next(free, "?")
    return letters


def _ink(text: str, colour: str, cells: _Cells) -> str:
    return f"\x1b[38;{_code(colour, cells.colours)}m{text}{_RESET}" if cells.colours else text


def _paper(text: str, colour: str, cells: _Cells) -> str:
    return f"\x1b[48;{_code(colour, cells.colours)}m{text}{_RESET}"


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
