"""Long rows of numbers: in memory while they are few, and in files that are mapped beyond.

A corpus of any size is read, numbered and encoded in blocks, so that what has to be in memory does
not grow with it.
"""

import errno
import fcntl
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.endings import put_away
from rnnlens.base.errors import RnnlensError

Numbers = NDArray[np.integer[Any]]

BLOCK = 1 << 18  # words that are worked on at once
SMALL = 1 << 20  # bytes that stay in memory
_UNFINISHED = ".unfinished-"


class Column:
    """Numbers of one type that are added block by block."""

    def __init__(self, shelf: "Shelf", name: str, dtype: type[np.integer[Any]]) -> None:
        self.shelf, self.name, self.dtype = shelf, name, np.dtype(dtype)
        self.pending: list[Numbers] = []
        self.count = 0
        self.file: IO[bytes] | None = None

    def add(self, values: Numbers) -> None:
        """Add numbers at the end."""
        block = values.astype(self.dtype)
        self.pending.append(block)
        self.count += len(block)
        self.shelf.take(block.nbytes)

    def flush(self, folder: Path) -> None:
        """Write what is in memory to the file."""
        if self.file is None:
            self.file = (folder / self.name).open("xb")
        for block in self.pending:
            self.file.write(block.data)
        self.pending = []

    def array(self) -> Numbers:
        """All numbers, once no more are added."""
        if self.file is None:
            return np.concatenate([np.empty(0, self.dtype), *self.pending])
        self.file.flush()
        os.fsync(self.file.fileno())
        return mapped(Path(self.file.name), self.dtype)


class Shelf:
    """A place for columns: memory, or a folder as soon as they are long.

    The folder is removed in the end unless it is kept; what is mapped stays readable all the same,
    and its space on the disk becomes free when nobody holds it any longer.
    """

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self.folder: Path | None = None
        self.in_memory = 0
        self._lock = -1

    def column(self, name: str, dtype: type[np.integer[Any]]) -> Column:
        """A new column."""
        self.columns[name] = Column(self, name, dtype)
        return self.columns[name]

    def take(self, size: int) -> None:
        """Note that a column has grown, and write down what is too much for memory."""
        self.in_memory += size
        if self.in_memory > SMALL:
            self._flush()

    def arrays(self) -> dict[str, Numbers]:
        """All columns by name, in memory or mapped."""
        if self.folder:
            self._flush()
        try:
            return {name: column.array() for name, column in self.columns.items()}
        except OSError as error:
            raise self._problem(error) from error

    def _flush(self) -> None:
        try:
            self.folder = self.folder or self._new_folder()
            for column in self.columns.values():
                column.flush(self.folder)
        except OSError as error:
            raise self._problem(error) from error
        self.in_memory = 0

    def _new_folder(self) -> Path:
        """Make the folder, and have others know that it is in use."""
        folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=scratch()))
        self._lock = os.open(folder, os.O_RDONLY)
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        return folder

    def _problem(self, error: OSError) -> RnnlensError:
        where = self.folder or scratch()
        size = sum(column.count * column.dtype.itemsize for column in self.columns.values())
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return RnnlensError(
                f"no space left to write the corpus as numbers ({size / 1e6:,.0f} MB so far) in "
                f"{where.parent}; free some, or set XDG_CACHE_HOME to a folder on another disk"
            )
        return RnnlensError(
            f"cannot write the corpus as numbers in {where.parent}: {error.strerror}; set "
            "XDG_CACHE_HOME to a folder you can write to"
        )

    def keep(self, folder: Path) -> None:
        """Have the folder, if there is one, stay under this name; one that has it is replaced."""
        if self.folder:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another command was faster
                self.folder.rename(folder)
                self.folder = None

    def __enter__(self) -> Self:
        self._ending = put_away(self._remove)
        self._ending.__enter__()
        return self

    def _remove(self) -> None:
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __exit__(self, *_: object) -> None:
        self._ending.__exit__(None, None, None)
        for column in self.columns.values():
            if column.file:
                with suppress(OSError):  # a full disk has been told of already
                    column.file.close()
        self._remove()
        if self._lock >= 0:
            os.close(self._lock)


def cache_folder() -> Path | None:
    """The folder in the user's cache for corpora as numbers, if one can write there."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = folder / "rnnlens" / "corpora"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the last: there is no home folder
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def scratch() -> Path:
    """Where shelves have their folders: in the user's cache, or else among temporary files."""
    return cache_folder() or Path(tempfile.gettempdir())


def clear_unfinished(folder: Path) -> None:
    """Remove what readings that were killed have left."""
    for leftover in folder.glob(f"{_UNFINISHED}*"):
        try:
            handle = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
        except OSError:  # it has just been removed, or is no folder of ours
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(leftover, ignore_errors=True)
        except OSError:  # somebody is writing to it
            pass
        finally:
            os.close(handle)


def mapped(path: Path, dtype: np.dtype[Any]) -> Numbers:
    """The numbers in a file, which are read when they are looked at."""
    if not path.stat().st_size:
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="c"))


def release(*arrays: NDArray[Any] | None) -> None:
    """Let go of the pages of mapped files that have been read: they would count as memory."""
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap):
            base.madvise(mmap.MADV_DONTNEED)


def spans(starts: Numbers) -> Iterator[tuple[int, int]]:
    """Ranges of sentences of about a block of words each, by where sentences start."""
    first, count = 0, len(starts) - 1
    while first < count:
        full = int(np.searchsorted(starts, starts[first] + BLOCK, side="right")) - 1
        last = max(first + 1, full)
        yield first, last
        first = last
