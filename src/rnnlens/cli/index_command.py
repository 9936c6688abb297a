"""`rnnlens index`: what every state of a corpus says, as Parquet beside the run."""

import argparse
from pathlib import Path
from typing import Any

from rnnlens.cli.shared_flags import (
    add_corpus_flags,
    add_trust_flags,
    allow_code,
    begin,
    check_runs,
    terminal,
)
from rnnlens.run.folder import run_at
from rnnlens.search.index_files import arrow

_HELP = """\
Write down what every state says after every word of a corpus, as Parquet files in RUN/index, which
`rnnlens find` asks and any program that reads Parquet can take from there: for each word where it
stands, its tag, the word that came and how surprising it was; for each kind the most probable
labels, the dominant group and its share, the entropy, the rank and probability of what came, and
how far its prediction is from those of the states that feed it and from that of the step before.

Without --corpus it is the corpus that the run was trained on, its test sentences unless --split
names others. A corpus that the run has not seen is indexed as a whole.

With --states the states themselves are kept too, for `similar`: int8 takes a byte for each number
of a state, fp16 two. A small index needs none: its states are computed anew when asked for.

examples:
  rnnlens index runs/news
  rnnlens index runs/news --split test,train --states int8 --state-kinds l2,h2
  rnnlens index runs/news --corpus letters.txt
  torchrun --nproc-per-node 4 -m rnnlens index runs/news

Ctrl-C stops; the same command continues where it stopped."""


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "index", help="write down what every state of a corpus says", description=_HELP
    )
    parser.add_argument("path", metavar="RUN", type=run_at, help="a run folder")
    add_corpus_flags(parser, corpus="what to index, or where the run's corpus is now")
    parser.add_argument("--split", metavar="NAMES",
                        help="parts of the run's corpus: test, valid, train (default: test)"
                        )  # fmt: skip
    parser.add_argument("--words", dest="most_words", type=int, metavar="N",
                        help="only the first sentences, up to so many words")  # fmt: skip
    parser.add_argument("--semantic", metavar="NAME",
                        help="what states are asked for (default: the first that is fitted)"
                        )  # fmt: skip
    parser.add_argument("--states", default="", metavar="SORT",
                        help="keep the states too, as int8 or fp16")  # fmt: skip
    parser.add_argument("--state-kinds", default="", metavar="KINDS",
                        help="of these kinds only, such as l2,h2")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER",
                        help="write it there and not in RUN/index")  # fmt: skip
    parser.add_argument("--anew", action="store_true", help="drop an index that is there")
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or cuda:N")
    add_trust_flags(parser.add_argument_group("a run of a module"))
    parser.set_defaults(run=run_index)


def run_index(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    arrow()
    check_runs(args.path)
    begin(f"indexing what the states of {args.path.path} say")
    from rnnlens.lens.open import opened
    from rnnlens.work.corpus_jobs import check_indexable, index

    run = check_indexable(args.path, args.output)
    allow_code(args, run)
    index(
        opened(run),
        args.corpus,
        args.output,
        states=args.states,
        state_kinds=tuple(filter(None, args.state_kinds.split(","))),
        split=args.split,
        words=args.most_words,
        semantic=args.semantic,
        valid=args.valid,
        test=args.test,
        anew=args.anew,
        device=args.device,
        observer=terminal(args),
    )
    return 0
