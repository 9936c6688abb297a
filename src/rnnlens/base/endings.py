"""What is put away when a signal ends the process at once: `finally` would come too late."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_undone: list[Callable[[], object]] = []


@contextmanager
def put_away(work: Callable[[], object]) -> Iterator[None]:
    """Have `work` done when a signal ends the process within, and only then."""
    _undone.append(work)
    try:
        yield
    finally:
        _undone.remove(work)


def clear() -> None:
    """Do all that is to be done, the last first; nothing may keep the process from ending."""
    for work in reversed(_undone):
        with suppress(Exception):
            work()
