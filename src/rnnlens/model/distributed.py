"""Several processes under torchrun. Alone, every function returns what it was given."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from rnnlens.errors import RnnlensError


@dataclass(frozen=True)
class Processes:
    """Which of how many processes this is."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes and prints."""
        return self.rank == 0

    def sum_gradients(self, parameters: Sequence[Tensor]) -> None:
        """Add up gradients over all processes, in one message."""
        if self.count == 1:
            return
        grads = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([g.flatten() for g in grads])
        dist.all_reduce(flat)
        for grad, part in zip(grads, flat.split([g.numel() for g in grads]), strict=True):
            grad.copy_(part.view_as(grad))

    def any(self, flag: bool) -> bool:
        """Whether any process says so."""
        if self.count == 1:
            return flag
        told = torch.tensor([float(flag)])
        dist.all_reduce(told)
        return bool(told.item())


@contextmanager
def processes(device: torch.device) -> Iterator[Processes]:
    """Join the group torchrun set up, or be alone."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes()
        return
    try:
        dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
    except (RuntimeError, ValueError) as error:
        raise RnnlensError(
            f"{count} processes were asked for but cannot meet ({error}); start them with torchrun"
        ) from error
    try:
        yield Processes(dist.get_rank(), count)
    finally:
        dist.destroy_process_group()


def pick_device(name: str) -> torch.device:
    """`auto` is CUDA where there is any; each process of one machine takes its own."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise RnnlensError(f"no device is called {name!r}; give cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda"):
        raise RnnlensError(f"rnnlens does not run on {name!r}; give cpu, cuda or cuda:N")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise RnnlensError("this machine or this build of torch has no CUDA; give --device cpu")
    if device.type == "cuda":
        local = int(os.environ.get("LOCAL_RANK", "0")) if device.index is None else device.index
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")  # products on the tensor cores
    return device
