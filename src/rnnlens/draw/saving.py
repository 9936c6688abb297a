"""A grid to a file, whose ending says what is written: a figure, the page, or every number."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_bytes
from rnnlens.draw import figure
from rnnlens.draw.style import Style
from rnnlens.model.kinds import JOINED
from rnnlens.page.bundle import readable, standalone
from rnnlens.reading.payload import last_layer

ENDINGS = (*figure.ENDINGS, ".html", ".json")
_MOST_BARS, _MOST_BARS_PAGE = 20, 5
_WIDTHS = (1.0, 100.0)  # inches
_SPAN = re.compile(r"(\d{1,6})(-(\d{1,6})?)?")


@dataclass(frozen=True)
class Look:
    """How a grid is to look."""

    #: Ids of columns, "layer2" for a whole layer, "all" or "outputs"; None: all but gates and
    #: candidates.
    kinds: str | Sequence[str] | None = None
    bars: int = 3  #: Labels of each state.
    density: str = "bars"  #: Or "compact": rectangles only.
    symbols: bool = False  #: Head columns with symbols only.
    title: str = ""  #: Above a figure.
    width: float | None = None  #: Of a figure, in inches.
    rows: str = ""  #: Such as "7-8" or "2,5-": by the numbers that are drawn; all without it.
    pins: str | Sequence[str] = ""  #: States to ring in a figure, such as "l2:8,h2:8".
    key: bool = True  #: Below a figure: what colours and marks mean.


def check(path: Path, look: Look) -> None:
    """Refuse what cannot be, before anything is loaded or computed."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise RnnlensError(f"cannot write {path.name}; give a name ending in {', '.join(ENDINGS)}")
    check_place(path)
    if ending in figure.ENDINGS:
        figure.check_matplotlib()
    check_look(look, _MOST_BARS_PAGE if ending == ".html" else _MOST_BARS)
    if look.width is not None and not _WIDTHS[0] <= look.width <= _WIDTHS[1]:
        raise RnnlensError(
            f"a width of {look.width:g}: give {_WIDTHS[0]:g} to {_WIDTHS[1]:g} inches"
        )


def check_place(path: Path) -> None:
    """Refuse a file that cannot be where it is to be."""
    if not path.parent.is_dir():
        raise RnnlensError(f"there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise RnnlensError(f"{path} is a folder; give the name of a file")


def check_look(look: Look, most: int = _MOST_BARS) -> None:
    """Refuse numbers and names that mean nothing."""
    if not 1 <= look.bars <= most:
        raise RnnlensError(f"{look.bars} bars: give a number from 1 to {most}")
    if look.density not in ("bars", "compact"):
        raise RnnlensError(f"no density is called {look.density!r}; give bars or compact")


def changed(look: Look | None, changes: Mapping[str, Any]) -> Look:
    """A look with some of its fields changed, checked."""
    known = asdict(Look())
    for name in changes:
        if name not in known:
            raise RnnlensError(f"nothing about the look is called {name!r}; {', '.join(known)} are")
    made = replace(look or Look(), **changes)
    check_look(made)
    return made


def chosen(columns: Sequence[Mapping[str, Any]], kinds: str | Sequence[str] | None) -> list[int]:
    """Which columns to draw, in the grid's order."""
    if kinds is None:
        return [k for k, column in enumerate(columns) if column["shown"]]
    if kinds == "all":
        return list(range(len(columns)))
    if kinds == "outputs":  # of every layer, in both directions unless these are joined
        last = {(column["layer"], column["reverse"]): k for k, column in enumerate(columns)}
        joined = {column["layer"] for column in columns if column["letter"] == JOINED}
        return sorted(k for (layer, back), k in last.items() if not (back and layer in joined))
    given = kinds.split(",") if isinstance(kinds, str) else kinds
    wanted = [kind.strip() for kind in given if kind.strip()]
    known = {column["id"]: [k] for k, column in enumerate(columns)}
    layers = {name: chosen(columns, name) for name in ("all", "outputs")} | _layers(columns)
    for kind in wanted:
        if kind not in known and kind not in layers:
            raise RnnlensError(
                f"the run has no kind {kind!r}; it has {', '.join(known)}; or give "
                f"{', '.join(layers)}"
            )
    if not wanted:
        raise RnnlensError(f"no kinds are named; the run has {', '.join(known)}")
    return sorted({k for kind in wanted for k in (known | layers)[kind]})


def _layers(columns: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Every layer of the network by name, with its columns; input and prediction are none."""
    last = last_layer(columns)
    layers: dict[str, list[int]] = {}
    for k, column in enumerate(columns):
        if 0 < column["layer"] < last:
            layers.setdefault(f"layer{column['layer']}", []).append(k)
    return layers


def some_rows(
    grid: dict[str, Any], rows: str, followed: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A grid with some of its rows, and what is followed in them; others may be missing in both."""
    if not rows:
        return grid, followed
    taken = row_numbers(rows, len(grid["words"]))

    def chosen_of(part: Mapping[str, Any], name: str = "rows") -> list[Any]:
        return [part[name][row - part.get("from", 0)] for row in taken]

    words = [{"number": row + 1, **grid["words"][row]} for row in taken]
    if followed:
        followed = {**followed, "rows": chosen_of(followed)}
    changes = chosen_of(grid, "changes") if grid.get("changes") else []
    lines = [grid["lines"][row] for row in taken] if grid.get("lines") else []
    part = {"words": words, "count": len(grid["words"]), "lines": lines, "changes": changes}
    return {**grid, **part, "rows": chosen_of(grid)}, followed


def row_numbers(rows: str, count: int) -> list[int]:
    """Rows from 0, of numbers and spans such as 2,5-7 that count from 1."""
    taken: set[int] = set()
    for part in rows.split(","):
        span = _SPAN.fullmatch(part.strip())
        first = int(span[1]) if span else 0
        last = first if span and not span[2] else int(span[3] or count) if span else 0
        if not 1 <= first <= last <= count:
            raise RnnlensError(
                f"rows {rows!r}: give numbers from 1 to {count}, such as "
                f"{max(1, count - 1)}-{count}, comma between"
            )
        taken |= set(range(first - 1, last))
    return sorted(taken)


def save(
    grid: dict[str, Any], path: Path, look: Look, followed: dict[str, Any] | None = None
) -> None:
    """Write a grid, whole or not at all; `followed`: labels that are followed through it."""
    check(path, look)
    write_bytes(path.resolve(), drawn(grid, path.suffix.lower(), look, followed))


def drawn(
    grid: dict[str, Any], ending: str, look: Look, followed: dict[str, Any] | None = None
) -> bytes:
    """What the file is to hold."""
    columns = chosen(grid["columns"], look.kinds)
    if (look.rows or followed) and ending not in figure.ENDINGS:
        raise RnnlensError(
            f"a {ending} file holds the whole grid: it takes neither rows nor labels to follow; "
            f"give a name ending in {', '.join(figure.ENDINGS)}"
        )
    if ending == ".json":
        return readable(grid).encode()
    if ending == ".html":
        return standalone({"grid": grid, "view": _view(grid, columns, look), "bits": []}).encode()
    grid, followed = some_rows(grid, look.rows, followed)
    return figure.draw(grid, ending, style(grid, look, followed)).data


def style(grid: Mapping[str, Any], look: Look, followed: Mapping[str, Any] | None = None) -> Style:
    """How a figure is to look: the columns, bars and sizes that a look asks for."""
    return Style(
        chosen(grid["columns"], look.kinds),
        look.bars,
        look.density == "compact",
        look.symbols,
        look.width,
        look.title or _edited(grid),
        followed,
        frozenset(pinned(grid, look.pins)),
        look.key,
    )


def _edited(grid: Mapping[str, Any]) -> str:
    """What a figure of a text with edits is headed with: none is to be taken for one without."""
    edits = ", ".join(grid.get("edits", ()))
    return f"edited: {edits[:120]}" if edits else ""


def pinned(grid: Mapping[str, Any], pins: str | Sequence[str]) -> Iterator[tuple[int, int]]:
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


def _beside(grid: Mapping[str, Any]) -> str | None:
    """The other run of two that are compared."""
    runs = [side["run"] for side in grid.get("sides", ())]
    return runs[1] if len({*runs}) > 1 else None


def _view(grid: Mapping[str, Any], columns: Sequence[int], look: Look) -> dict[str, Any]:
    """How the page is to begin, in the words of net/address.js."""
    named = look.kinds in (None, "all", "outputs")
    return {
        "run": grid["run"],
        "text": grid["text"],
        "beside": _beside(grid),
        "semantic": grid["semantic"],
        "palette": grid["palette"],
        "density": look.density,
        "kinds": look.kinds if named else [grid["columns"][k]["id"] for k in columns],
        "naming": "symbols" if look.symbols else "both",
        "bars": look.bars,
        "pins": [],
        "focus": None,
        "follow": None,
        "turns": False,
        "edits": list(grid.get("edits", ())),
        "page": "grid",
        "find": None,
    }
