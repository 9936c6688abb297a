"""Long work in pieces. Between two of them whoever has it done may let others go first, or give it
up; where nobody does, as in a command, nothing happens there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Pace(Protocol):
    """Whoever has work done, as the work sees it."""

    waited: float  #: Seconds that the work has waited for others.

    def checkpoint(self) -> None:
        """Return when the work may go on; an error where it is given up."""

    def leave(self) -> None:
        """The work computes elsewhere for a while, so that others may have its place."""


_pace: ContextVar[Pace | None] = ContextVar("pace", default=None)


@contextmanager
def paced(pace: Pace) -> Iterator[None]:
    """Have what is done within, on this thread, keep to a pace."""
    token = _pace.set(pace)
    try:
        yield
    finally:
        _pace.reset(token)


def checkpoint() -> None:
    """Between two pieces of work, of some milliseconds each; not while a lock is held that others
    want, since this may wait for them.
    """
    if pace := _pace.get():
        pace.checkpoint()


@contextmanager
def elsewhere() -> Iterator[None]:
    """Around what computes without Python, such as a database, or waits for a lock."""
    pace = _pace.get()
    if pace:
        pace.leave()
    yield
    if pace:
        pace.checkpoint()


def waited() -> float:
    """Seconds that this work has waited for others, which are not its own."""
    pace = _pace.get()
    return pace.waited if pace else 0.0
