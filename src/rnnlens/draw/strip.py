"""What a state says of a number, in a figure: the mean, and the bins side by side."""

import math
from collections.abc import Mapping
from typing import Any

from rnnlens.draw.pen import Pen

_FULL = 0.5  # the probability of a bin that is as tall as can be, as on the page
_LEAST, _GROUND = 0.3, "#c9c9c3"


def draw_strip(
    pen: Pen, grid: Mapping[str, Any], state: Mapping[str, Any], at: tuple[float, float],
    size: tuple[float, float], base: float,
) -> None:  # fmt: skip
    """Within so much room; `base` is how far below the top the mean is written."""
    (left, top), (width, height), scale = at, size, grid["scale"]
    known, each = dict(state["top"]), width / len(scale["names"])
    room = height - base - 2
    for k, name in enumerate(scale["names"]):
        tall = max(_LEAST, min(1.0, known.get(name, 0.0) / _FULL) * room)
        colour = grid["groups"].get(name, _GROUND)
        pen.box(left + k * each, top + height - tall, each * 0.85, tall, colour)
    pen.text(left, top + base, mean_of(state, scale))


def mean_of(state: Mapping[str, Any], scale: Mapping[str, Any]) -> str:
    """The mean that a state says, as exact as can be told on its axis."""
    span = scale["edges"][-1] - scale["edges"][0] or 1.0
    near = round(state["number"][0], 2 - math.floor(math.log10(span))) + 0.0  # no negative zero
    return f"{near:.6g}".replace("-", "\N{MINUS SIGN}")
