"""A trainer's whole state in one file, written whole or not at all."""

import math
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.files import read_tensors, write_tensors
from rnnlens.model.train.training import Progress, Trainer


def save_checkpoint(trainer: Trainer, path: Path, identity: str) -> None:
    """Write the state; `identity` tells this training from others."""
    tensors: dict[str, Tensor] = {"nll": trainer.nll}
    for name, p in trainer.network.named_parameters():
        tensors[f"network.{name}"] = p
        for key, value in trainer.optimiser.state[p].items():
            tensors[f"{key}.{name}"] = value
    tensors |= {f"average.{name}": p for name, p in trainer.average.named_parameters()}
    tensors |= {f"best.{name}": p for name, p in trainer.best.items()}
    progress = asdict(trainer.progress)
    if math.isinf(trainer.progress.best):
        progress["best"] = None
    write_tensors(path, tensors, {"identity": identity, "progress": progress})


@torch.no_grad()
def load_checkpoint(trainer: Trainer, path: Path, identity: str) -> None:
    """Put a trainer where `save_checkpoint` left it."""
    tensors, header = read_tensors(path)
    try:
        if header["identity"] != identity:
            raise RnnlensError(
                f"{path} belongs to another training; delete it or choose another folder"
            )
        progress = Progress(**header["progress"])
        trainer.nll.copy_(tensors["nll"])
        for name, p in trainer.network.named_parameters():
            p.copy_(tensors[f"network.{name}"])
            state = {key: tensors.get(f"{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")}
            if state["exp_avg"] is not None:
                trainer.optimiser.state[p] = {
                    k: v.to(p.device) for k, v in state.items() if v is not None
                }
        for name, p in trainer.average.named_parameters():
            p.copy_(tensors[f"average.{name}"])
        for name, weights in trainer.best.items():
            weights.copy_(tensors[f"best.{name}"])
    except (KeyError, TypeError, RuntimeError) as error:
        raise RnnlensError(
            f"{path} is damaged ({error}); delete it to start this training anew"
        ) from error
    progress.best = math.inf if progress.best is None else progress.best
    trainer.progress = progress
