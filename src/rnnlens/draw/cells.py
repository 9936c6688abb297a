"""What the cells of memories that are matrices show in the place of what a probe says: a number, or
what the memory would answer if a word came next.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rnnlens.draw.printable import printable

NUMBERS = {"norm": "norm", "rank": "effective rank", "half_life": "median half-life in words"}
_THOUSANDS = (("B", 1e9), ("M", 1e6), ("K", 1e3))
_BEFORE_NEXT = 999.5  # what is rounded to a thousand

Cell = Mapping[str, Any]  # `number` with `share`, of the largest in its column, or `top`


def cells_name(memories: str | None, asked: str | None) -> str:
    """What the cells of memories show, in words; nothing: what a probe says."""
    return f"asked by {printable(asked)}" if asked else NUMBERS[memories] if memories else ""


def cells_key(grid: Mapping[str, Any], compact: bool) -> str:
    """What stands in the cells of memories, for a key; nothing where it is what probes say."""
    cells = grid.get("cells")
    if not cells:
        return ""
    where, name = ", ".join(cells["columns"]), cells["name"]
    if cells["asked"]:
        return f"{where}: {name} = what it would answer if that came next"
    return f"{where}: {name}, {'darker' if compact else 'bar'} = of the largest in the column"


def cell_at(grid: Mapping[str, Any], row: int, column: int) -> Cell | None:
    """What a memory's cell shows; None: what the probe says."""
    cells = grid.get("cells")
    found: Cell | None = cells["rows"][row][column] if cells else None
    return found


def is_told(grid: Mapping[str, Any], column: Mapping[str, Any]) -> bool:
    """Whether the cells of a column show something else than what a probe says."""
    return bool(grid.get("cells")) and column["id"] in grid["cells"]["columns"]


def with_shares(numbers: Sequence[float | None]) -> list[Cell | None]:
    """The cells of a column of numbers, each with its part of the largest that has an end."""
    most = max((one for one in numbers if one is not None and math.isfinite(one)), default=0) or 1
    return [
        None if one is None else {"number": one, "share": min(1.0, one / most)} for one in numbers
    ]


def brief(number: float) -> str:
    """A number with three digits, where there is little room: 284K."""
    if math.isinf(number):
        return "∞"
    for sign, size in _THOUSANDS:
        if number >= size * _BEFORE_NEXT / 1000:
            return f"{float(f'{number / size:.3g}'):g}{sign}"
    return f"{float(f'{number:.3g}'):g}"
