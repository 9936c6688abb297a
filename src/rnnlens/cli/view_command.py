"""`rnnlens view` and `rnnlens demo`: a run in the browser."""

import argparse
import webbrowser
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.cli.shared_flags import add_trust_flags, allow_code
from rnnlens.run.folder import CHECKPOINTS, Run, bundled, kept_name, run_at

_DEMO = """\
Show rnnlens at work, in the browser, with the networks that come along: english-news, a language
model trained on a million words; english-tags, a tagger that reads both ways; brackets, which close
as they opened; waves, a forecaster of numbers. A list in the page turns from one to another.

examples:
  rnnlens demo
  rnnlens demo waves      this one alone"""
_VIEW = """\
Open trained runs in the browser: type a sentence and see what every hidden state predicts after
each word. The server answers to this machine only; where others use the machine too, --token puts a
secret into the address, without which nobody is answered.

examples:
  rnnlens view runs/news
  rnnlens view runs/lstm runs/gru
  rnnlens view runs/news --colours mine.json
  rnnlens view english-news --index news-index
  rnnlens view runs/news --token --no-browser --port 8000
  rnnlens view runs/news --workers 4      for many people at once

A file for --colours: {"colours": {"ANIMAL": "#009e73"}, "groups": {"dog": "ANIMAL"}}; words that it
does not list are in the group OTHER."""


def add_to(verbs: Any) -> None:
    """Declare the verbs."""
    demo = verbs.add_parser("demo", help="the bundled networks in the browser", description=_DEMO)
    demo.add_argument("runs", metavar="NAME", type=_bundled, nargs="*",
                      default=[run_at(name) for name in bundled()],
                      help=f"{', '.join(bundled())} (default: all)")  # fmt: skip
    demo.set_defaults(
        run=run_view, colours=None, index=None, trust=False, trust_always=False, folders=[],
    )  # fmt: skip
    view = verbs.add_parser("view", help="open runs in the browser", description=_VIEW)
    view.add_argument("runs", metavar="RUN", type=run_at, nargs="+",
                      help=f"a run folder, or a bundled run: {', '.join(bundled())}")  # fmt: skip
    view.add_argument("--colours", metavar="FILE", type=Path,
                      help="your own groups of labels and their colours, as JSON")  # fmt: skip
    view.add_argument("--index", metavar="FOLDER", type=Path,
                      help="the first run's index, elsewhere than in RUN/index")  # fmt: skip
    add_trust_flags(view.add_argument_group("runs of modules"))
    view.set_defaults(run=run_view)
    for parser in (demo, view):
        parser.add_argument("--port", type=int, default=0, metavar="N",
                            help="default: any that is free")  # fmt: skip
        parser.add_argument("--no-browser", action="store_true", help="only print the address")
        parser.add_argument("--token", action="store_true",
                            help="answer only those who have the address's secret")  # fmt: skip
        parser.add_argument("--workers", type=int, default=1, metavar="N",
                            help="processes that answer and share the networks in memory, one for "
                            "each core where many people type at once (default: 1)")  # fmt: skip


def _bundled(name: str) -> Run:
    """A run that comes with the package."""
    if name not in bundled():
        raise RnnlensError(f"no bundled run is called {name!r}; there is {', '.join(bundled())}")
    return run_at(name)


def run_view(args: argparse.Namespace) -> int:
    """Serve runs until Ctrl-C."""
    from rnnlens.lens.lens import Lens
    from rnnlens.lens.open import opened_with_checkpoints
    from rnnlens.page.serve.app import serve
    from rnnlens.page.serve.guard import forwarding
    from rnnlens.page.serve.workers import check_workers
    from rnnlens.search.store import index_of

    def ready(address: str) -> None:
        heads = [
            lens
            for key, lens in lenses.items()
            if not (training := lens.subject.training) or training.of == key
        ]
        titles = ", ".join(lens.title for lens in heads)
        print(f"{titles} at {address} (Ctrl-C ends it)", flush=True)
        if not args.no_browser:
            hidden = files.enter_context(forwarding(address)) if args.token else address
            webbrowser.open(hidden)

    check_workers(args.workers)
    allow_code(args, *args.runs)
    names = unique_names(args.runs)
    lenses: dict[str, Lens] = {}
    for name, run in zip(names, args.runs, strict=True):
        if name not in lenses:  # as a checkpoint of another that is given, too
            lenses = opened_with_checkpoints(run, args.colours, name) | lenses
    lenses = {name: lenses[name] for name in dict.fromkeys([*names, *lenses])}
    if args.index:
        lenses[names[0]].subject.index_folder = args.index
        index_of(lenses[names[0]].subject)  # which refuses what is no index of this run
    with ExitStack() as files:
        token = token_urlsafe(24) if args.token else ""
        serve(
            {key: lens.subject for key, lens in lenses.items()},
            args.port,
            ready,
            token,
            files.close,
            args.workers,
        )
    return 0


def unique_names(runs: Sequence[Run]) -> list[str]:
    """The folders' names, numbered where they are the same: news, news-2; of a checkpoint that a
    training has kept, news-epoch-3.
    """
    names: list[str] = []
    for run in runs:
        path = run.path.resolve()
        is_checkpoint = path.parent.name == CHECKPOINTS and path.name.isdecimal()
        plain = (
            kept_name(path.parent.parent.name, int(path.name))
            if is_checkpoint
            else path.name or "run"
        )
        name, count = plain, 2
        while name in names:
            name, count = f"{plain}-{count}", count + 1
        names.append(name)
    return names
