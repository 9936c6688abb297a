"""Flags that several verbs have: where a run's corpus is now, and whether its code may be run."""

import argparse
import os
import shlex
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from rnnlens.base.flags import Options
from rnnlens.base.later import import_torch
from rnnlens.base.progress import to_stderr
from rnnlens.run.folder import Run
from rnnlens.run.trusted_code import search

if TYPE_CHECKING:
    from rnnlens.run.corpus_data import Moved
    from rnnlens.work.observer import Observer


def terminal(args: argparse.Namespace) -> "Observer":
    """Who a job reports to that a command has begun."""
    from rnnlens.work.observer import Observer

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


def moved(args: argparse.Namespace) -> "Moved":
    """What the flags say of a run's corpus."""
    from rnnlens.run.corpus_data import Moved

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


def check_runs(*runs: Run) -> None:
    """Refuse folders that hold no run, before a second is spent on importing torch."""
    for run in runs:
        run.record()


def begin(line: str) -> None:
    """Say to whoever watches what a command is about to do, and import torch, which takes seconds;
    of several processes the first says it.
    """
    if sys.stderr.isatty() and os.environ.get("RANK", "0") == "0":
        to_stderr(line)
    import_torch()


def allow_code(args: argparse.Namespace, *runs: Run) -> None:
    """Let the code of runs be found and imported, as far as the flags say so."""
    search(args.folders)
    for run in runs:
        if args.trust or args.trust_always:
            run.allow_code(always=args.trust_always)
