"""Arrays that stay in their files: rows are read when they are asked for, and no more of them, so
that memory is that of the rows at hand, whatever a file holds. Nothing here loads torch.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged

BF16 = "bf16"  # which numpy has not
REMEDY = "record it anew, or restore it"
_MOST_READ = 1 << 30  # bytes that Linux gives at once, at least

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Stored:
    """An array in a file, row after row."""

    path: Path
    offset: int  # bytes from the beginning of the file
    dtype: str  # such as <f4, or bf16
    shape: tuple[int, ...]

    @property
    def item(self) -> "np.dtype[Any]":
        """The type of a number in the file."""
        return np.dtype("<u2" if self.dtype == BF16 else self.dtype)

    @property
    def is_float(self) -> bool:
        """Whether it holds floats."""
        return self.dtype == BF16 or is_float(self.item)

    @property
    def row_bytes(self) -> int:
        """Of one row."""
        return math.prod(self.shape[1:]) * self.item.itemsize

    @property
    def size(self) -> int:
        """Of all rows, in bytes."""
        return self.shape[0] * self.row_bytes

    def rows(self, first: int, last: int) -> NDArray[Any]:
        """The rows first..last-1, as the file has them; bf16 as floats."""
        data = read_at(self.path, self.offset + first * self.row_bytes,
                       (last - first) * self.row_bytes)  # fmt: skip
        rows: NDArray[Any] = data.view(self.item).reshape(last - first, *self.shape[1:])
        return (rows.astype(np.uint32) << 16).view(np.float32) if self.dtype == BF16 else rows


def is_float(dtype: "np.dtype[Any]") -> bool:
    """Whether a type is that of floats."""
    return np.issubdtype(dtype, np.floating)


def read_at(path: Path, offset: int, size: int) -> NDArray[np.uint8]:
    """Some bytes of a file; an error where it no longer has them."""
    data = np.empty(size, np.uint8)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            done = 0
            while done < size:
                room = data.data[done : done + _MOST_READ]
                count = os.preadv(handle, [room], offset + done)
                if not count:
                    break
                done += count
        finally:
            os.close(handle)
    except OSError as error:
        raise damaged(path, error, REMEDY) from error
    if done < size:
        raise damaged(path, "it ends before what its header says is there", REMEDY)
    return data


class Column:
    """Rows of several files, one after the other."""

    def __init__(self, parts: Sequence[Stored]) -> None:
        self.parts = tuple(parts)
        self.ends = np.cumsum([part.shape[0] for part in parts])

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return self.parts[0].shape[1]

    def __len__(self) -> int:
        return int(self.ends[-1])

    def rows(self, first: int, last: int) -> Floats:
        """The rows first..last-1 in single precision."""
        found = []
        for number in range(int(np.searchsorted(self.ends, first, "right")), len(self.parts)):
            begin = int(self.ends[number]) - self.parts[number].shape[0]
            if begin >= last:
                break
            part = self.parts[number]
            here = part.rows(max(0, first - begin), min(last - begin, part.shape[0]))
            with np.errstate(over="ignore"):  # what does not fit is infinite, and refused later
                found.append(here.astype(np.float32, copy=False))
        return found[0] if len(found) == 1 else np.concatenate(found)


def check_size(path: Path, unpacked: int, packed: int, most: int) -> None:
    """Refuse what is far larger than the file that it comes from, as only a trap is."""
    if unpacked > max(1 << 20, most * packed):
        raise RnnlensError(
            f"{path} would unpack to {unpacked / 1e6:,.0f} MB from {packed / 1e6:,.2f} MB, which "
            "no states do; write it without compression"
        )
