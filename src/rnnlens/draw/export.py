"""A grid to a file, whose ending says what is written: a figure, or every number."""

import json
from pathlib import Path

from rnnlens.base.errors import RnnlensError
from rnnlens.draw import figure
from rnnlens.draw.look import MOST_BARS, Grid, Look, chosen_columns
from rnnlens.draw.pen import check_matplotlib

ENDINGS = (*figure.ENDINGS, ".json")


def check_export(
    path: Path, look: Look, endings: tuple[str, ...] = ENDINGS, most_bars: int = MOST_BARS
) -> None:
    """Refuse what cannot be written, before anything is loaded or computed."""
    ending = path.suffix.lower()
    if ending not in endings:
        raise RnnlensError(f"cannot write {path.name}; give a name ending in {', '.join(endings)}")
    check_place(path)
    if ending in figure.ENDINGS:
        check_matplotlib()
    look.check(most_bars)
    look.check_width()


def check_place(path: Path) -> None:
    """Refuse a file that cannot be where it is to be."""
    if not path.parent.is_dir():
        raise RnnlensError(f"there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise RnnlensError(f"{path} is a folder; give the name of a file")


def check_whole(grid: Grid, ending: str, look: Look, followed: Grid | None) -> None:
    """Refuse rows, labels to follow and kinds that there are not, of a file of the whole grid."""
    chosen_columns(grid["columns"], look.kinds)
    if look.rows or followed:
        raise RnnlensError(
            f"a {ending} file holds the whole grid: it takes neither rows nor labels to follow; "
            f"give a name ending in {', '.join(figure.ENDINGS)}"
        )


def exported(grid: Grid, ending: str, look: Look, followed: Grid | None = None) -> bytes:
    """What the file is to hold; `followed`: labels that are followed through the grid."""
    if ending == ".json":
        check_whole(grid, ending, look, followed)
        return readable_json(grid).encode()
    return figure.draw(grid, look, ending, followed).data


def readable_json(grid: Grid) -> str:
    """A grid as JSON for people too: a column, a word, a row to each line."""
    parts = []
    for key, value in grid.items():
        lines = [value] if not isinstance(value, list) or not value else value
        dumped = [json.dumps(line, ensure_ascii=False, allow_nan=False) for line in lines]
        listed = "[\n  " + ",\n  ".join(dumped) + "\n ]" if lines is value else dumped[0]
        parts.append(f" {json.dumps(key)}: {listed}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
