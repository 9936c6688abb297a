"""The key of a figure: groups and their colours, and what marks mean."""

from collections.abc import Collection, Mapping
from typing import Any

from rnnlens.draw.pen import Pen
from rnnlens.reading.payload import paleness

_GREY, _LINE, _SAMPLE = "#77777f", 11.0, 10.0


def draw_key(
    pen: Pen,
    grid: Mapping[str, Any],
    y: float,
    between: tuple[float, float],
    pins: Collection[tuple[int, int]] = (),
) -> float:
    """As many entries to a line as fit between two edges; where the last line ends."""
    names = (grid.get("scale") or {}).get("names", grid["groups"])  # of numbers, the bins alone
    entries = [(name.lower(), grid["groups"][name]) for name in names if name in grid["groups"]]
    entries.append((f"faded = {paleness(grid)}", ""))
    if any(word["unknown"] for word in grid["words"]):
        entries.append(("italic = unknown word", ""))
    if grid.get("lines"):
        entries.append(("bar = bits from the line above, whole height = 1", ""))
    if pins:
        entries.append(("pinned", "ring"))
    left, right = between
    x = left
    for text, sample in entries:
        room = _SAMPLE if sample else 0.0
        shown = pen.clipped(text, right - left - _SAMPLE)
        wide = pen.width(shown) + room
        if x > left and x + wide > right:
            x, y = left, y + _LINE
        if sample == "ring":
            pen.ring(x, y, 7, 7)
        elif sample:
            pen.box(x, y, 7, 7, sample)
        pen.text(x + room, y + 6.2, shown, color=_GREY)
        x += wide + 11
    return y + 8
