"""Several processes under torchrun, and the device of each; a process may also be alone."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from rnnlens.base.errors import RnnlensError


@dataclass(frozen=True)
class Processes:
    """Which of how many processes this is."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes and prints."""
        return self.rank == 0

    def sum(self, tensors: Sequence[Tensor]) -> None:
        """Add up tensors over all processes in place, in one message."""
        if self.count == 1 or not tensors:
            return
        flat = torch.cat([t.flatten() for t in tensors])
        dist.all_reduce(flat)
        for tensor, part in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process; every process waits here for all others."""
        if self.count == 1:
            return flag
        votes = torch.tensor([float(flag)])
        dist.all_reduce(votes)
        return bool(votes.item())


@contextmanager
def processes(device: torch.device) -> Iterator[Processes]:
    """Join the group of processes that torchrun started, if any."""
    count = _from_torchrun("WORLD_SIZE", 1)
    if count == 1:
        yield Processes()
        return
    # Imported here, before there is a group. If an optimiser imported it later, it would keep the
    # group and its threads beyond destroy_process_group, and the process might abort at exit.
    import torch.distributed.nn.functional  # noqa: F401

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
    """The device of that name; `auto` is CUDA where there is any, a device for each process."""
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
        local = _from_torchrun("LOCAL_RANK", 0) if device.index is None else device.index
        if local >= torch.cuda.device_count():
            count = torch.cuda.device_count()
            raise RnnlensError(f"there is no cuda:{local} among {count} device(s); give another")
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")  # products on the tensor cores
    return device


def _from_torchrun(name: str, alone: int) -> int:
    """A number that torchrun puts into the environment; `alone` where it has not."""
    value = os.environ.get(name, str(alone))
    if not value.isdecimal():
        raise RnnlensError(f"{name} is {value!r} in the environment; unset it or use torchrun")
    return int(value)
