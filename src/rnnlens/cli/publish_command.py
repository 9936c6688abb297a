"""`rnnlens publish`: the live page of a run in one file."""

import argparse
from pathlib import Path
from typing import Any

from rnnlens.cli.shared_flags import add_trust_flags, allow_code, check_runs
from rnnlens.cli.show_command import sentence
from rnnlens.draw.saving import check_page
from rnnlens.page.publish.precisions import PRECISIONS
from rnnlens.run.folder import bundled, run_at

_HELP = """\
Write the page of a run as one file that computes by itself: the network, its probes and its words
are inside. It opens by a double click, from any host of files and in an iframe, with nothing to
install and nothing to serve; whatever is typed there stays there.

Weights are kept in a byte each with a scale a row, and what all labels go through in two bytes.
With --precision fp16 everything is in two, so that no top label is another than here, and the file
is almost twice as large.

Of recorded states, which have no network, the file keeps some of the texts with their states: they
are chosen from a list, and drawn, compared and followed as here.

With --story the file is a live article: the prose of a Markdown file with the lens beside it. A
link such as [what it keeps](#text=we+stand&at=l2:2) is a view, copied from the page's address bar;
scrolling to its paragraph, or a click, sets the lens to it.

examples:
  rnnlens publish runs/news -o lens.html
  rnnlens publish runs/news -o lens.html --text "we stand in solidarity" --semantic output
  rnnlens publish english-news -o lens.html --title "What an LSTM expects" --note "Of our paper."
  rnnlens publish runs/news -o lens.html --precision fp16
  rnnlens publish runs/news -o article.html --story story.md"""


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "publish", help="write the live page as one file, no server", description=_HELP
    )
    parser.add_argument("at", metavar="RUN", type=run_at,
                        help=f"a run folder, or a bundled run: {', '.join(bundled())}")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", required=True,
                        help="a name ending in .html")  # fmt: skip
    parser.add_argument("--semantic", default="", metavar="NAMES",
                        help="which probes are inside, comma between (default: all)")  # fmt: skip
    parser.add_argument("--precision", choices=PRECISIONS, default="int8",
                        help="of weights (default: int8)")  # fmt: skip
    parser.add_argument("--colours", type=Path, metavar="FILE",
                        help="your own groups and colours, as JSON")  # fmt: skip
    parser.add_argument("--texts", type=int, metavar="N",
                        help="of recorded states, how many texts are inside")  # fmt: skip
    page = parser.add_argument_group("what the page says")
    page.add_argument("--title", default="", metavar="TEXT", help="in place of the run's name")
    page.add_argument("--note", default="", metavar="TEXT", help="a paragraph above the text")
    page.add_argument("--text", metavar="TEXT",
                      help="what is read first (default: the run's first example)")  # fmt: skip
    page.add_argument("--story", type=Path, metavar="FILE",
                      help="prose in Markdown beside the lens; its links set it")  # fmt: skip
    add_trust_flags(parser.add_argument_group("runs of modules"))
    parser.set_defaults(run=run_publish)


def run_publish(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    check_page(args.output)
    check_runs(args.at)
    from rnnlens.lens.open import opened
    from rnnlens.page.publish import live_page

    allow_code(args, args.at)
    lens = opened(args.at, args.colours)
    semantics = [name for part in args.semantic.split(",") if (name := part.strip())]
    text = None if args.text is None else sentence(args.text)
    words = live_page.Words(args.title, args.note, text, args.story)
    page = live_page.published(lens.subject, semantics, args.precision, words, args.texts)
    print(f"{args.output}: {page}", flush=True)
    page.write(args.output)
    return 0
