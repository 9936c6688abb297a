"""`rnnlens view` and `rnnlens demo`: a run in the browser."""

import argparse
import os
import webbrowser
from pathlib import Path
from typing import Any

from rnnlens import __version__
from rnnlens.corpus.grammar import conllu
from rnnlens.files import write_bytes
from rnnlens.run import TRAINED, Run

_DEMO = """\
Show rnnlens at work. A small LSTM is trained on sentences of a generated grammar, which takes a
moment the first time and is kept for the next, and then opened in the browser."""
_VIEW = """\
Open a trained run in the browser: type a sentence and see what the network predicts after each
word. The server answers to this machine only."""
_DEMO_FLAGS = "--width 64 --layers 2 --epochs 12 --batch 32 --device cpu".split()
_DEMO_SENTENCES = 3000


def add_to(verbs: Any) -> None:
    """Declare the verbs."""
    demo = verbs.add_parser("demo", help="a small model in the browser, at once", description=_DEMO)
    demo.set_defaults(run=run_demo)
    view = verbs.add_parser("view", help="open a run in the browser", description=_VIEW)
    view.add_argument("path", metavar="RUN", type=Path, help="a run folder")
    view.set_defaults(run=run_view)
    for parser in (demo, view):
        parser.add_argument("--port", type=int, default=0, metavar="N",
                            help="default: any that is free")  # fmt: skip
        parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run_view(args: argparse.Namespace) -> int:
    """Serve a run until Ctrl-C."""
    from rnnlens.view.grid import Lens
    from rnnlens.view.server import serve

    def ready(address: str) -> None:
        print(f"{lens.title} at {address} (Ctrl-C ends it)", flush=True)
        if not args.no_browser:
            webbrowser.open(address)

    lens = Lens.load(Run(args.path))
    serve(lens, args.port, ready)
    return 0


def run_demo(args: argparse.Namespace) -> int:
    """Train the demonstration's run if it is not there yet, by the ordinary command; serve it."""
    import torch

    torch.set_num_threads(1)  # so small a network only waits for a second thread
    args.path = demo_run()
    return run_view(args)


def demo_run() -> Path:
    """The demonstration's run, in the user's cache folder."""
    from rnnlens.cli import main

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "rnnlens" / f"demo-{__version__}"
    run, corpus = Run(folder / "grammar"), folder / "grammar.conllu"
    if not (run.exists() and run.record()["status"] == TRAINED):
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(corpus, conllu(_DEMO_SENTENCES).encode())
        code = main(["train", str(corpus), "-o", str(run.path), *_DEMO_FLAGS])
        if code:
            raise SystemExit(code)
    return run.path
