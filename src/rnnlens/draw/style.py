"""What is asked of a figure, and what is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Style:
    """What is asked of a figure."""

    columns: Sequence[int]
    bars: int = 3
    compact: bool = False
    symbols: bool = False
    width: float | None = None  # inches; without it, what the grid takes
    title: str = ""
    followed: Mapping[str, Any] | None = None  # labels that take the place of the bars
    pins: frozenset[tuple[int, int]] = frozenset()  # states to ring: their row and column
    key: bool = True  # below the grid: what colours and marks mean


@dataclass(frozen=True)
class Drawing:
    """A figure as a file holds it."""

    data: bytes
    width: float  # inches
    height: float
    type: float  # points of its smallest text
