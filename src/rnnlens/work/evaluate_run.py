"""Measuring a run: its model, its probes, and the checkpoints that its training kept."""

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import torch

from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.base.progress import duration, to_stderr
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import (
    Evaluation,
    evaluate_model,
    evaluate_probes,
    horizon_semantics,
    model_scores,
)
from rnnlens.probe.probes import Probes
from rnnlens.probe.used import SENTENCES
from rnnlens.run.corpus_data import Moved, of_model, run_dataset
from rnnlens.run.folder import Run, kept_runs

_TRIED = 2048  # rows of logits that tell how fast a machine is
# Rows of logits for each kind: of each sentence that is pushed; of a control with its description
# length; of a temperature. What is done to them is counted in.
_PUSHED, _CONTROLLED, _WARMED = 120, 80_000, 30_000
_SAMPLED = 20_000  # states that are read for a control


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
    temperature: bool = False,
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
    probes = run.probes().to(dataset.device) if sha else None
    if probes and (used or control or temperature):
        seconds = cost(probes, dataset, states=states, used=used, control=control,
                       temperature=temperature)  # fmt: skip
        to_stderr(f"everything that was asked for: about {duration(seconds)} on this machine")
    evaluation = evaluate_model(dataset, run.vocabulary().labels)
    if probes:
        config = run.fit_config() if control or horizon else None
        measured = evaluate_probes(
            probes, dataset, config, states=states, used=used, control=control,
            temperature=temperature, horizon=horizon or 0,
        )  # fmt: skip
        evaluation = Evaluation(measured, measured.reach, evaluation.model, evaluation.confusion)
    contents = _saved(run, evaluation.to_json(sha))
    return Measured(contents, _measured_checkpoints(run, dataset, states))


def cost(
    probes: Probes, dataset: Dataset, *, states: int, used: bool, control: bool, temperature: bool
) -> float:
    """About how many seconds an evaluation takes, counted in rows of logits and states that are
    read; what these take is tried.
    """
    kinds, data = len(probes.kinds), dataset.splits
    rows = sum(int(part.counts.sum()) for part in data.values())  # of the model itself
    tested = int(data["test"].counts.sum())
    length = tested / max(1, int((data["test"].counts > 0).sum()))
    semantics = len(probes.semantics)
    rows += semantics * kinds * min(states or tested, tested)
    rows += kinds * SENTENCES * int(_PUSHED + 2 * length) * used
    rows += semantics * kinds * _CONTROLLED * control
    rows += semantics * kinds * _WARMED * temperature
    read = sum(int(part.counts.sum()) for part in data.values()) + semantics * tested
    read += kinds * SENTENCES * int(_PUSHED + 2 * length) * used + _SAMPLED * semantics * control
    semantic, kind = probes.semantics[0], probes.kinds[0]
    tried = torch.zeros(_TRIED, probes.stacks[semantic].widths[0], device=dataset.device)
    for _ in range(2):  # the first allocates
        began = time.perf_counter()
        found = probes.logits(kind, tried, semantic).log_softmax(-1).exp().sum()
        float(found)  # a GPU is waited for
        seconds = time.perf_counter() - began
    began = time.perf_counter()
    chunk = next(dataset.stream("test", semantic, _TRIED).chunks())
    tracing = (time.perf_counter() - began) / max(1, len(chunk.labels))
    return seconds / _TRIED * rows + tracing * read


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
        by_epoch[epoch] = _saved(checkpoint, evaluation.to_json(sha))
    return by_epoch


def _saved(run: Run, evaluation: dict[str, Any]) -> dict[str, Any]:
    """Write evaluation.json, and tell what it holds; a run that one may not write to is still worth
    measuring.
    """
    try:
        with run.writing():
            run.write_evaluation(evaluation)
    except RnnlensError as error:
        warnings.warn(f"not saved: {error}", RnnlensWarning, stacklevel=3)
    return {**evaluation, "weights": run.model_hash()}
