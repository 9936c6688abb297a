"""Numbers that a model reads in place of words: each timestep's as one whole number, so that texts
of them are kept and compared as others are.
"""

import math
import re
import struct
from collections.abc import Sequence

from rnnlens.base.errors import RnnlensError

_BETWEEN = re.compile(r"[\s,;]+")


def split(text: str, features: int) -> list[str]:
    """The words of a text: one a timestep, the features of each with commas between."""
    pieces = text.split() if features > 1 else _BETWEEN.split(text)
    return [piece for piece in pieces if piece]


def encode(word: str, features: int) -> int:
    """The numbers of one timestep as one: their bits side by side."""
    try:
        values = [float(part) for part in word.split(",")]
        bits = struct.pack(f"<{len(values)}f", *values)
    except (ValueError, OverflowError):
        values, bits = [], b""
    if len(values) != features or not all(map(math.isfinite, values)):
        wanted = "numbers" if features == 1 else f"{features} numbers a timestep, as 1,0.5"
        raise RnnlensError(f"{word!r} is not what the model reads; give {wanted}, spaces between")
    return int.from_bytes(bits, "little")


def decode(number: int, features: int) -> tuple[float, ...]:
    """The inverse of `encode`."""
    return struct.unpack(f"<{features}f", number.to_bytes(4 * features, "little"))


def written(values: Sequence[float]) -> str:
    """Numbers of one timestep as a word, with a few digits, as people would type them."""
    return ",".join(f"{value:.4g}" for value in values)
