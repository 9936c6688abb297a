"""`rnnlens eval`: how well a run's model and its probes predict."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.cli.output import draw
from rnnlens.cli.shared_flags import add_corpus_flags, add_trust_flags, allow_code, moved
from rnnlens.draw.charts import check_chart, write_accuracy, write_confusion, write_reach
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.semantics import offset
from rnnlens.run.folder import Run
from rnnlens.work.evaluate_run import cell, evaluate_run, model_table

_HELP = """\
Measure a trained run: the model's own perplexity (lower is better) on the training, validation and
test sentences, beside a unigram model that knows only how often each word occurs; and, where probes
are fitted, every kind's on the test sentences: perplexity, its ratio to the model's own, how often
the most probable label is right, how far it is from the model's own prediction, and how far its
confidence is from the truth. Of networks that tag or classify it is also said how often they are
right (accuracy), the mean F1 of their labels, and which labels they take for which (--confusion).

With --used it is also asked whether the model uses what a probe reads: a state is pushed along the
probe's row for a label, and the model's own log-probability of that label is looked at. `used` is
what it gains over the most that a push of equal size can do, `swap` how well the change of what the
probe says agrees with that of the prediction where states are swapped between texts, `random` what
a push in a random direction does, in nats.

With --horizon 4 every kind is also asked for the words from four earlier than the next one to four
later, which shows how far it remembers and plans: probes for those that the run has none for are
fitted, measured and not kept.

The corpus is read again from where training found it; if it has moved, say where with --corpus.

examples:
  rnnlens eval runs/news
  rnnlens eval runs/news --figure accuracy.svg
  rnnlens eval runs/news --used
  rnnlens eval runs/tagger --confusion confusion.svg
  rnnlens eval runs/news --horizon 4 --reach reach.svg
  rnnlens eval runs/news --json"""


_NO_MORE = 2e-4  # of the frequencies' perplexity: what half precision changes in it
_MORE = (("error", "error"), ("precision", "precision"))  # of numbers, and of sets of labels


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("eval", help="measure a run's perplexity", description=_HELP)
    parser.add_argument("path", metavar="RUN", type=Path, help="a run folder")
    add_corpus_flags(parser)
    parser.add_argument("--states", type=int, default=0, metavar="N",
                        help="look at so many test states only (default: all)")  # fmt: skip
    parser.add_argument("--control", action="store_true",
                        help="also fit to shuffled labels: what a probe memorises")  # fmt: skip
    parser.add_argument("--used", action="store_true",
                        help="also measure whether the model uses what is read")  # fmt: skip
    parser.add_argument("--figure", type=Path, metavar="FILE",
                        help="draw perplexity per kind: .svg, .png or .pdf")  # fmt: skip
    parser.add_argument("--confusion", type=Path, metavar="FILE",
                        help="draw which labels are taken for which: .svg, ...")  # fmt: skip
    parser.add_argument("--horizon", type=int, metavar="N",
                        help="also measure how far kinds reach: N words back and forward"
                        )  # fmt: skip
    parser.add_argument("--reach", type=Path, metavar="FILE",
                        help="draw what --horizon measures: .svg, .png or .pdf")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or cuda:N")
    add_trust_flags(parser.add_argument_group("a run of a module"))
    parser.set_defaults(run=run_eval)


def run_eval(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    for path in filter(None, (args.figure, args.confusion, args.reach)):
        check_chart(path)
    if args.reach and args.horizon is None:
        raise RnnlensError(f"--reach {args.reach}: say how far, such as --horizon 4")
    run = Run(args.path)
    run.check_finished()
    allow_code(args, run)
    measured = evaluate_run(
        run,
        states=args.states,
        used=args.used,
        control=args.control,
        horizon=args.horizon,
        device=args.device,
        moved=moved(args),
    )
    evaluation, training = measured.evaluation, measured.training
    if args.figure:
        write_accuracy(evaluation, args.figure)
    if args.confusion:
        write_confusion(evaluation.get("confusion"), args.confusion)
    if args.reach:
        write_reach(evaluation.get("reach", ()), args.reach)
    if args.json:
        more = {"training": training} if training else {}
        draw(json.dumps({**evaluation, **more}, indent=1) + "\n")
    else:
        print("\n\n".join([*tables(evaluation), *training_tables(training)]))
    return 0


def tables(evaluation: dict[str, Any]) -> list[str]:
    """An evaluation as tables of text: one for the model, and one for each semantic of probes."""
    texts = [model_table(evaluation["model"])]
    control = {(s["semantic"], s["kind"]): s["perplexity"] for s in evaluation.get("control", ())}
    for semantic in dict.fromkeys(score["semantic"] for score in evaluation.get("probes", ())):
        rows = [score for score in evaluation["probes"] if score["semantic"] == semantic]
        pairs, unigram = rows[0]["pairs"], rows[0]["unigram"]
        head = f"{'kind':<6}{'perplexity':>12}{'of own':>9}{'top-1':>9}{'KL bits':>10}"
        head += f"{'calibration':>13}" + (f"{'shuffled':>12}" if control else "")
        use = any(row.get("used") for row in rows)
        head += f"{'used':>8}{'swap':>8}{'random':>9}" if use else ""
        more = [(name, key) for name, key in _MORE if rows[0].get(key)]
        head += "".join(f"{name:>11}" for name, _ in more)
        lines = [f"{semantic}, on {pairs:,} test states; unigram perplexity {unigram:.2f}", head]
        for row in rows:
            shuffled = cell(control[semantic, row["kind"]], 12) if control else ""
            lines.append(
                f"{row['kind']:<6}{cell(row['perplexity'], 12)}{cell(row['ratio'], 9, 3)}"
                f"{row['accuracy']:>9.2%}{cell(row['divergence'], 10, 3)}"
                f"{row['calibration']:>13.4f}{shuffled}{_use(row.get('used')) if use else ''}"
                + "".join(f"{row[key]['probe']:>11.4g}" for _, key in more)
                + ("  says nothing" if _is_silent(row) else "")
            )
        lines += [_beside(name, rows[0][key]) for name, key in more]
        texts.append("\n".join(lines))
    if evaluation.get("reach"):
        texts.append(reach_table(evaluation["reach"]))
    return texts


def training_tables(training: dict[int, dict[str, Any]]) -> list[str]:
    """Perplexity of each kind after the epochs that were kept, a table for each semantic."""
    texts = []
    scores = {epoch: evaluation.get("probes", []) for epoch, evaluation in training.items()}
    for semantic in dict.fromkeys(row["semantic"] for rows in scores.values() for row in rows):
        kinds = dict.fromkeys(row["kind"] for row in next(iter(scores.values())))
        head = f"{'epoch':<8}" + "".join(f"{epoch:>9}" for epoch in scores)
        lines = [f"{semantic}, test perplexity over training", head]
        for kind in kinds:
            cells = [
                next(
                    (
                        r["perplexity"]
                        for r in rows
                        if (r["semantic"], r["kind"]) == (semantic, kind)
                    ),
                    None,
                )
                for rows in scores.values()
            ]
            lines.append(f"{kind:<8}" + "".join(cell(value, 9, 1) for value in cells))
        texts.append("\n".join(lines))
    return texts


def _is_silent(row: Mapping[str, Any]) -> bool:
    """Whether a kind's probe says the frequencies of labels, whatever its states are."""
    p, unigram = row["perplexity"], row["unigram"]
    return row["kind"] != PREDICTION and p is not None and abs(p / unigram - 1) < _NO_MORE


def _beside(name: str, measured: dict[str, float | None]) -> str:
    """What the probes' errors or precisions are to be compared with."""
    own = measured["model"]
    model = "" if own is None else f"the model itself {own:.4g}, "
    return f"{name}: {model}without any state {measured['constant']:.4g}"


def _use(measured: Mapping[str, float | None] | None) -> str:
    """What is used of a kind, as cells of a table."""
    numbers = measured or {}
    return "".join(
        cell(numbers.get(name), width) for name, width in (("used", 8), ("swap", 8), ("random", 9))
    )


def reach_table(rows: list[dict[str, Any]]) -> str:
    """The share of the frequencies' perplexity that is left: 0 knows the label, 1 nothing of it."""
    semantics = list(dict.fromkeys(row["semantic"] for row in rows))
    left = {(row["kind"], row["semantic"]): _share(row) for row in rows}
    lines = [
        "perplexity over the labels' unigram perplexity, by words after the one just read",
        f"{'kind':<6}" + "".join(f"{offset(semantic):>+7d}" for semantic in semantics),
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        shares = (left[kind, semantic] for semantic in semantics)
        lines.append(f"{kind:<6}" + "".join(cell(share, 7) for share in shares))
    return "\n".join(lines)


def _share(row: dict[str, Any]) -> float | None:
    return None if row["perplexity"] is None else row["perplexity"] / row["unigram"]
