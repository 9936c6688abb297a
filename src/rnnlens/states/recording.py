"""States written to a folder from any loop, as fast as the disk takes them and in as much memory as
a few stretches take. Whenever it is killed, what was recorded before the last stretch is there.
"""

import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import locked, write_pieces
from rnnlens.states.arrays import is_float
from rnnlens.states.kept import opened
from rnnlens.states.part import LENGTHS, NAMES, TARGETS, WORDS, Y
from rnnlens.states.safetensors_file import safetensors_part

STRETCH = 64 << 20  # bytes of states that are written at once
_BEHIND = 2  # files that are being written while the loop goes on
_PART = re.compile(r"part-\d{6}\.safetensors")
_DTYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "int32": "I32", "int64": "I64",
           "uint8": "U8"}  # fmt: skip

Targets = Mapping[str, Any]


def record(
    folder: str | Path, *, words: Sequence[str] | None = None,
    targets: Mapping[str, Sequence[str]] | None = None, stretch: int = STRETCH,
) -> "Recorder":  # fmt: skip
    """A recorder, which writes the states of any network to a folder for `rnnlens.from_states`.

    `words` and `targets` name the numbers that the loop gives for words and for targets; without
    them words are texts, and targets are numbers or texts. A folder that was begun is gone on with:
    `recorder.count` sequences are there already. `stretch` is how many bytes are held before they
    are written.

    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with rnnlens.record(folder) as recorder:
    ...         for words in [["the", "dog", "sees"], ["a", "cat"]][recorder.count:]:
    ...             recorder.add({"h1": np.random.rand(len(words), 8)}, words)
    ...     recorder.count
    2
    """
    return Recorder(Path(folder), words, targets or {}, stretch)


class Recorder:
    """Writes sequences of states to a folder, a stretch at a time."""

    def __init__(
        self, folder: Path, words: Sequence[str] | None, targets: Mapping[str, Sequence[str]],
        stretch: int,
    ) -> None:  # fmt: skip
        self.folder, self.stretch = folder, stretch
        if stretch < 1:
            raise RnnlensError(f"stretch={stretch}: give a number of bytes from 1 up")
        self.given = {WORDS: words, **targets}
        self.count = 0  #: Sequences that are recorded, those that wait to be written included.
        self._parts = 0
        self._form: dict[str, tuple[Any, ...]] | None = None
        self._lock = ExitStack()
        self._threads = ThreadPoolExecutor(_BEHIND, "rnnlens-recorder")
        self._writing: deque[tuple[_Stretch, Future[None]]] = deque()  # the last of them last
        self._filled: _Stretch | None = None  # which sequences are added to
        self._free: list[_Stretch] = []  # which are on the disk, and whose memory is used again
        self._error: BaseException | None = None  # for which nothing more can be written
        self._names: dict[str, dict[str, int]] = {}
        self._begin()

    def _begin(self) -> None:
        """Make the folder, or look at what it holds already."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            files = sorted(path.name for path in self.folder.iterdir() if path.name[0] != ".")
        except OSError as error:
            raise RnnlensError(
                f"cannot make the folder {self.folder}: {error.strerror}; choose another"
            ) from error
        wanted = [f"part-{k:06}.safetensors" for k in range(len(files))]
        if files != wanted:
            raise RnnlensError(
                f"{self.folder} holds files that were not recorded; choose an empty or new folder"
            )
        self._lock.enter_context(locked(self.folder))
        self._parts = len(files)
        if files:
            parts = [safetensors_part(self.folder / name) for name in files]
            self.count = sum(part.arrays[LENGTHS].shape[0] for part in parts)
            self._form = {
                name: (one.shape[1:], one.item.name)
                for name, one in parts[0].arrays.items() if name != LENGTHS
            }  # fmt: skip
            opened(self.folder)  # or say what is wrong with it

    def add(
        self,
        states: Mapping[str, Any],
        words: Sequence[Any] | NDArray[Any] | None = None,
        targets: Any = None,
        y: Any = None,
    ) -> None:
        """One sequence: of each kind its states, (T, H); what its T rows are called; its targets,
        by name or those of `output` alone, a row each or one for all; and the network's own logits.

        Arrays are NumPy's, or what NumPy makes arrays of. Give sequences of a batch one by one.
        """
        rows = {str(name): _states(str(name), some) for name, some in states.items()}
        if not rows:
            raise RnnlensError("a sequence has no states; give {kind: array (steps, units)}")
        steps = len(next(iter(rows.values())))
        if y is not None:
            rows[Y] = _states(Y, y)
        for name, some in rows.items():
            if len(some) != steps or not steps:
                raise RnnlensError(
                    f"{name} has {len(some)} rows, and another kind {steps}; give one for each step"
                )
        if self._filled and steps > self._filled.room:
            self._write()  # before words get numbers, which are those of a stretch
        if words is not None:
            rows[WORDS] = self._values(WORDS, words, steps)
        named = targets if isinstance(targets, Mapping) else {"output": targets}
        for name, some in named.items():
            if some is not None:
                rows[f"{TARGETS}.{name}"] = self._values(str(name), some, steps)
        self._check_form(rows)
        if self._filled is None:
            self._filled = self._empty(rows, steps)
        self._filled.add(rows, steps)
        self.count += 1

    def _empty(self, rows: Mapping[str, NDArray[Any]], steps: int) -> "_Stretch":
        """A stretch to fill, in the memory of one that is on the disk, where it is large enough."""
        if self._free and self._free[-1].most >= steps:
            return self._free.pop()
        size = sum(some[:1].nbytes for some in rows.values())
        return _Stretch(rows, max(steps, self.stretch // size))

    def _check_form(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a sequence that has other kinds, widths or targets than those before it."""
        form = {name: (some.shape[1:], some.dtype.name) for name, some in rows.items()}
        if self._form is None:
            self._form = form
        if form != self._form:
            both = form.keys() | self._form.keys()
            name = min(n for n in both if form.get(n) != self._form.get(n))
            raise RnnlensError(
                f"sequence {self.count} is unlike those before it in {name}: {form.get(name)} and "
                f"not {self._form.get(name)}; give every sequence the same"
            )

    def _values(self, name: str, given: Any, steps: int) -> NDArray[Any]:
        """Words or targets of T rows as numbers; texts get numbers of their own."""
        if isinstance(given, str):
            given = [given] * steps if name != WORDS else given.split()
        values = np.asarray(given)
        if values.ndim == 0:
            values = np.repeat(values, steps)
        if values.shape[:1] != (steps,) or values.ndim > 2 or values.dtype.kind not in "fiubU":
            raise RnnlensError(
                f"{name} of sequence {self.count} has the shape {values.shape} of "
                f"{values.dtype.name}; give {steps}, one for each row"
            )
        if values.dtype.kind == "U":
            if self.given.get(name) is not None:
                raise RnnlensError(f"{name} are texts, and numbers were named; give the numbers")
            index = self._names.setdefault(name, {})
            texts = values.ravel().tolist()
            return np.array([index.setdefault(one, len(index)) for one in texts], np.int32)
        if values.ndim == 2:
            return values.astype(np.uint8)
        return values.astype(np.float64 if is_float(values.dtype) else np.int32)

    def flush(self) -> None:
        """Write what waits, as a file of its own, and wait until it is on the disk."""
        self._write()
        self._wait(0)

    def _wait(self, most: int) -> None:
        """Until no more than some files are being written, or to say why one was not."""
        while len(self._writing) > most:
            stretch, writing = self._writing.popleft()
            try:
                writing.result()
            except BaseException as error:
                self._error = error
                raise
            stretch.clear()
            self._free = [stretch]

    def _write(self) -> None:
        """Begin to write what waits; the loop goes on meanwhile. While one file is flushed to the
        disk the next one is written, so that the disk has always something to do.
        """
        if self._error:
            raise self._error
        filled, self._filled = self._filled, None
        if filled is None:
            return
        names = {f"{NAMES}.{n}": json.dumps(list(index)) for n, index in self._names.items()}
        for name, given in self.given.items():
            if given is not None:
                names[f"{NAMES}.{name}"] = json.dumps(list(given))
        self._names = {}
        arrays = filled.arrays()
        path = self.folder / f"part-{self._parts:06}.safetensors"
        pieces: list[bytes | memoryview] = [_header(arrays, names)]
        pieces += [one.data.cast("B") for one in arrays.values()]
        self._wait(_BEHIND - 1)
        # Each is moved into place after the one before it, so that none is missing between others.
        first = self._writing[-1][1].result if self._writing else bool
        self._writing.append((filled, self._threads.submit(write_pieces, path, pieces, first)))
        self._parts += 1

    def close(self) -> None:
        """Write what waits, and let others write to the folder."""
        try:
            if self._error is None:  # else it was said already
                self.flush()
        finally:
            self._threads.shutdown()
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, sort: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        """A loop that fails keeps what it has recorded."""
        self.close()


class _Stretch:
    """Sequences that wait to be written, of each array all rows in one piece: large writes, from
    memory that is used again, are twice as quick as many small ones from memory that is new.
    """

    def __init__(self, like: Mapping[str, NDArray[Any]], most: int) -> None:
        """`like`: arrays as they will come; `most`: how many rows there is room for."""
        self.most, self.rows, self.lengths = most, 0, list[int]()
        self._room = {
            name: np.empty((most, *one.shape[1:]), one.dtype) for name, one in like.items()
        }

    @property
    def room(self) -> int:
        """How many rows more it can take."""
        return self.most - self.rows

    def clear(self) -> None:
        """Let go what it holds."""
        self.rows, self.lengths = 0, []

    def add(self, rows: Mapping[str, NDArray[Any]], steps: int) -> None:
        """Copy a sequence: loops write to the same arrays again."""
        for name, some in rows.items():
            self._room[name][self.rows : self.rows + steps] = some
        self.rows += steps
        self.lengths.append(steps)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it holds."""
        held = {name: some[: self.rows] for name, some in self._room.items()}
        return held | {LENGTHS: np.array(self.lengths, np.int64)}


def _states(name: str, given: Any) -> NDArray[Any]:
    values = np.asarray(given)
    if (
        values.ndim != 2
        or not values.size
        or values.dtype.name not in ("float16", "float32", "float64")
    ):
        raise RnnlensError(
            f"{name} has the shape {values.shape} of {values.dtype.name}; give floats, "
            "(steps, units)"
        )
    return values if values.dtype.itemsize < 8 else values.astype(np.float32)


def _header(arrays: Mapping[str, NDArray[Any]], names: Mapping[str, str]) -> bytes:
    """The header of a safetensors file."""
    entries: dict[str, Any] = {"__metadata__": dict(names)} if names else {}
    at = 0
    for name, one in arrays.items():
        entries[name] = {"dtype": _DTYPES[one.dtype.name], "shape": [*one.shape],
                         "data_offsets": [at, at + one.nbytes]}  # fmt: skip
        at += one.nbytes
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
