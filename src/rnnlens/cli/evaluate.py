"""`rnnlens eval`: how well a run's model predicts, beside the unigram baseline."""

import argparse
import json
import math
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rnnlens.cli.dataset import add_corpus_flags, dataset_of
from rnnlens.errors import RnnlensError
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import evaluate
from rnnlens.probe.fitting import fit_quietly
from rnnlens.probe.probes import Probes
from rnnlens.run import Run
from rnnlens.view.draw.accuracy import check_figure, write_figure

_HELP = """\
Measure a trained run: the model's own perplexity (lower is better) on the training, validation and
test sentences, beside a unigram model that knows only how often each word occurs; and, where probes
are fitted, every kind's on the test sentences: perplexity, its ratio to the model's own, how often
the most probable label is right, how far it is from the model's own prediction, and how far its
confidence is from the truth.

The corpus is read again from where training found it; if it has moved, say where with --corpus.

examples:
  rnnlens eval runs/news
  rnnlens eval runs/news --figure accuracy.svg
  rnnlens eval runs/news --json"""


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "eval",
        help="measure a run's perplexity",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", metavar="RUN", type=Path, help="a run folder")
    add_corpus_flags(parser)
    parser.add_argument("--states", type=int, default=0, metavar="N",
                        help="look at so many test states only (default: all)")  # fmt: skip
    parser.add_argument("--control", action="store_true",
                        help="also fit to shuffled labels: what a probe memorises")  # fmt: skip
    parser.add_argument("--figure", type=Path, metavar="FILE",
                        help="draw perplexity per kind: .svg, .png or .pdf")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or cuda:N")
    parser.set_defaults(run=run_eval)


def run_eval(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    if args.states < 0:
        raise RnnlensError(f"--states {args.states}: give a number from 0 up")
    if args.figure:
        check_figure(args.figure)
    run = Run(args.path)
    dataset = dataset_of(run, args)
    probes = run.probes().to(dataset.device) if run.has_probes() else None
    found: dict[str, Any] = {"model": dataset.measured()}
    if probes:
        found["probes"] = scores(probes, dataset, args.states)
    if probes and args.control:
        found["control"] = control(run, probes.semantics, dataset, args.states)
    found = finite(found)
    try:
        run.write_evaluation(found)
    except RnnlensError as error:  # a run of somebody else's is still worth measuring
        print(f"rnnlens: not saved: {error}", file=sys.stderr)
    if args.figure:
        write_figure(found, args.figure)
    print(json.dumps(found, indent=1) if args.json else "\n\n".join(tables(found)))
    return 0


def scores(probes: Probes, dataset: Dataset, states: int) -> list[dict[str, Any]]:
    """Every kind and semantic on the test split."""
    pairs = dataset.stream("test", probes.semantics[0]).pairs
    size = min(states or pairs, pairs) * len(probes.semantics)
    with tqdm(total=size, unit="state", disable=None, leave=False) as bar:
        return [asdict(score) for score in evaluate(probes, dataset, states, bar.update)]


def control(
    run: Run, semantics: tuple[str, ...], dataset: Dataset, states: int
) -> list[dict[str, Any]]:
    """The same fit and evaluation on shuffled labels: how much of a score is the probe's memory."""
    config = replace(run.fit_config(), semantic=",".join(semantics))
    shuffled = dataset.shuffled(config.seed)
    probes = fit_quietly(shuffled, config, "shuffled ", closed_form=False)
    return scores(probes.to(dataset.device), shuffled, states)


def finite(value: Any) -> Any:
    """The same with None for what is no number: a label that came may have probability 0."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: float | None, width: int, digits: int = 2) -> str:
    """A number, or a dash as wide."""
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"


def tables(found: dict[str, Any]) -> list[str]:
    """Everything that was measured, for people."""
    made = [table(found["model"])]
    by_chance = {(s["semantic"], s["kind"]): s["perplexity"] for s in found.get("control", ())}
    for semantic in dict.fromkeys(score["semantic"] for score in found.get("probes", ())):
        rows = [score for score in found["probes"] if score["semantic"] == semantic]
        seen, unigram = rows[0]["pairs"], rows[0]["unigram"]
        lines = [f"{semantic}, on {seen:,} test states; unigram perplexity {unigram:.2f}"]
        head = ("perplexity", "of own", "top-1", "KL bits", "calibration")
        lines.append(f"{'kind':<6}{head[0]:>12}{head[1]:>9}{head[2]:>9}{head[3]:>10}{head[4]:>13}")
        lines[-1] += f"{'shuffled':>12}" if by_chance else ""
        for row in rows:
            ratio, apart = _shown(row["ratio"], 9, 3), _shown(row["divergence"], 10, 3)
            shown = _shown(by_chance[semantic, row["kind"]], 12) if by_chance else ""
            lines.append(
                f"{row['kind']:<6}{_shown(row['perplexity'], 12)}{ratio}"
                f"{row['accuracy']:>9.2%}{apart}{row['calibration']:>13.4f}{shown}"
            )
        made.append("\n".join(lines))
    return made


def table(measured: dict[str, dict[str, float]]) -> str:
    """The same for people."""
    counted = next(iter(measured["train"]))  # sentences, or batches of somebody's own
    lines = [f"{'':<8}{counted:>12}{'pairs':>14}{'perplexity':>14}{'unigram':>12}"]
    for name, row in measured.items():
        lines.append(
            f"{name:<8}{row[counted]:>12,}{row['pairs']:>14,}"
            f"{_shown(row['perplexity'], 14)}{row['unigram']:>12.2f}"
        )
    return "\n".join(lines)
