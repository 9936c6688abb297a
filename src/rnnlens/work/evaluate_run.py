"""Measuring a run: its model, its probes, and the checkpoints that its training kept."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import (
    Evaluation,
    evaluate_model,
    evaluate_probes,
    horizon_semantics,
    model_scores,
)
from rnnlens.run.corpus_data import Moved, of_model, run_dataset
from rnnlens.run.folder import Run, kept_runs


@dataclass(frozen=True)
class Measured:
    """What was measured of a run and, by epoch, of its checkpoints, as evaluation.json holds it."""

    evaluation: dict[str, Any]
    training: dict[int, dict[str, Any]] = field(default_factory=dict)


def evaluate_run(
    run: Run,
    *,
    states: int = 0,
    used: bool = False,
    control: bool = False,
    horizon: int | None = None,
    device: str = "auto",
    moved: Moved | None = None,
) -> Measured:
    """Measure a run on the corpus that it was made with, and write evaluation.json.

    What is measured beside the scores is as in `evaluate_probes`.
    """
    if states < 0:
        raise RnnlensError(f"--states {states}: give a number from 0 up")
    if horizon is not None:
        horizon_semantics(horizon)
    dataset = run_dataset(run, device, moved)
    sha = run.probes_hash()
    evaluation = evaluate_model(dataset, run.vocabulary().labels)
    if sha:
        probes = run.probes().to(dataset.device)
        config = run.fit_config() if control or horizon else None
        measured = evaluate_probes(
            probes, dataset, config, states=states, used=used, control=control, horizon=horizon or 0
        )
        evaluation = Evaluation(
            measured, measured.control, measured.reach, evaluation.model, evaluation.confusion
        )
    contents = evaluation.to_json(sha)
    _save(run, contents)
    return Measured(contents, _measured_checkpoints(run, dataset, states))


def _measured_checkpoints(run: Run, dataset: Dataset, states: int) -> dict[int, dict[str, Any]]:
    """The evaluation of each checkpoint that the training kept, by its epoch; it is written to the
    checkpoint's own folder, too.
    """
    by_epoch: dict[int, dict[str, Any]] = {}
    for epoch, checkpoint in kept_runs(run).items():
        test = of_model(dataset, checkpoint.network().to(dataset.device), ["test"])
        sha, evaluation = checkpoint.probes_hash(), Evaluation(model=model_scores(test).parts)
        if sha:
            probes = checkpoint.probes().to(dataset.device)
            scores = evaluate_probes(probes, test, states=states)
            evaluation = Evaluation(scores, model=evaluation.model)
        by_epoch[epoch] = evaluation.to_json(sha)
        _save(checkpoint, by_epoch[epoch])
    return by_epoch


def _save(run: Run, evaluation: dict[str, Any]) -> None:
    """Write evaluation.json; a run that one may not write to is still worth measuring."""
    try:
        with run.writing():
            run.write_evaluation(evaluation)
    except RnnlensError as error:
        warnings.warn(f"not saved: {error}", RnnlensWarning, stacklevel=3)


def model_table(model: Mapping[str, Mapping[str, float | None]]) -> str:
    """What a model is worth on each split, beside the unigram baseline, as a table."""
    unit = next(iter(model["train"]))  # sentences, or a user's batches
    answers = "accuracy" in model["train"]
    head = f"{'':<8}{unit:>12}{'pairs':>14}{'perplexity':>14}{'unigram':>12}"
    lines = [head + (f"{'accuracy':>12}{'macro F1':>12}" if answers else "")]
    for name, row in model.items():
        right = f"{row['accuracy']:>12.2%}{row['macro_f1']:>12.2%}" if answers else ""
        lines.append(
            f"{name:<8}{row[unit]:>12,}{row['pairs']:>14,}"
            f"{cell(row['perplexity'], 14)}{cell(row['unigram'], 12)}{right}"
        )
    return "\n".join(lines)


def cell(value: float | None, width: int, digits: int = 2) -> str:
    """A number of a table, or a dash for None."""
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"
