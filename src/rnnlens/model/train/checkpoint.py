"""A trainer's whole state in one file, written whole or not at all."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Strict, damaged
from rnnlens.base.tensors import check_same, read_sealed, write_tensors
from rnnlens.model.train.training import Progress, Trainer

_REMEDY = "delete it to start this training anew"
_OPTIMISER = ("step", "exp_avg", "exp_avg_sq")  # what AdamW knows of each parameter


@dataclass(frozen=True)
class _Header(Strict):
    """What a checkpoint says beside its tensors."""

    identity: str  # tells this training from others
    progress: Progress


def _tensors(trainer: Trainer) -> dict[str, Tensor]:
    """Every tensor of a trainer by its name in the file, but for those of the optimiser."""
    tensors: dict[str, Tensor] = {"nll": trainer.nll}
    tensors |= {f"network.{name}": p for name, p in trainer.network.named_parameters()}
    tensors |= {f"average.{name}": p for name, p in trainer.average.named_parameters()}
    return tensors | {f"best.{name}": p for name, p in trainer.best.items()}


def _optimiser_tensors(trainer: Trainer) -> dict[str, Tensor]:
    """What the optimiser has after its first step, for names and shapes only."""
    once = torch.zeros((), dtype=torch.float32)
    return {
        f"{key}.{name}": once if key == "step" else p
        for name, p in trainer.network.named_parameters()
        for key in _OPTIMISER
    }


def save_checkpoint(trainer: Trainer, path: Path, identity: str) -> None:
    """Write the state; `identity` tells this training from others."""
    tensors = _tensors(trainer)
    for name, p in trainer.network.named_parameters():
        for key, value in trainer.optimiser.state[p].items():
            tensors[f"{key}.{name}"] = value
    write_tensors(path, tensors, _Header(identity, trainer.progress))


@torch.no_grad()
def load_checkpoint(
    trainer: Trainer, path: Path, identity: str, plain: Callable[[str], str] = str
) -> None:
    """Put a trainer where `save_checkpoint` left it; a damaged file is refused.

    `plain` makes those identities the same that different versions write of one training.
    """
    tensors, header = read_sealed(path, _Header, _REMEDY)
    if plain(header.identity) != plain(identity):
        raise RnnlensError(
            f"{path} belongs to another training; delete it or choose another folder"
        )
    progress, config = header.progress, trainer.config
    if max(progress.epoch, progress.best_epoch) > config.epochs or progress.step > trainer.steps:
        raise damaged(path, "it is beyond the end of the training", _REMEDY)
    wanted = _tensors(trainer)
    has_begun = bool(progress.epoch or progress.step)
    optimiser = _optimiser_tensors(trainer) if has_begun else {}
    check_same(path, tensors, wanted | optimiser, _REMEDY)
    for name, values in wanted.items():
        values.copy_(tensors[name])
    for name, p in trainer.network.named_parameters():
        if has_begun:
            trainer.optimiser.state[p] = {
                key: tensors[f"{key}.{name}"].to(p.device) for key in _OPTIMISER
            }
    trainer.progress = progress
