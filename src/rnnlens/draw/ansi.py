"""Colours as terminals take them."""

from functools import cache
from itertools import product

PLAIN, INDEXED, TRUE = 0, 256, 1 << 24  # how many colours a terminal can show
_CUBE = (0, 95, 135, 175, 215, 255)  # levels of a channel among the 256 colours


def code(colour: str, colours: int) -> str:
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
