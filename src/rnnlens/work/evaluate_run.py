"""Measuring a run: its model, its probes, and the checkpoints that its training kept."""

import warnings
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
