"""Lenses from run folders."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.colours import palettes
from rnnlens.lens.lens import Lens
from rnnlens.reading.encoding import Palette
from rnnlens.reading.session import Session
from rnnlens.reading.subject import Subject, Training
from rnnlens.run.folder import Run, kept_name, kept_runs


def opened(run: Run, colours: Path | None = None, name: str = "", model: Any = None) -> Lens:
    """Everything a run holds; `model` is the user's module, where the run cannot tell.

    Nothing of the run is executed: code that it names waits until a new text is read, and until
    somebody has allowed it.
    """
    traceable = run.model(model)
    text = run.text(traceable)
    labels = text.vocabulary.labels
    probes = run.probes() if run.has_probes() else None
    if probes and probes.label_count != len(labels):
        raise RnnlensError(
            f"the probes in {run.path} have {probes.label_count} labels and its model "
            f"{len(labels)}; fit them anew: rnnlens fit {run.path}"
        )
    if probes and (strange := {*probes.kinds} - {kind.id for kind in traceable.kinds}):
        raise RnnlensError(
            f"the probes in {run.path} are of a kind {min(strange)!r}, which its model has not; "
            f"fit them anew: rnnlens fit {run.path}"
        )
    if probes and "output" not in probes.counts:  # fitted before these were kept with them
        counts = {"output": torch.tensor(text.vocabulary.counts), **probes.counts}
        probes = replace(probes, counts=counts)
    groupings = palettes(run.colours(), run.path / "colours.json", colours)
    shown = {key: Palette.of(labels, value, text.answers) for key, value in groupings.items()}
    session = Session(traceable, text, run.examples())
    name = name or run.path.resolve().name
    return Lens(Subject(name, session, shown, probes, run.scores(), run))


def opened_with_checkpoints(run: Run, colours: Path | None, name: str) -> dict[str, Lens]:
    """A run by its name, and the checkpoints that its training has kept by theirs."""
    lens, kept = opened(run, colours, name), kept_runs(run)
    if not kept:
        return {name: lens}
    last = _best_epoch(run) or max(kept)
    lenses = {name: lens}
    lens.subject.training = Training(name, last)
    for epoch, one in kept.items():
        if epoch != last:  # the run itself
            key = kept_name(name, epoch)
            lenses[key] = opened(one, colours, key)
            lenses[key].subject.training = Training(name, epoch)
    return lenses


def _best_epoch(run: Run) -> int | None:
    """The epoch whose weights a run has."""
    found = (run.record().metrics or {}).get("best_epoch")
    return found if isinstance(found, int) else None
