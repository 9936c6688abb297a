"""What commands write to the terminal: text alone, nothing that a terminal would obey.

Names and messages may come from runs, corpora and requests that others made. Whatever is printed,
warned of, logged or shown as progress passes through here, so that no place can be forgotten.
"""

import errno
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from traceback import format_exception
from types import TracebackType
from typing import Any, TextIO

from rnnlens.draw.printable import shown

LONGEST = 2_000  # characters of a line
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


class Plain:
    """A stream that shows control characters instead of obeying them, and cuts long lines."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write some text; a carriage return may begin it, as where progress is drawn anew."""
        begin = text[:1] if text[:1] == "\r" else ""
        lines = text[len(begin) :].split("\n")
        self._put(begin + "\n".join(_cut(shown(line)) for line in lines))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        """Write some texts."""
        for line in lines:
            self.write(line)

    def draw(self, text: str) -> None:
        """Write what is meant as it is: colours stay, and long lines are whole."""
        parts = _COLOUR.split(text)
        parts[::2] = ["\n".join(map(shown, part.split("\n"))) for part in parts[::2]]
        self._put("".join(parts))

    def flush(self) -> None:
        """Write what waits."""
        with _though_gone():
            self.stream.flush()

    def _put(self, text: str) -> None:
        with _though_gone():
            self.stream.write(text)


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


@contextmanager
def _though_gone() -> Iterator[None]:
    """Go on where the terminal was closed: a run is still to be saved."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise


@contextmanager
def plain_output() -> Iterator[None]:
    """Let everything that is written while this lasts, and errors after it, be plain."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (Plain(stream) for stream in before)
    sys.excepthook = partial(_explain, Plain(before[1]))
    try:
        yield
    finally:
        with suppress(ValueError):  # where a test or a notebook has closed it
            sys.stdout.flush()
        sys.stdout, sys.stderr = before


def draw(text: str) -> None:
    """Write to standard output what is meant as it is: a drawing, or JSON."""
    stream: Any = sys.stdout
    stream.draw(text) if isinstance(stream, Plain) else stream.write(text)


def _explain(
    stream: Plain, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an error that nobody expected."""
    stream.write("".join(format_exception(kind, error, trace)))
