"""How far back and forward each kind reaches: part of `rnnlens eval`."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.progress import Progress
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import Score, probe_scores
from rnnlens.probe.fit_loop import FitObserver, fit_probes
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import offset
from rnnlens.run.folder import Run

_FARTHEST = 100  # words


def add_reach_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that ask for it."""
    parser.add_argument("--horizon", type=int, metavar="N",
                        help="also measure how far kinds reach: N words back and forward"
                        )  # fmt: skip
    parser.add_argument("--reach", type=Path, metavar="FILE",
                        help="draw what --horizon measures: .svg, .png or .pdf")  # fmt: skip


def check_reach(args: argparse.Namespace) -> None:
    """Refuse what cannot be measured or drawn."""
    if args.reach and args.horizon is None:
        raise RnnlensError(f"--reach {args.reach}: say how far, such as --horizon 4")
    if args.horizon is not None:
        horizon_semantics(args.horizon)


def horizon_semantics(horizon: int) -> list[str]:
    """The labels from `horizon` steps earlier than the next one to as many later."""
    if not 1 <= horizon <= _FARTHEST:
        raise RnnlensError(f"--horizon {horizon}: give a number from 1 to {_FARTHEST}")
    return [f"output{k:+d}" if k else "output" for k in range(-horizon, horizon + 1)]


def reach(
    run: Run, probes: Probes, dataset: Dataset, horizon: int, states: int
) -> list[dict[str, Any]]:
    """The perplexity of every kind for each label around, beside that of the labels' frequencies.

    Probes that the run does not have are fitted as its others were, measured, and not kept.
    """
    semantics = horizon_semantics(horizon)
    missing = [semantic for semantic in semantics if semantic not in probes.semantics]
    known = replace(probes, stacks={s: v for s, v in probes.stacks.items() if s in semantics})
    scores = _scores(known, dataset, states) if known.stacks else []
    for semantic in missing:
        config = replace(run.fit_config(), semantic=semantic)
        fitted = fit_probes(dataset, config, FitObserver("reach "))
        scores += _scores(fitted.to(dataset.device), dataset, states)
    order = {semantic: k for k, semantic in enumerate(semantics)}
    return [
        {
            "semantic": score.semantic,
            "kind": score.kind,
            "perplexity": score.perplexity,
            "unigram": score.unigram,
        }
        for score in sorted(scores, key=lambda score: order[score.semantic])
    ]


def _scores(probes: Probes, dataset: Dataset, states: int) -> list[Score]:
    pairs = dataset.stream("test", probes.semantics[0]).pairs
    size = min(states or pairs, pairs) * len(probes.semantics)
    with Progress(size, unit="state", device=dataset.device, title="reach") as progress:
        return list(probe_scores(probes, dataset, states, progress.advance))


def reach_table(rows: list[dict[str, Any]]) -> str:
    """The share of the frequencies' perplexity that is left: 0 knows the label, 1 nothing of it."""
    semantics = list(dict.fromkeys(row["semantic"] for row in rows))
    left = {(row["kind"], row["semantic"]): _share(row) for row in rows}
    lines = [
        "perplexity over the labels' unigram perplexity, by words after the one just read",
        f"{'kind':<6}" + "".join(f"{offset(semantic):>+7d}" for semantic in semantics),
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        cells = (left[kind, semantic] for semantic in semantics)
        lines.append(f"{kind:<6}" + "".join(f"{c:>7.2f}" if c is not None else f"{'-':>7}"
                                            for c in cells))  # fmt: skip
    return "\n".join(lines)


def _share(row: dict[str, Any]) -> float | None:
    return None if row["perplexity"] is None else row["perplexity"] / row["unigram"]
