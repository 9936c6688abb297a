"""The different words of a corpus and their numbers, however many there are."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.flat import Numbers, Shelf, release

_FEW = 1 << 20  # forms that are held as Python's strings
_AT_ONCE = 1 << 16  # forms that are decoded together


class Forms(Sequence[str]):
    """The different words of a corpus in the order of their numbers, as one long text."""

    def __init__(self, text: NDArray[Any], ends: Numbers) -> None:
        """`text` is UTF-8, in which a line break ends each form; `ends` says where these are."""
        self.text, self.ends = text, ends

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> list[str]: ...
    def __getitem__(self, key: int | slice) -> str | list[str]:
        if isinstance(key, slice):
            return [self[k] for k in range(*key.indices(len(self)))]
        if self._few is not None:
            return self._few[key]
        if not 0 <= key < len(self):
            raise IndexError(key)
        return self._decoded(int(key), int(key) + 1)[0]

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _AT_ONCE):
            yield from self._decoded(first, min(first + _AT_ONCE, len(self)))
            release(self.text, self.ends)

    @cached_property
    def _few(self) -> list[str] | None:
        return list(self) if len(self) <= _FEW else None

    def _decoded(self, first: int, last: int) -> list[str]:
        begin = int(self.ends[first - 1]) + 1 if first else 0
        text = self.text[begin : int(self.ends[last - 1])].tobytes()
        ends = (self.ends[first:last] - begin).tolist()
        starts = [0, *(end + 1 for end in ends[:-1])]
        return [
            text[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)
        ]


class _Run(NamedTuple):
    """Forms that are known, in the order of their hashes."""

    keys: NDArray[np.int64]
    checks: NDArray[np.int32]
    numbers: NDArray[np.int32]

    def sorted(self) -> "_Run":
        order = np.argsort(self.keys, kind="stable")
        return _Run(self.keys[order], self.checks[order], self.numbers[order])

    def joined(self, other: "_Run") -> "_Run":
        return _Run(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.checks, other.checks]),
            np.concatenate([self.numbers, other.numbers]),
        ).sorted()


class Numbering:
    """Numbers forms in the order in which they are first met.

    What is in memory of a form are 16 bytes, two hashes and its number; the form itself goes to a
    column. A corpus of 100 million words may well have ten million that are met once.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.text = shelf.column("forms", np.uint8)
        self.ends = shelf.column("ends", np.int64)
        self.count = 0
        self.size = 0  # bytes of the text
        self.runs: list[_Run] = []  # each more than twice as long as the next

    def of(self, forms: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of forms that differ from each other."""
        keys = np.fromiter(map(hash, forms), np.int64, len(forms))
        others = np.fromiter((hash(f"{form}\n") for form in forms), np.int64, len(forms))
        checks = others.astype(np.int32)
        numbers = np.full(len(forms), -1, np.int32)
        for run in self.runs:
            at = np.minimum(np.searchsorted(run.keys, keys), len(run.keys) - 1)
            met = np.flatnonzero(run.keys[at] == keys)
            if (run.checks[at[met]] != checks[met]).any():
                raise _clash()
            numbers[met] = run.numbers[at[met]]
        new = np.flatnonzero(numbers < 0)
        numbers[new] = np.arange(self.count, self.count + len(new))
        self._learn(_Run(keys[new], checks[new], numbers[new]).sorted())
        self._write([forms[k] for k in new.tolist()])
        return numbers

    def _learn(self, run: _Run) -> None:
        """Keep hashes of new forms; short runs are joined, so that few have to be searched."""
        if (np.diff(run.keys) == 0).any():
            raise _clash()
        if len(run.keys):
            self.runs.append(run)
        while len(self.runs) > 1 and len(self.runs[-2].keys) < 2 * len(self.runs[-1].keys):
            self.runs.append(self.runs.pop().joined(self.runs.pop()))

    def _write(self, new: list[str]) -> None:
        encoded = [form.encode("utf-8", "surrogatepass") for form in new]
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
        text = b"".join(form + b"\n" for form in encoded)
        self.text.add(np.frombuffer(text, np.uint8))
        self.ends.add(self.size + np.cumsum(sizes + 1) - 1)
        self.size += len(text)
        self.count += len(new)


def _clash() -> RnnlensError:
    """Two different words have one hash, once in a million corpora; Python seeds hashes anew."""
    return RnnlensError(
        "two different words have the same hash by chance; run the same command again"
    )
