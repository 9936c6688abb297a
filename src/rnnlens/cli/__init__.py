"""The command `rnnlens`."""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from rnnlens.base.errors import RnnlensError, RnnlensWarning, Stopped
from rnnlens.cli.output import plain_output
from rnnlens.model.network_config import KEYED
from rnnlens.version import __version__

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
_VERBS = "view train fit evaluate show compare index find publish lab".split()


class Parser(argparse.ArgumentParser):
    """Shows descriptions as they are written, and raises errors as RnnlensError, in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, formatter_class=argparse.RawDescriptionHelpFormatter)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """A positional that may be left out may also stand behind options: argparse takes it for
        left out at the first option, and leaves it over.
        """
        known, rest = super().parse_known_args(args, namespace)
        for action in self._actions:
            absent = getattr(known, action.dest, None) is action.default
            is_optional = not action.option_strings and action.nargs == "?"
            if is_optional and absent and rest and not rest[0].startswith("-"):
                setattr(known, action.dest, self._get_values(action, [rest.pop(0)]))
        return known, rest

    def error(self, message: str) -> NoReturn:
        raise RnnlensError(f"{message}; see: {self.prog} --help")


def parser() -> Parser:
    """The parser of the command line: every verb with its flags."""
    command = Parser(
        prog="rnnlens",
        description="See what every hidden state of a recurrent network predicts.",
        epilog="Start with: rnnlens demo. Then: rnnlens train CORPUS -o RUN, rnnlens view RUN.",
    )
    command.add_argument("--version", action="version", version=f"rnnlens {__version__}")
    verbs = command.add_subparsers(metavar="COMMAND", required=True)
    for verb in _VERBS:
        import_module(f"rnnlens.cli.{verb}_command").add_to(verbs)
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error that a user can mend is one line and exit code 2."""
    with plain_output():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    less = "--batch or --width"
    # Torch's threads would spin while they wait for each other, and so take the core from the one
    # that they wait for. OpenMP reads this when torch is loaded, which is below.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("once", RnnlensWarning)
            warnings.showwarning = partial(_warn, warnings.showwarning)
            args = parser().parse_args(words)
            args.words = words
            less = "--batch, --width or --keys" if getattr(args, "cell", None) in KEYED else less
            return int(args.run(args))
    except RnnlensError as error:
        print("rnnlens:", " ".join(str(error).splitlines()), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt as error:
        if not isinstance(error, Stopped):  # whose observer was told
            print("rnnlens: stopped", file=sys.stderr)
        return error.code if isinstance(error, Stopped) else INTERRUPTED
    except BrokenPipeError:  # the program that reads the output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        print(f"rnnlens: {error}; give another path", file=sys.stderr)
        return BAD_INPUT
    except (MemoryError, RuntimeError) as error:
        if not _is_memory(error):
            raise
        print(f"rnnlens: out of memory; give a smaller {less}", file=sys.stderr)
        return BAD_INPUT


def _warn(show: Callable[..., None], message: Warning | str, *place: Any, **more: Any) -> None:
    """Print warnings of rnnlens in one line, and leave others to `show`."""
    if isinstance(message, RnnlensWarning):
        print(f"rnnlens: {message}", file=sys.stderr)
    else:
        show(message, *place, **more)


def _is_memory(error: Exception) -> bool:
    """Whether torch or Python ran out of memory; torch has a name for it on CUDA only."""
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or "can't allocate memory" in str(error)
