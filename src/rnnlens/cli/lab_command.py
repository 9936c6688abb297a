"""`rnnlens lab`: a model and a suite of minimal pairs."""

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_bytes
from rnnlens.cli.output import draw
from rnnlens.cli.shared_flags import add_trust_flags, allow_code, begin, check_runs
from rnnlens.corpus.corpus_config import SPLITS
from rnnlens.draw.charts import Squares, check_chart, write_squares
from rnnlens.lab.suite import UNKNOWN, built_in, check_seed
from rnnlens.run.folder import run_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rnnlens.corpus.read import Sentence
    from rnnlens.lab.by_kind import ByParadigm
    from rnnlens.lab.laboratory import Lab

_HELP = f"""\
How often does a language model find the right one of two sentences more probable? SUITE is a file
of JSON lines, each a minimal pair (sentence_good, sentence_bad, UID: BLiMP's form); a suite of
SyntaxGym, as JSON; a file of templates; or one of those that come along:
{", ".join(built_in())}.

Told is how often it is right, by paradigm and by condition, with 95% intervals over items, and how
many items it was not asked since it does not know their words. Published accuracies of other models
stand beside it, where a models_summary.jsonl lies beside the suite, or with --published.

A template is a line such as: the {{N.sg|N.pl}} near the {{N}} {{V.sg|V.pl}}
with its lists above it: N.sg: author, key. docs/laboratory.md has all of it.

With --kinds every kind is asked, by its probe, which form it would have next: paradigms by kinds at
the last word before the critical one, or, with --paradigm, all words of one paradigm by kinds. With
--interchange a kind's state at a word is taken from the other context (the author ..., the authors
...), and the model goes on: which share of the difference between both moves with it?

With --units every unit of every memory and output is taken out: those without which the right form
is preferred least (in incongruent items, where there are such), confirmed on other items. With
--directions a dimension of each memory and output is found in two ways, interchanged and taken out,
beside a placebo. With --erase what two contexts differ in is erased from a kind at every word
(LEACE): what a probe can still read, what that costs the model, and what it does to the suite. With
--concept a tag, a group, a word or what the contrasts differ in is erased over a --corpus.

examples:
  rnnlens lab english-news agreement
  rnnlens lab english-news agreement --kinds --interchange --figure where.svg
  rnnlens lab english-news agreement --kinds --interchange --paradigm "one attractor"
  rnnlens lab english-news agreement --unit c2:174 --text "the authors near the teacher"
  rnnlens lab english-news agreement --units --directions --erase --paradigm "one attractor"
  rnnlens lab english-news agreement --concept NOUN --corpus news.conllu --only c2
  rnnlens lab runs/news agreement --half-lives news.txt
  rnnlens lab runs/news/kept/0002 agreement --beside runs/news
  rnnlens lab runs/news blimp.jsonl --json
  rnnlens lab runs/news mine.suite -o mine.csv"""

BESIDE = "beside"
_UNIT = re.compile(r".{1,200}:\d{1,9}")
_ENDINGS = (".json", ".csv", ".html")


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "lab", help="minimal pairs: what is right, where, and by what", description=_HELP
    )
    parser.add_argument("path", metavar="RUN", type=run_at, help="a run folder of a language model")
    parser.add_argument("suite", metavar="SUITE",
                        help="a file, or a suite that comes along")  # fmt: skip
    parser.add_argument("--unknown", choices=UNKNOWN, default=UNKNOWN[0],
                        help="leave out items with words that the model does not know, or keep "
                        "them (default: leave)")  # fmt: skip
    parser.add_argument("--most", type=int, metavar="N",
                        help="items made of each template at most")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="for what is drawn at random (default: 0)")  # fmt: skip
    parser.add_argument("--published", type=Path, metavar="FILE",
                        help="JSON lines of other models' accuracies, by UID")  # fmt: skip
    parser.add_argument("--kinds", action="store_true",
                        help="which kinds prefer the right form")  # fmt: skip
    parser.add_argument("--interchange", action="store_true",
                        help="what moves with a kind's state from the other context")  # fmt: skip
    parser.add_argument("--untrained", action="store_true",
                        help="interchange in a model with its weights in another order, too"
                        )  # fmt: skip
    parser.add_argument("--units", action="store_true",
                        help="the units without which it is right least")  # fmt: skip
    parser.add_argument("--unit", metavar="KIND:N",
                        help="follow one unit over --text, such as c2:174")  # fmt: skip
    parser.add_argument("--text", metavar="TEXT", help="what --unit is followed over")
    parser.add_argument("--directions", action="store_true",
                        help="directions along which it moves, with a placebo")  # fmt: skip
    parser.add_argument("--erase", action="store_true",
                        help="take what contexts differ in out of kinds")  # fmt: skip
    parser.add_argument("--concept", metavar="NAME",
                        help="take a tag, a group of labels or a word out of kinds at every word "
                        "of --corpus; next:NAME, of the word that comes; or contrast"
                        )  # fmt: skip
    parser.add_argument("--corpus", metavar="CORPUS", help="what --concept is taken out of")
    parser.add_argument("--texts", type=int, default=2_000, metavar="N",
                        help="sentences of --corpus at most (default: 2000)")  # fmt: skip
    parser.add_argument("--only", metavar="KINDS",
                        help="kinds for --units, --directions, --erase and --concept, with commas "
                        "(default: all memories and outputs)")  # fmt: skip
    parser.add_argument("--contrasts", type=int, metavar="N",
                        help="contrasts at most for --interchange and --directions (default: 1000)"
                        " and --erase (default: 15000)")  # fmt: skip
    parser.add_argument("--half-lives", metavar="CORPUS",
                        help="how long memory lasts, over a corpus")  # fmt: skip
    parser.add_argument("--beside", type=run_at, metavar="RUN",
                        help="another run, or a checkpoint, on the same items")  # fmt: skip
    parser.add_argument("--paradigm", metavar="NAME",
                        help="look at this paradigm alone, word by word")  # fmt: skip
    parser.add_argument("--figure", type=Path, metavar="FILE",
                        help="draw kinds and interchange: .svg, .png or .pdf")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="write it: .json, .csv or .html")  # fmt: skip
    add_trust_flags(parser.add_argument_group("a run of a module"))
    parser.set_defaults(run=run_lab)


def run_lab(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    _check(args)
    check_runs(args.path, *([args.beside] if args.beside else []))
    begin(f"asking {args.path.path} what {args.suite} asks")
    from rnnlens.lab.by_kind import ByParadigm
    from rnnlens.lab.lab_page import lab_page
    from rnnlens.lab.lab_tables import (
        TABLES,
        accuracy_table,
        kind_table,
        squares,
        unit_squares,
    )
    from rnnlens.lab.side_by_side import side_by_side
    from rnnlens.lens.open import opened

    allow_code(args, args.path, *([args.beside] if args.beside else []))
    found = opened(args.path).lab(
        args.suite, unknown=args.unknown, published=args.published, most=args.most, seed=args.seed
    )
    labs = {"": found}
    if args.beside:
        labs[BESIDE] = opened(args.beside).lab(found.items.suite, unknown=args.unknown)
    whole, tables, more_tables = found.to_json(), [accuracy_table(found)], list[str]()
    drawn, pictures = list[Squares](), list[ByParadigm]()
    for place, lab in labs.items():
        by_kind, more = _by_kind(args, lab), _more(args, lab)
        if place:
            more = {BESIDE: side_by_side(found, lab)} | more
            tables.append(f"beside it {lab.subject.name}:")
        tables += [kind_table(one, args.paradigm) for one in by_kind.values()]
        more_tables += [TABLES[name](one) for name, one in more.items()]
        tables += more_tables[len(more_tables) - len(more) :]
        drawn += [unit_squares(more["unit"])] if args.unit else []
        pictures += [replace(one, name=f"{lab.subject.name}: {one.name}") if args.beside else one
                     for one in by_kind.values()]  # fmt: skip
        told = {name: one.to_json() for name, one in (by_kind | more).items()}
        beside = told.pop(BESIDE, {})
        whole |= {BESIDE: beside | told} if place else told
    if args.figure:
        write_squares([*(squares(one, args.paradigm) for one in pictures), *drawn], args.figure)
    written = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if args.output:
        text = written
        if args.output.suffix != ".json":
            is_page = args.output.suffix == ".html"
            text = lab_page(found, pictures, more_tables) if is_page else found.to_csv()
        write_bytes(args.output.resolve(), text.encode())
    draw(written if args.json else "\n\n".join(tables) + "\n")
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse what does not go together, before anything is read."""
    if args.output and args.output.suffix not in _ENDINGS:
        raise RnnlensError(
            f"cannot write {args.output.name}; give a name ending in {', '.join(_ENDINGS)}"
        )
    check_seed(args.seed)
    if args.figure:
        check_chart(args.figure)
    if args.figure and not (args.kinds or args.interchange or args.unit):
        raise RnnlensError("--figure shows kinds; give --kinds or --interchange, or a --unit")
    if bool(args.unit) != bool(args.text):
        raise RnnlensError("--unit is followed over a --text; give both")
    if args.unit and not _UNIT.fullmatch(args.unit):
        raise RnnlensError(f"--unit {args.unit[:40]}: give a kind and a number, such as c2:174")
    if bool(args.concept) != bool(args.corpus):
        raise RnnlensError("--concept is taken out of a --corpus; give both")
    if args.untrained and not args.interchange:
        raise RnnlensError("--untrained is a control of --interchange; give that, too")


def _by_kind(args: argparse.Namespace, found: "Lab") -> dict[str, "ByParadigm"]:
    """What is asked of every kind, by its name in JSON."""
    by_kind, asked = {}, _asked(args)
    if args.kinds:
        by_kind["kinds"] = found.preferences(args.paradigm)
    if args.interchange:
        by_kind["interchange"] = found.interchange(**asked)
    if args.untrained:
        by_kind["untrained"] = found.interchange(untrained=True, **asked)
    return by_kind


def _asked(args: argparse.Namespace) -> dict[str, Any]:
    """What all that looks at contrasts is asked with."""
    most = {} if args.contrasts is None else {"most": args.contrasts}
    return {"seed": args.seed, "paradigm": args.paradigm, **most}


def _more(args: argparse.Namespace, found: "Lab") -> dict[str, Any]:
    """What is responsible, by its name in JSON."""
    kinds = args.only.split(",") if args.only else None
    more: dict[str, Any] = {}
    if args.units:
        more["units"] = found.units(kinds, seed=args.seed, paradigm=args.paradigm)
    if args.directions:
        more["directions"] = found.directions(kinds, **_asked(args))
    if args.erase:
        more["erase"] = found.erase(kinds, **_asked(args))
    if args.unit:
        kind, _, number = args.unit.rpartition(":")
        more["unit"] = found.unit(kind, int(number), args.text)
    if args.concept:
        more["concept"] = found.erase_concept(_sentences(args.corpus), args.concept, kinds,
                                              args.texts, args.seed, args.paradigm)  # fmt: skip
    if args.half_lives:
        more["half_lives"] = found.half_lives(_sentences(args.half_lives))
    return more


def _sentences(path: str) -> "Iterator[Sentence]":
    """All of a corpus, with their tags where it has some."""
    from rnnlens.corpus.corpus import Corpus
    from rnnlens.corpus.corpus_config import ReadingConfig

    corpus = Corpus.read(path, ReadingConfig())
    return (one for part in SPLITS for one in corpus.sentences(part))
