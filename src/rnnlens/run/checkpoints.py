"""Checkpoints that a training keeps: each a run of its own, in the folder `kept` of the run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import is_present, write_bytes
from rnnlens.model.traceable import Traceable
from rnnlens.run.contents import TRAINED, TRAINING
from rnnlens.run.folder import Run

FOLDER = "kept"
_SHARED = ("vocabulary.json", "colours.json", "examples.safetensors")  # the same in all of them


def kept_name(run: str, epoch: int) -> str:
    """What the checkpoint of a run is called beside it."""
    return f"{run}-epoch-{epoch}"


def epochs_to_keep(count: int, epochs: int) -> list[int]:
    """After which of all epochs a checkpoint is kept: close together at first, when most is learnt,
    then ever further apart.
    """
    kept: list[int] = []
    for k in range(min(count, epochs)):
        wanted = round(epochs ** (k / max(1, count - 1)))
        left = min(count, epochs) - k - 1  # that are still to come after this one
        kept.append(min(max(wanted, kept[-1] + 1 if kept else 1), epochs - left))
    return kept


@dataclass(frozen=True)
class Keeper:
    """Keeps the weights of some epochs of a training beside the run that it ends with."""

    run: Run
    record: Mapping[str, Any]  # of the run
    epochs: tuple[int, ...]

    def after_epoch(self, epoch: int, model: Traceable) -> None:
        """Keep a checkpoint, if one is wanted after this epoch."""
        if epoch not in self.epochs:
            return
        kept = Run(self.run.path / FOLDER / f"{epoch:04}")
        record = {**self.record, "epoch": epoch}
        kept.create()
        kept.write_record({**record, "status": TRAINING})  # first: it marks the folder as a run
        for name in _SHARED:
            if is_present(self.run.path / name):
                write_bytes(kept.path / name, (self.run.path / name).read_bytes())
        kept.write_model(model)
        kept.write_record({**record, "status": TRAINED})


def kept_runs(run: Run) -> dict[int, Run]:
    """The checkpoints of a run's training by the epochs they are of, the earliest first.

    Other runs in their folder are refused: what is drawn over a training must be one training.
    """
    folder = run.path / FOLDER
    if not folder.is_dir():
        return {}
    corpus, kept = run.record().corpus, {}
    for path in sorted(path for path in folder.iterdir() if (path / "run.json").exists()):
        one = Run(path)
        record = one.record()
        if record.epoch is None or record.corpus.get("hash") != corpus.get("hash"):
            raise RnnlensError(
                f"{path} is no checkpoint of the training of {run.path}, but a run of another "
                "corpus; move it elsewhere"
            )
        if record.status == TRAINED:
            kept[record.epoch] = one
    return dict(sorted(kept.items()))
