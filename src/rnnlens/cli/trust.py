"""The flags that let a command run the code that a run names."""

import argparse
from pathlib import Path
from typing import Any

from rnnlens.run.folder import Run
from rnnlens.run.trusted_code import search


def add_trust_flags(parser: Any) -> None:
    """Declare them."""
    parser.add_argument("--trust", action="store_true",
                        help="run the code that the run names, of a module that somebody else may "
                        "have made")  # fmt: skip
    parser.add_argument("--trust-always", action="store_true",
                        help="the same, remembered for this run")  # fmt: skip
    parser.add_argument("--path", dest="folders", action="append", default=[], type=Path,
                        metavar="FOLDER", help="where code is that is not installed")  # fmt: skip


def heed(args: argparse.Namespace, *runs: Run) -> None:
    """Do what the flags say."""
    search(args.folders)
    for run in runs:
        if args.trust or args.trust_always:
            run.allow_code(always=args.trust_always)
