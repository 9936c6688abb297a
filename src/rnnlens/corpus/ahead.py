"""A corpus is read while something else takes its time, such as the import of torch.

A process of its own reads it and keeps it as it is kept for the next command (see cache.py); who
wants the corpus meanwhile waits for that process and finds it there. That it fails is no matter:
the corpus is read anew, and what is wrong with it is told then, later by the time of one reading.
So is a corpus read anew that is too small to be kept, which files of some MB can be where words
stand in columns.
"""

import ctypes
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from rnnlens.base.threads import cores
from rnnlens.corpus.cache import SETTLED, Stamp, is_kept
from rnnlens.corpus.corpus_config import ReadingConfig
from rnnlens.corpus.storage import cache_folder

WORTH_IT = 1 << 20  # bytes of files; what is smaller is read at once, and mostly not kept
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
_under_way: list[BaseProcess] = []


def read_ahead(
    read: Callable[..., object], source: str, config: ReadingConfig, *, lowercase: bool
) -> None:
    """Begin to read a corpus beside this process, if what is read will be kept and is not yet.

    `read` is corpus.py's `read_tokens`, which is given the rest.
    """
    if sys.platform != "linux" or "torch" in sys.modules:
        return  # elsewhere, and beside torch's threads, a process is not split safely
    if cores() < 2 or os.environ.get("RANK", "0") != "0" or not cache_folder():
        return
    stamp = Stamp.of(config.sources(source))
    if not stamp or stamp.size < WORTH_IT or stamp.changed >= time.time() - SETTLED:
        return
    if is_kept(source, config, lowercase, stamp):
        return

    def reading() -> None:
        read(source, config, lowercase=lowercase)

    process = get_context("fork").Process(target=_alone, args=(reading, os.getpid()), daemon=True)
    with suppress(OSError), warnings.catch_warnings():  # no process more is allowed: it can wait
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads of NumPy's, which may fork
        process.start()
        _under_way.append(process)


def wait() -> None:
    """Wait for what is being read, if anything is."""
    while _under_way:
        _under_way.pop().join()


def _alone(reading: Callable[[], None], parent: int) -> None:
    """Read without a word, as long as the other process lives, which also says what is wrong."""
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGTERM)
    if os.getppid() != parent:
        return  # it ended just before
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    reading()
