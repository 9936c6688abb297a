"""How many threads torch computes on."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

from rnnlens.base.later import Later

if TYPE_CHECKING:
    import torch
else:
    torch = Later("torch")

_MOST_THREADS = 8  # threads of the pool
_SMALL = 2**16  # products with fewer weights take no longer on one thread than on two


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on the calling thread alone, for work too small to be worth sharing.

    Torch's threads spin while they wait for each other: as soon as another process has one of the
    cores, each operation waits for a thread that is not running. The number of threads is set for
    the calling thread only; other threads keep theirs.
    """
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_for(weights: int) -> AbstractContextManager[None]:
    """As many threads as torch has, or one if products have too few `weights` to share."""
    return one_thread() if weights < _SMALL else nullcontext()


def cores() -> int:
    """How many cores this process may run on."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return allowed or 1


@cache
def threads_of_pool() -> int:
    """One for each core, up to a few."""
    return min(cores(), _MOST_THREADS)


@cache
def pool() -> ThreadPoolExecutor:
    """A pool of threads, one for each core, that sleep while they wait, unlike torch's."""
    return ThreadPoolExecutor(threads_of_pool(), "rnnlens")


def forget_pool() -> None:
    """Have no threads any more, before a fork; the next that asks for the pool makes another."""
    if pool.cache_info().currsize:
        pool().shutdown()
        pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # a fork has none of its parent's threads
