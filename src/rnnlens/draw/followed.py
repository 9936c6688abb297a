"""Followed labels in figures and terminals: in every state a number, and a bar on one scale."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rnnlens.base.rules import colour
from rnnlens.draw.look import Grid
from rnnlens.draw.pen import Pen, mixed
from rnnlens.draw.printable import followed_title, odds_text, percent

FOR, AGAINST = colour("for"), colour("against")  # of no group, and told apart by everybody
_TRACK, _THICK = "#e6e6ea", 2.4
_STEPS = (1, 2, 5)


@dataclass(frozen=True)
class FollowedScale:
    """What is followed, and the value that a full bar stands for."""

    values: list[list[float]]
    is_odds: bool
    full: float
    title: str

    @classmethod
    def of(cls, followed: Grid, columns: Iterable[int]) -> "FollowedScale":
        """On a scale that holds all states of these columns."""
        is_odds, rows = bool(followed["against"]), followed["rows"]
        shown = list(columns)
        most = max((abs(row[k] or 0.0) for row in rows for k in shown if row), default=0.0)
        full = math.log(_round_up(math.exp(most), 2, 1000)) if is_odds else _round_up(most, 0.01, 1)
        whole = f"{math.exp(full):.0f}:1" if is_odds else percent(full)
        title = followed_title(followed["labels"], followed["against"])
        return cls(rows, is_odds, full, f"{title}; a full bar is {whole}")

    def number(self, value: float) -> str:
        """A followed number as people read it: 12%, or the odds 3.2:1."""
        return odds_text(value) if self.is_odds else percent(value)

    def part(self, value: float) -> float:
        """How much of a full bar it is, -1 to 1."""
        return max(-1.0, min(1.0, value / self.full))

    def shade(self, value: float) -> str:
        """A colour for it alone, where there is no room for a bar."""
        part = self.part(value)
        return mixed(FOR if part >= 0 else AGAINST, abs(part))

    def write(self, pen: Pen, place: tuple[float, float], room: float, value: float) -> None:
        """The number, and below it its bar in a figure; odds grow from the middle."""
        x, y = place
        pen.text(x + 1, y + 6.2, self.number(value))
        part, top = self.part(value), y + 8.6
        pen.box(x, top, room, _THICK, _TRACK)
        half = room / 2 if self.is_odds else 0.0
        length = max(abs(part) * (room - half), 0.4)
        left = x + half - (length if part < 0 else 0)
        pen.box(left, top, length, _THICK, FOR if part >= 0 else AGAINST)

    def typed(self, value: float) -> tuple[str, float, str]:
        """The number, how much of a full bar it fills and the bar's colour, in a terminal."""
        part = self.part(value)
        return self.number(value), abs(part), FOR if part >= 0 else AGAINST


def _round_up(value: float, least: float, most: float) -> float:
    """The next 1, 2 or 5 with any number of zeros, in these bounds."""
    if value >= most:
        return most
    power = 10.0 ** math.floor(math.log10(max(value, least)))
    scaled = max(value, least) / power
    return power * next(step for step in (*_STEPS, 10) if scaled <= step * (1 + 1e-9))
