"""What verbs share: the flags for where a run's corpus is now and whether its code may be run, and
how things are printed.
"""

import argparse
import errno
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from traceback import format_exception
from types import TracebackType
from typing import Any, TextIO

from tqdm import tqdm

from rnnlens.base.flags import Options
from rnnlens.draw.printable import shown
from rnnlens.run.corpus_data import Moved
from rnnlens.run.folder import Run
from rnnlens.run.trusted_code import search
from rnnlens.work.observer import Observer


def terminal(args: argparse.Namespace) -> Observer:
    """Who a job reports to that a command has begun."""
    again = "give the same command again to continue"
    return Observer(tqdm.write, again, shlex.join(["rnnlens", *args.words]))


def given(args: argparse.Namespace, *configs: type[Options]) -> dict[str, Any]:
    """The options of configurations for which a flag was given."""
    names = [one.name for config in configs for one in fields(config)]
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def add_corpus_flags(parser: Any, *, corpus: str = "where the run's corpus is now") -> None:
    """Declare the flags that say where a run's corpus is, if it has moved since training."""
    parser.add_argument("--corpus", metavar="CORPUS", help=corpus)
    for name, what in (("valid", "validation"), ("test", "test")):
        parser.add_argument(f"--{name}", metavar="CORPUS",
                            help=f"where the run's {what} corpus is now")  # fmt: skip


def moved(args: argparse.Namespace) -> Moved:
    """What the flags say of a run's corpus."""
    return Moved(args.corpus, args.valid, args.test)


def add_trust_flags(parser: Any) -> None:
    """Declare the flags that let a command run the code that a run names."""
    parser.add_argument("--trust", action="store_true",
                        help="run the code that the run names, of a module that somebody else may "
                        "have made")  # fmt: skip
    parser.add_argument("--trust-always", action="store_true",
                        help="the same, remembered for this run")  # fmt: skip
    parser.add_argument("--path", dest="folders", action="append", default=[], type=Path,
                        metavar="FOLDER", help="where code is that is not installed")  # fmt: skip


def allow_code(args: argparse.Namespace, *runs: Run) -> None:
    """Let the code of runs be found and imported, as far as the flags say so."""
    search(args.folders)
    for run in runs:
        if args.trust or args.trust_always:
            run.allow_code(always=args.trust_always)


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
