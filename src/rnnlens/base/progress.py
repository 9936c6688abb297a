"""Progress of long work: how long it takes, a bar in terminals, elsewhere a line now and then."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Self, TypeVar

from tqdm import tqdm

if TYPE_CHECKING:
    import torch

_WARM_UP = 3.0  # seconds of work that the first estimate is measured from
_LEAST_WORK = 30.0  # seconds; nothing is said about shorter work
_BETWEEN_LINES = 60.0  # seconds between lines, where there is no terminal
_MINUTE, _HOUR = 60, 3600

Item = TypeVar("Item")
Shorter = tuple[str, float] | None  # what makes work shorter, and the share of its time left then


def duration(seconds: float) -> str:
    """A time as people say it: `40 s`, `5 min`, `2.5 h`."""
    if seconds < 1.5 * _MINUTE:
        return f"{max(1, round(seconds, -1 if seconds > 10 else None)):.0f} s"
    if seconds < 1.5 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


def to_stderr(line: str) -> None:
    """Print a line where it is no part of what a command gives, without breaking a bar."""
    tqdm.write(line, file=sys.stderr)


class Progress:
    """A context for work of `total` units, which calls `advance` after each.

    After its first seconds, long work says how long it will take on this machine. `shorter` is what
    makes it shorter, and the share of the time that is left then: `("--epochs 10", 1 / 3)`. Bars
    are for terminals only; where there is none, a line each minute tells how far the work is.
    """

    def __init__(
        self,
        total: int,
        *,
        unit: str,
        device: "torch.device",
        done: int = 0,
        title: str = "",
        shorter: Shorter = None,
        say: Callable[[str], None] = to_stderr,
        quiet: bool = False,
        leave: bool = False,
    ) -> None:
        self.total, self.done, self.title, self.shorter = total, done, title, shorter
        self.device, self.say, self.quiet = device, say, quiet
        self.bar = tqdm(
            total=total,
            initial=done,
            unit=unit,
            desc=title or None,
            dynamic_ncols=True,
            leave=leave,
            disable=True if quiet else None,  # None: there is a bar in terminals only
        )
        self.said = self.since = time.monotonic()
        self.at = done  # units that were done at `since`
        # On a GPU the first step compiles and allocates, which is no measure of the others.
        self.is_warm, self.announced = device.type != "cuda", False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.bar.close()

    def over(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items; each is a unit of the work, done when the next is asked for."""
        for item in items:
            yield item
            self.advance()

    def advance(self, count: int = 1) -> None:
        """Note that some units are done, and say something if it is time to."""
        self.done += count
        self.bar.update(count)
        now = time.monotonic()
        if not self.is_warm:
            self.is_warm, self.since, self.at = True, now, self.done
        if self.quiet or self.done >= self.total:
            return
        if not self.announced and now - self.since >= _WARM_UP:
            self.announced = True
            if now - self.since + self._left(now) >= _LEAST_WORK:
                self._line(self._announcement(self._left(now)), now)
        elif self.bar.disable and now - self.said >= _BETWEEN_LINES:
            done, left = self.done / self.total, duration(self._left(now))
            self._line(f"{self._head()}{done:.0%} done, about {left} left", now)

    def begin(self) -> None:
        """Count time from now on, where no unit is done yet: what came before is none of them."""
        if self.done == self.at and not self.announced:
            self.since = time.monotonic()

    def expect(self, total: int) -> None:
        """Say anew how many units there are, where that is known only once work has begun."""
        self.total = self.bar.total = total

    def describe(self, title: str) -> None:
        """Change what stands beside the bar and at the head of lines."""
        self.title = title
        self.bar.set_description(title, refresh=False)

    def _left(self, now: float) -> float:
        """Seconds that the rest will take, at the speed so far."""
        return (now - self.since) / max(1, self.done - self.at) * (self.total - self.done)

    def _announcement(self, left: float) -> str:
        machine = "GPU" if self.device.type == "cuda" else "CPU"
        line = f"{self._head()}about {duration(left)} on this {machine}"
        if self.shorter:
            what, share = self.shorter
            line += f"; {what} makes it about {duration(left * share)}"
        return line

    def _head(self) -> str:
        return f"{self.title}: " if self.title else ""

    def _line(self, line: str, now: float) -> None:
        self.said = now
        self.say(line)
