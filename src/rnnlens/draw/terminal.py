"""The grid in a terminal: words down, kinds across, each state a coloured block and its labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rnnlens.ask.decision import told
from rnnlens.draw.ansi import PLAIN, code
from rnnlens.draw.followed import Scale
from rnnlens.draw.lines import bits_at, bracketed
from rnnlens.draw.visible import clip, printable, tail, width_of
from rnnlens.reading.payload import asked_for, last_layer, paleness

NARROWEST = 20  # columns a terminal must have

_RESET = "\x1b[0m"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SHADES = "░▒▓█"
_LEVELS = " ▁▂▃▄▅▆▇█"
_FORMS = ((12, 4), (12, 0), (7, 0))  # widths of a label and its bar, the best first
_VOID = "nothing read"
_BLOCK, _ALONE = 2, 3  # width of a rectangle beside labels, and on its own


@dataclass(frozen=True)
class _Look:
    """How states are drawn: as rectangles alone where `lines` is 0."""

    colours: int
    lines: int = 0  # labels of a state, one below the other
    label: int = 0
    bar: int = 0
    names: bool = False  # of the columns, below their symbols

    @property
    def cell(self) -> int:
        if not self.lines:
            return _ALONE
        return _BLOCK + 1 + self.label + (self.bar and self.bar + 1)


def draw(
    grid: Mapping[str, Any],
    columns: Sequence[int],
    *,
    width: int,
    colours: int = PLAIN,
    bars: int = 1,
    density: str | None = None,
    symbols: bool = False,
    followed: Mapping[str, Any] | None = None,
) -> str:
    """The grid in at most `width` columns; without a density, labels are drawn where they fit.

    Labels that are followed take the place of the most probable ones.
    """
    grid = bracketed(grid)
    letters = _letters(grid["groups"])
    margin = _margin(grid, width)
    scale = Scale.of(followed, columns) if followed else None
    asked = (colours, 1, "bars", symbols) if scale else (colours, bars, density, symbols)
    look = _look(grid, columns, width - margin, asked)
    lines = [clip(f"{grid['title']} · what each state says of {asked_for(grid)}", width), ""]
    lines[1:1] = [clip(said, width) for said in (told(grid), scale.title if scale else "") if said]
    for panel in _panels(grid, columns, width - margin, look):
        lines += _headings(grid, panel, look, margin)
        for row, word in enumerate(grid["words"]):
            heads = [_word(grid, word, margin, look)] + [" " * margin] * (look.lines - 1)
            for line, head in enumerate(heads):
                cells = [
                    _block(grid["rows"][row][k], look, letters)
                    + (
                        _number(grid, scale, row, k, look)
                        if scale
                        else _top(grid, row, k, line, look)
                    )
                    for k in panel
                ]
                lines.append(head + _joined(grid, panel, cells))
            lines += [""] if look.lines > 1 else []
        lines += [] if look.lines > 1 else [""]
    lines += _legend(grid, look, letters, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _padded(text: str, width: int) -> str:
    shown = clip(text, width)
    return shown + " " * (width - width_of(shown))


def _look(
    grid: Mapping[str, Any],
    columns: Sequence[int],
    room: int,
    asked: tuple[int, int, str | None, bool],
) -> _Look:
    """The most that fits: labels with bars, labels, fewer letters, at last rectangles alone."""
    colours, bars, density, symbols = asked
    alone = _Look(colours)
    if density == "compact" or not bars:
        return alone
    tops = [top for row in grid["rows"] for k in columns for top in row[k]["top"][:bars]]
    longest = max((width_of(printable(label)) for label, _ in tops), default=1)
    looks = [
        _Look(colours, bars, min(label, max(longest, 7)), bar, not symbols) for label, bar in _FORMS
    ]
    side_by_side = [columns]
    if density == "bars":  # else in panels: of whole layers, or of what fits
        side_by_side += [max(_layers(grid, columns), key=len), columns[:1]]
    for widest in side_by_side:
        for look in looks:
            if _extent(grid, widest, look) <= room:
                return look
    return looks[-1] if density == "bars" else alone


def _layer(grid: Mapping[str, Any], column: int) -> int:
    return int(grid["columns"][column]["layer"])


def _layers(grid: Mapping[str, Any], columns: Sequence[int]) -> list[list[int]]:
    return [list(group) for _, group in groupby(columns, lambda k: _layer(grid, k))]


def _extent(grid: Mapping[str, Any], columns: Sequence[int], look: _Look) -> int:
    """Columns of the terminal that these columns of the grid take; a gap more between layers."""
    layers = len({_layer(grid, k) for k in columns})
    return len(columns) * (look.cell + 1) + max(0, layers - 1) - 1


def _panels(
    grid: Mapping[str, Any], columns: Sequence[int], room: int, look: _Look
) -> list[list[int]]:
    """Columns that stand side by side: whole layers where they fit."""
    panels: list[list[int]] = []
    for layer in _layers(grid, columns):
        if panels and _extent(grid, [*panels[-1], *layer], look) <= room:
            panels[-1] += layer
            continue
        fits = max(1, (room + 1) // (look.cell + 1))
        panels += [layer[k : k + fits] for k in range(0, len(layer), fits)]
    return panels


def _margin(grid: Mapping[str, Any], width: int) -> int:
    """Room for the words: the word, its group's mark and a gap."""
    longest = max((width_of(printable(_shown(word))) for word in grid["words"]), default=1)
    return min(longest, 18, width // 4) + 2


def _shown(word: Mapping[str, Any]) -> str:
    return f"{word['text']}?" if word["unknown"] else str(word["text"])


def _joined(grid: Mapping[str, Any], panel: Sequence[int], cells: Iterable[str]) -> str:
    made, before = "", None
    for k, cell in zip(panel, cells, strict=True):
        layer = _layer(grid, k)
        made += ("" if before is None else " " if layer == before else "  ") + cell
        before = layer
    return made


def _headings(grid: Mapping[str, Any], panel: Sequence[int], look: _Look, margin: int) -> list[str]:
    """Layers, the symbols of their kinds and, where there is room, the names."""
    described = [grid["columns"][k] for k in panel]
    layers, last = "", last_layer(grid["columns"])
    for group in _layers(grid, panel):
        layer, extent = _layer(grid, group[0]), _extent(grid, group, look)
        name = "" if layer == 0 else "model" if layer == last else f"layer {layer}"
        if len(name) > extent:
            name = "" if layer == last else str(layer)
        layers += _padded(name, extent) + "  "
    symbols = [_padded(_symbol(column, look), look.cell) for column in described]
    lines = [layers, _joined(grid, panel, symbols)]
    if look.names:
        names = [_padded(_name(column, look.cell), look.cell) for column in described]
        named = _joined(grid, panel, names)
        lines.append(f"\x1b[2m{named}{_RESET}" if look.colours else named)  # faint
    return [" " * margin + line for line in lines]


def _name(column: Mapping[str, Any], width: int) -> str:
    """As much of a kind's name as fits: long-term for long-term memory, …layers.0 of a path."""
    if not column["letter"]:
        return tail(printable(column["name"]), lambda end: width_of(end) <= width)
    words = str(column["name"]).split()
    while len(words) > 1 and width_of(" ".join(words)) > width:
        words.pop()
    return " ".join(words)


def _symbol(column: Mapping[str, Any], look: _Look) -> str:
    """A kind's symbol; a submodule's output has none but its name, which is told once."""
    if not column["letter"]:
        return "" if look.names else _name(column, look.cell)
    return f"{column['symbol']}₋₁" if column["back"] else str(column["symbol"])


def _word(grid: Mapping[str, Any], word: Mapping[str, Any], margin: int, look: _Look) -> str:
    shown = clip(_shown(word), margin - 2)
    mark = _ink("▌", grid["groups"][word["group"]], look) if look.colours else " "
    return " " * (margin - 2 - width_of(shown)) + shown + mark + " "


def _block(state: Mapping[str, Any], look: _Look, letters: Mapping[str, str]) -> str:
    """The rectangle of a state; without colours a letter and a shade."""
    block = _BLOCK if look.lines else _ALONE
    if state["unread"]:
        return "╱" * block
    if look.colours:
        return _paper(" " * block, state["colour"], look)
    shade = _SHADES[min(int(state["share"] * len(_SHADES)), len(_SHADES) - 1)]
    return letters[state["group"]] + shade * (block - 1)


def _top(grid: Mapping[str, Any], row: int, column: int, line: int, look: _Look) -> str:
    """One of the most probable labels of a state and its bar."""
    if not look.lines:
        return ""
    if grid["rows"][row][column]["unread"]:
        void = _VOID if grid["rows"][row][column]["top"] and not line else ""
        return f" {_padded(void, look.label + (look.bar and look.bar + 1))}"
    top = grid["rows"][row][column]["top"]
    label, probability = top[line] if line < len(top) else ("", 0.0)
    bar = ""
    if look.bar:
        full, part = divmod(round(min(probability, 1) * look.bar * 8), 8)
        inked = ("█" * full + (_EIGHTHS[part] if part else "")).ljust(look.bar)
        group = grid["labels"].get(label)
        bar = " " + (_ink(inked, grid["groups"][group], look) if group else inked)
    return f"{_apart(grid, row, column, line, look)}{_padded(label, look.label)}{bar}"


def _apart(grid: Mapping[str, Any], row: int, column: int, line: int, look: _Look) -> str:
    """How far a state of the second of two readings lies from the first's: a column of 1 bit that
    is as high as the lines of labels are.
    """
    filled = bits_at(grid, row, column) * look.lines - (look.lines - 1 - line)
    return _LEVELS[round(min(1, max(0, filled)) * 8)]


def _number(grid: Mapping[str, Any], scale: Scale, row: int, column: int, look: _Look) -> str:
    """What is followed in a state."""
    if grid["rows"][row][column]["unread"]:
        return _top(grid, row, column, 0, look)
    said, bar, colour = scale.typed(scale.values[row][column], look.label, look.bar)
    return f" {said}" + (f" {_ink(bar, colour, look)}" if look.bar else "")


def _legend(
    grid: Mapping[str, Any], look: _Look, letters: Mapping[str, str], width: int
) -> list[str]:
    """Groups and signs, as many to a line as fit."""
    entries = [
        (_paper("  ", colour, look) if look.colours else letters[group], group.lower())
        for group, colour in grid["groups"].items()
    ]
    entries.append(
        ("", f"faded = {paleness(grid)}" if look.colours else "░▒▓█ = ever more decided")
    )
    if any(word["unknown"] for word in grid["words"]):
        entries.append(("?", "unknown word"))
    if grid.get("lines") and look.lines:
        entries.append(("▄", "bits from the line above, █ is 1"))
    lines, used = [""], 0
    for sign, text in entries:
        marked = 0 if not sign else 3 if look.colours and sign not in "?▄" else 2
        said = clip(text, width - marked)
        size = marked + width_of(said)
        if used and used + 2 + size > width:
            lines, used = [*lines, ""], 0
        lines[-1] += ("  " if used else "") + (f"{sign} " if sign else "") + said
        used += size + (2 if used else 0)
    return lines


def _letters(groups: Iterable[str]) -> dict[str, str]:
    """A letter for each group, its own where it can be, for terminals without colour."""
    made: dict[str, str] = {}
    for group in groups:
        own = f"{group.upper()}ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        free = (c for c in own if c.isascii() and c.isalnum() and c not in made.values())
        made[group] = next(free, "?")
    return made


def _ink(text: str, colour: str, look: _Look) -> str:
    return f"\x1b[38;{code(colour, look.colours)}m{text}{_RESET}" if look.colours else text


def _paper(text: str, colour: str, look: _Look) -> str:
    return f"\x1b[48;{code(colour, look.colours)}m{text}{_RESET}"
