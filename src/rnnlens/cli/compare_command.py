"""`rnnlens compare`: where two runs, or two kinds of one, disagree over a corpus."""

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_bytes
from rnnlens.base.tables import csv_text
from rnnlens.cli.output import draw
from rnnlens.cli.shared_flags import add_trust_flags, allow_code, begin, check_runs
from rnnlens.cli.view_command import unique_names
from rnnlens.corpus.corpus_config import SPLITS
from rnnlens.draw.charts import check_chart
from rnnlens.draw.sentences import notes_of, sentence_page, sentence_table
from rnnlens.model.kinds import PREDICTION
from rnnlens.run.folder import Run, run_at
from rnnlens.work.recipes import COMPARED_WORDS

if TYPE_CHECKING:
    from rnnlens.search.disagreement import DisagreedSentence, Disagreement

_HELP = """\
Compare two runs, or two kinds of one run, over a whole corpus: after every word, how far apart are
what they say? The sentences on which they disagree most are listed, each with the word after which
they are furthest apart, in brackets, and what both find most probable there.

Two runs are compared by their own predictions, or by a kind that --kinds names; labels are the same
where they have the same name. With -o the list is written: .html with links to the page, which
`rnnlens view` serves, .csv or .json.

examples:
  rnnlens compare runs/lstm runs/gru --corpus news.txt
  rnnlens compare runs/lstm runs/gru --corpus news.txt --kinds h2 -o where.html --figure where.svg
  rnnlens compare runs/lstm --kinds l2,s2 --corpus news.txt      two kinds of one run
  rnnlens compare runs/lstm/kept/0002 runs/lstm --corpus news.txt   before and after training"""

_ENDINGS = (".html", ".csv", ".json")


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "compare", help="where two runs or two kinds disagree", description=_HELP
    )
    parser.add_argument("runs", metavar="RUN", type=run_at, nargs="+",
                        help="two run folders, or one whose kinds are compared")  # fmt: skip
    parser.add_argument("--corpus", metavar="CORPUS", required=True,
                        help="a file, a folder or nltk:NAME, whose words are read")  # fmt: skip
    parser.add_argument("--part", choices=("all", *SPLITS), default="all",
                        help="only sentences that the run's own training uses so, where CORPUS is "
                        "what it was trained on (default: all)")  # fmt: skip
    parser.add_argument("--kinds", default=PREDICTION, metavar="LIST",
                        help="one kind for both, or two with a comma (default: y)")  # fmt: skip
    parser.add_argument("--semantic", metavar="NAME",
                        help="the label asked about (default: the first fitted)")  # fmt: skip
    parser.add_argument("--words", type=int, dest="most", default=COMPARED_WORDS, metavar="N",
                        help=f"read so many words at most (default: {COMPARED_WORDS:,})"
                        )  # fmt: skip
    parser.add_argument("--top", type=int, default=50, metavar="N",
                        help="sentences to list (default: 50)")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="write the list: .html, .csv or .json")  # fmt: skip
    parser.add_argument("--figure", type=Path, metavar="FILE",
                        help="draw how far apart they are: .svg, .png or .pdf")  # fmt: skip
    parser.add_argument("--port", type=int, default=8000, metavar="N",
                        help="of the page that links lead to (default: 8000)")  # fmt: skip
    add_trust_flags(parser.add_argument_group("runs of modules"))
    parser.set_defaults(run=run_compare)


def run_compare(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    kinds = _kinds(args)
    if args.figure:
        check_chart(args.figure)
    if args.output and args.output.suffix not in _ENDINGS:
        raise RnnlensError(
            f"cannot write {args.output.name}; give a name ending in {', '.join(_ENDINGS)}"
        )
    for name, number in (("words", args.most), ("top", args.top)):
        if number < 1:
            raise RnnlensError(f"--{name} {number}: give a number from 1 up")
    check_runs(*args.runs)
    begin(f"comparing {' and '.join(str(run.path) for run in args.runs)} over {args.corpus}")
    from rnnlens.draw.charts import write_disagreement
    from rnnlens.lens.open import opened
    from rnnlens.work.corpus_jobs import disagreement

    allow_code(args, *args.runs)
    lenses = [
        opened(run, None, name)
        for run, name in zip(args.runs, unique_names(args.runs), strict=True)
    ]
    apart = disagreement(
        lenses[0], lenses[-1], args.corpus, kinds, args.semantic, part=args.part, words=args.most
    )
    top = apart.top(args.top)
    if args.figure:
        write_disagreement(apart, args.figure)
    if args.output:
        write_bytes(args.output.resolve(), _written(args, apart, top).encode())
    draw(sentence_table(apart, top, shutil.get_terminal_size().columns) + "\n")
    return 0


def _kinds(args: argparse.Namespace) -> tuple[str, str]:
    """The kind of each of the two."""
    kinds = [kind.strip() for kind in args.kinds.split(",") if kind.strip()]
    if len(args.runs) > 2:
        raise RnnlensError(f"{len(args.runs)} runs are given, and two are compared; leave some out")
    if not 1 <= len(kinds) <= 2:
        raise RnnlensError(f"--kinds {args.kinds}: give one kind, or two with a comma between")
    if len(args.runs) == 1 and len({*kinds}) < 2:
        raise RnnlensError(
            "one run is compared with itself; give another run, or two kinds such as --kinds l2,s2"
        )
    return kinds[0], kinds[-1]


def _written(
    args: argparse.Namespace, apart: "Disagreement", top: Sequence["DisagreedSentence"]
) -> str:
    """The list as a file holds it."""
    links = [f"http://127.0.0.1:{args.port}/{apart.link(one)}" for one in top]
    if args.output.suffix == ".html":
        return sentence_page(
            apart,
            top,
            links,
            f"The links lead to the page of: {_view(args.runs)} --port {args.port}",
        )
    rows = [
        {
            "bits": round(one.bits, 5), "most": round(one.most, 5), "step": one.step + 1,
            "word": one.words[one.step], "first": one.said[0], "second": one.said[1],
            "sentence": " ".join(one.words), "times": one.times, "link": where,
        }
        for one, where in zip(top, links, strict=True)
    ]  # fmt: skip
    if args.output.suffix == ".json":
        sure = apart.interval
        whole = {
            "bits": round(float(apart.bits.mean()), 5),
            "low": sure and round(sure.low, 5),
            "high": sure and round(sure.high, 5),
            "words": len(apart.bits),
            "all_sentences": len(apart.sentences),
            "notes": notes_of(apart),
            "sentences": rows,
        }
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    return csv_text(rows[0] if rows else (), (row.values() for row in rows))


def _view(runs: Sequence[Run]) -> str:
    return f"rnnlens view {' '.join(str(run.path) for run in runs)}"
