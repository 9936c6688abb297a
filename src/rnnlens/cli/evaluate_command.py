"""`rnnlens eval`: how well a run's model and its probes predict."""

import argparse
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.cli.output import draw
from rnnlens.cli.shared_flags import add_corpus_flags, add_trust_flags, allow_code, begin, moved
from rnnlens.draw.charts import check_chart
from rnnlens.draw.measured import cell, model_table
from rnnlens.model.kinds import PREDICTION
from rnnlens.probe.semantics import offset
from rnnlens.run.folder import Run

_HELP = """\
Measure a trained run: the model's own perplexity (lower is better) on the training, validation and
test sentences, beside a unigram model that knows only how often each word occurs; and, where probes
are fitted, every kind's on the test sentences: perplexity, its ratio to the model's own, how often
the most probable label is right, how far it is from the model's own prediction, and how far its
confidence is from the truth. Of networks that tag or classify it is also said how often they are
right (accuracy), the mean F1 of their labels, and which labels they take for which (--confusion).

Numbers have 95% intervals, low to high, by resampling sentences; the test figures of the model are
also told without the sentences that occur in training. Where two kinds come out in another order in
more than one in forty of the resampled texts, they are listed as not told apart, six pairs at
most, and none of two kinds that are no better than the frequencies of labels.

With --used it is also asked whether the model uses what a probe reads. A state is pushed towards a
label by two deviations of the states' own covariance: `used` is what the model's own
log-probability of the label gains, over a push of equal size along the gradient. `swap` is how well
the change of what the probe says agrees with that of the prediction where states are interchanged
between texts, `erased` what each prediction loses, in nats, where the labels are erased from all
states of the kind and texts are read anew. In brackets what a control does: a push towards another
label, another interchange, erasing as many random directions.

With --control every word type is given a label at random, and `selectivity` says how much better a
probe tells the true labels; `bits` is the description length of a label with the states at hand.
With --temperature it is found on validation sentences what logits are best divided by.
--all is all three.

With --horizon 4 every kind is also asked for the words from four earlier than the next one to four
later, which shows how far it remembers and plans: probes for those that the run has none for are
fitted, measured and not kept.

The corpus is read again from where training found it; if it has moved, say where with --corpus.

examples:
  rnnlens eval runs/news
  rnnlens eval runs/news --figure accuracy.svg
  rnnlens eval runs/news --all
  rnnlens eval runs/tagger --confusion confusion.svg
  rnnlens eval runs/news --horizon 4 --reach reach.svg
  rnnlens eval runs/news --json"""


_NO_MORE = 2e-4  # of the frequencies' perplexity: what half precision changes in it
_MORE = (("error", "error"), ("precision", "precision"))  # of numbers, and of sets of labels
_NEARLY_ALWAYS = 0.975  # of the resampled texts
_CLOSE = 6  # pairs of kinds that are not told apart, at most; of more it is said how many


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("eval", help="measure a run's perplexity", description=_HELP)
    parser.add_argument("path", metavar="RUN", type=Path, help="a run folder")
    add_corpus_flags(parser)
    parser.add_argument("--states", type=int, default=0, metavar="N",
                        help="look at so many test states only (default: all)")  # fmt: skip
    parser.add_argument("--control", action="store_true",
                        help="also measure what a probe memorises of word types")  # fmt: skip
    parser.add_argument("--used", action="store_true",
                        help="also measure whether the model uses what is read")  # fmt: skip
    parser.add_argument("--temperature", action="store_true",
                        help="also find what logits are best divided by")  # fmt: skip
    parser.add_argument("--all", action="store_true",
                        help="--used, --control and --temperature")  # fmt: skip
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
    begin(f"measuring {run.path}")
    from rnnlens.draw.charts import write_accuracy, write_confusion, write_reach
    from rnnlens.work.evaluate_run import evaluate_run

    allow_code(args, run)
    measured = evaluate_run(
        run,
        states=args.states,
        used=args.used or args.all,
        control=args.control or args.all,
        temperature=args.temperature or args.all,
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
    """An evaluation as tables of text: one for the model, and for each semantic of probes one of
    scores, and those of what was measured beside them.
    """
    texts = [model_table(evaluation["model"])]
    for semantic in dict.fromkeys(score["semantic"] for score in evaluation.get("probes", ())):
        rows = [score for score in evaluation["probes"] if score["semantic"] == semantic]
        texts.append(_score_table(semantic, rows))
        texts += [table for table in (_use_table(rows), _control_table(rows)) if table]
    if evaluation.get("reach"):
        texts.append(reach_table(evaluation["reach"]))
    return texts


def _score_table(semantic: str, rows: list[dict[str, Any]]) -> str:
    """How well each kind predicts."""
    from rnnlens.base.intervals import too_few

    pairs, unigram, sentences = (rows[0][n] for n in ("pairs", "unigram", "sentences"))
    sure = any(row["intervals"] for row in rows)
    warm = any(row["temperature"] for row in rows)
    head = f"{'kind':<6}{'perplexity':>12}" + (f"{'95%':>16}" if sure else "")
    head += f"{'of own':>9}{'top-1':>9}" + (f"{'95%':>16}" if sure else "")
    head += f"{'KL bits':>10}{'calibration':>13}" + (f"{'temperature':>13}" if warm else "")
    more = [(name, key) for name, key in _MORE if rows[0].get(key)]
    head += "".join(f"{name:>11}" for name, _ in more)
    about = f"{semantic}, on {pairs:,} test states of {sentences:,} sequences"
    lines = [f"{about}; unigram perplexity {unigram:.2f}", head]
    for row in rows:
        ends = row["intervals"]
        lines.append(
            f"{row['kind']:<6}{cell(row['perplexity'], 12)}"
            + (_ends(ends.get("perplexity"), 16) if sure else "")
            + f"{cell(row['ratio'], 9, 3)}{row['accuracy']:>9.2%}"
            + (_ends(ends.get("accuracy"), 16, percent=True) if sure else "")
            + f"{cell(row['divergence'], 10, 3)}{row['calibration']:>13.4f}"
            + (cell((row["temperature"] or {}).get("value"), 13) if warm else "")
            + "".join(f"{row[key]['probe']:>11.4g}" for _, key in more)
            + ("  says nothing" if _is_silent(row) else "")
        )
    lines += [_beside(name, rows[0][key]) for name, key in more]
    lines += [] if sure else [too_few(sentences)]
    if close := not_told_apart(rows):
        said = [f"{a} below {b} in {share:.0%} of resamples" for a, b, share in close[:_CLOSE]]
        if left := len(close) - len(said):
            said.append(f"and {left} more {'pairs' if left > 1 else 'pair'}")
        lines.append("not told apart: " + "; ".join(said))
    return "\n".join(lines)


def not_told_apart(rows: list[dict[str, Any]]) -> list[tuple[str, str, float]]:
    """Kinds that follow one another in the order of their perplexities, and in which share of the
    resampled texts the first is below the second, where that is not nearly always. Those that are
    both no better than the frequencies are left out: which of them is below another says nothing.
    """
    measured = [row for row in rows if row["perplexity"] is not None and row["below"]]
    order = sorted(measured, key=lambda row: float(row["perplexity"]))
    pairs = (
        (a["kind"], b["kind"], a["below"].get(b["kind"], 1.0))
        for a, b in pairwise(order)
        if a["perplexity"] < a["unigram"] * (1 - _NO_MORE)
    )
    return [pair for pair in pairs if pair[2] < _NEARLY_ALWAYS]


def _use_table(rows: list[dict[str, Any]]) -> str:
    """What the model uses of what is read; empty where that was not measured."""
    measured = [(row["kind"], row["used"]) for row in rows if row.get("used")]
    if not measured:
        return ""
    _, first = measured[0]
    lines = [
        (
            f"used, on {first['sentences']:,} sequences, a state of each; pushes of "
            f"{first['deviations']:g} deviations; {first['rank']} directions erased"
        ),
        (
            f"{'kind':<6}{'used':>7}{'95%':>14}{'gain':>8}{'other':>9}{'later':>8}{'random':>9}"
            f"{'swap':>7}{'other':>9}{'erased':>8}{'random':>9}"
        ),
    ]
    for kind, use in measured:
        lines.append(
            f"{kind:<6}{cell(use['used'], 7)}{_ends(use['intervals'].get('used'), 14)}"
            f"{cell(use['read'], 8)}{_in_brackets(use['shuffled'])}"
            f"{cell(use['later'], 8)}{_in_brackets(use['later_random'])}"
            f"{cell(use['interchange'], 7)}{_in_brackets(use['interchange_shuffled'])}"
            f"{cell(use['erased'], 8)}{_in_brackets(use['erased_random'])}"
            + (f"  {use['called']}" if use["called"] else "")
        )
    return "\n".join(lines)


def _control_table(rows: list[dict[str, Any]]) -> str:
    """What probes memorise, and how short labels are told; empty where that was not measured."""
    measured = [row for row in rows if row.get("control") and row.get("description")]
    if not measured:
        return ""
    control, told = measured[0]["control"], measured[0]["description"]
    lines = [
        (
            f"controls in closed form, on {control['states']:,} test states of "
            f"{control['sentences']:,} sequences, {control['types']:,} word types; bits over "
            f"{told['states']:,} states, {told['uniform']:.2f} where all labels are as probable, "
            f"{told['unigram']:.2f} by frequencies"
        ),
        f"{'kind':<6}{'top-1':>9}{'control':>9}{'selectivity':>13}{'95%':>18}{'bits':>8}{'95%':>16}",
    ]
    for row in measured:
        control, told = row["control"], row["description"]
        lines.append(
            f"{row['kind']:<6}{control['accuracy']:>9.2%}{control['control']:>9.2%}"
            f"{control['selectivity']:>13.2%}{_ends(control, 18, percent=True)}"
            f"{told['bits']:>8.2f}{_ends(told, 16)}"
        )
    return "\n".join(lines)


def _ends(interval: Mapping[str, Any] | None, width: int, *, percent: bool = False) -> str:
    """An interval as a cell of a table, or a dash."""
    if not interval or interval["low"] is None:
        return f"{'-':>{width}}"
    low, high = interval["low"], interval["high"]
    told = f"{low:.1%} to {high:.1%}" if percent else f"{low:.2f} to {high:.2f}"
    return f"{told:>{width}}" if len(told) < width else f" {told}"


def _in_brackets(value: float | None) -> str:
    return f"{'(-)' if value is None else f'({value:.2f})':>9}"


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
