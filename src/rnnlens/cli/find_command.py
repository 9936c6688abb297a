"""`rnnlens find`: the words of a corpus whose states say what is asked for."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.cli.output import draw
from rnnlens.draw.printable import shown
from rnnlens.run.folder import run_at
from rnnlens.search.language import GRAMMAR, QueryError

if TYPE_CHECKING:
    from rnnlens.search.answers import Hit
    from rnnlens.search.find import Found

_SHOWN = 20  # answers in the terminal, unless the question has a limit
_HELP = (
    """\
Find the words of an indexed corpus by what the states after them say, or count them. The index is
made by: rnnlens index RUN

"""
    + GRAMMAR
    + """

Names of groups may be written small. `share` is how much of the probability of the top 10% of
labels the dominant group holds; `came` and `rank` are the probability and the rank of the word that
came. Of each state the index knows the five most probable labels; others count as having no
probability.

examples:
  rnnlens find runs/news 'l2 expects verb > .4 and y expects noun and word = "that"'
  rnnlens find runs/news 'l2 disagrees with s2 count by tag'
  rnnlens find runs/news 'l2 differs from s2 > .5 sort by surprisal desc limit 50' -o found.csv
  rnnlens find runs/news 'y expects "was" > .3 and within 5 before tag = NOUN' --sql
  rnnlens find runs/news --sql 'SELECT tag, avg(l2_entropy) FROM words GROUP BY tag'"""
)


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "find", help="find words by what states say after them", description=_HELP
    )
    parser.add_argument("path", metavar="RUN", type=run_at, help="a run folder with an index")
    parser.add_argument("question", metavar="QUESTION", nargs="?", help="see above")
    parser.add_argument("--sql", nargs="?", const="", metavar="QUERY",
                        help="show the question as SQL; or ask this SQL instead")  # fmt: skip
    parser.add_argument("--index", type=Path, metavar="FOLDER",
                        help="an index elsewhere than in RUN/index")  # fmt: skip
    parser.add_argument("--view", default="", metavar="ADDRESS",
                        help="of a page of rnnlens view, for links that can be opened"
                        )  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="write all answers: .csv, .json or .parquet")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print all answers as JSON")
    parser.set_defaults(run=run_find)


def run_find(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    if bool(args.question) == bool(args.sql):
        raise RnnlensError("give a question, or SQL with --sql; see: rnnlens find --help")
    from rnnlens.search.find import check_ending, find
    from rnnlens.search.store import Index

    if args.output:
        check_ending(args.output)
    index = Index.of(args.path, args.index)
    if args.sql:
        _give(args, index.ask(args.sql, by_user=True))
        return 0
    try:
        answer = find(index, args.question, None if args.output or args.json else _SHOWN)
    except QueryError as error:
        if error.query:
            print(error.pointed(), file=sys.stderr)
        raise
    if args.sql is not None:
        print(answer.sql)
    elif args.output or args.json or answer.is_count:
        _give(args, answer.table)
    else:
        draw(_sentences(answer, args.view))
    return 0


def _give(args: argparse.Namespace, table: Any) -> None:
    """A table as a file, as JSON, or as lines."""
    from rnnlens.search.find import as_json, as_lines, save

    if args.output:
        save(table, args.output)
        print(f"{len(table):,} rows in {args.output}")
    elif args.json:
        draw(as_json(table))
    else:
        print(as_lines(table, 100))


def _sentences(answer: "Found", address: str) -> str:
    """The answers as sentences with the place marked, and what the kinds say there."""
    lines = [answer.summary()]
    if answer.total > len(answer):
        lines[0] += f"; the first {len(answer)}, or with limit N more:"
    bold = sys.stdout.isatty()
    for hit in answer:
        lines += ["", _place(hit), "  " + _marked(hit, bold=bold)]
        lines_of_kinds = [
            f"{said.kind} {said.group} {said.share:.2f} ({said.label} {said.probability:.0%})"
            for said in hit.says
        ]
        if lines_of_kinds:
            lines.append("  " + ", ".join(lines_of_kinds))
        lines.append("  " + address.rstrip("#") + hit.link)
    return "\n".join(lines) + "\n"


def _place(hit: "Hit") -> str:
    came = "" if hit.next is None else f", then {hit.next} ({hit.surprisal:.1f} bits)"
    tag = f" {hit.tag}" if hit.tag else ""
    return f"{hit.split} {hit.sentence}, word {hit.position + 1}{tag}{came}"


def _marked(hit: "Hit", *, bold: bool) -> str:
    words = [shown(word) for word in hit.words]
    begin, end = ("\x1b[1m[", "]\x1b[0m") if bold else ("[", "]")
    words[hit.position] = f"{begin}{words[hit.position]}{end}"
    return " ".join(words)
