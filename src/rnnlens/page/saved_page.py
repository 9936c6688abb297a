"""A grid to a file, whose ending says what is written: a figure, every number, or the page."""

from pathlib import Path
from typing import Any

from rnnlens.base.files import write_bytes
from rnnlens.draw import export, figure
from rnnlens.draw.look import MOST_BARS, Grid, Look, chosen_columns
from rnnlens.page.bundle import standalone

ENDINGS = (*figure.ENDINGS, ".html", ".json")
_MOST_BARS_PAGE = 5


def check(path: Path, look: Look) -> None:
    """Refuse what cannot be, before anything is loaded or computed."""
    page = path.suffix.lower() == ".html"
    export.check_export(path, look, ENDINGS, _MOST_BARS_PAGE if page else MOST_BARS)


def save(grid: Grid, path: Path, look: Look, followed: Grid | None = None) -> None:
    """Write a grid, whole or not at all; `followed`: labels that are followed through it."""
    check(path, look)
    write_bytes(path.resolve(), contents(grid, path.suffix.lower(), look, followed))


def contents(grid: Grid, ending: str, look: Look, followed: Grid | None = None) -> bytes:
    """What the file is to hold."""
    if ending != ".html":
        return export.exported(grid, ending, look, followed)
    export.check_whole(grid, ending, look, followed)
    return standalone({"grid": grid, "view": _view(grid, look), "bits": []}).encode()


def _view(grid: Grid, look: Look) -> dict[str, Any]:
    """How the page is to begin, in the words of net/address.js."""
    named = look.kinds in (None, "all", "outputs")
    columns = chosen_columns(grid["columns"], look.kinds)
    runs = [side["run"] for side in grid.get("sides", ())]
    return {
        "run": grid["run"],
        "text": grid["text"],
        "beside": runs[1] if len({*runs}) > 1 else None,
        "semantic": grid["semantic"],
        "palette": grid["palette"],
        "density": look.density or "bars",
        "kinds": look.kinds if named else [grid["columns"][k]["id"] for k in columns],
        "naming": "symbols" if look.symbols else "both",
        "bars": look.bars or figure.BARS,
        "pins": [],
        "focus": None,
        "follow": None,
        "turns": False,
        "edits": list(grid.get("edits", ())),
        "page": "grid",
        "find": None,
    }
