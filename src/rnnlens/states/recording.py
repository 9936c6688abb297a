"""States written to a folder from any loop, as fast as the disk takes them and in as much memory as
one stretch takes. Whenever it is killed, what was recorded before the last stretch is there.
"""

import json
import re
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

STRETCH = 128 << 20  # bytes of states that are written at once
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
        self._thread = ThreadPoolExecutor(1, "rnnlens-recorder")
        self._writing: Future[None] | None = None
        self._begin()
        self._clear()

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

    def _clear(self) -> None:
        self._arrays: dict[str, list[NDArray[Any]]] = {}
        self._names: dict[str, dict[str, int]] = {}
        self._lengths: list[int] = []
        self._held = 0

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
        if words is not None:
            rows[WORDS] = self._values(WORDS, words, steps)
        named = targets if isinstance(targets, Mapping) else {"output": targets}
        for name, some in named.items():
            if some is not None:
                rows[f"{TARGETS}.{name}"] = self._values(str(name), some, steps)
        self._check_form(rows)
        for name, some in rows.items():
            self._arrays.setdefault(name, []).append(some)
            self._held += some.nbytes
        self._lengths.append(steps)
        self.count += 1
        if self._held >= self.stretch:
            self._write()

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
        self._wait()

    def _wait(self) -> None:
        """Until the last file is written, or to say why it was not."""
        writing, self._writing = self._writing, None
        if writing:
            writing.result()

    def _write(self) -> None:
        """Begin to write what waits; the loop goes on meanwhile, up to the next stretch."""
        if not self._lengths:
            return
        arrays = {**self._arrays, LENGTHS: [np.array(self._lengths, np.int64)]}
        names = {f"{NAMES}.{n}": json.dumps(list(index)) for n, index in self._names.items()}
        for name, given in self.given.items():
            if given is not None:
                names[f"{NAMES}.{name}"] = json.dumps(list(given))
        path = self.folder / f"part-{self._parts:06}.safetensors"
        pieces = [one.data.cast("B") for some in arrays.values() for one in some]
        self._wait()  # files come one after the other, so that none is missing between others
        self._writing = self._thread.submit(write_pieces, path, [_header(arrays, names), *pieces])
        self._parts += 1
        self._clear()

    def close(self) -> None:
        """Write what waits, and let others write to the folder."""
        try:
            self.flush()
        finally:
            self._thread.shutdown()
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, sort: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        """A loop that fails keeps what it has recorded."""
        self.close()


def _states(name: str, given: Any) -> NDArray[Any]:
    values = np.array(given, order="C")  # a copy: loops write to the same arrays again
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


def _header(arrays: Mapping[str, list[NDArray[Any]]], names: Mapping[str, str]) -> bytes:
    """The header of a safetensors file in which each array is written piece by piece."""
    entries: dict[str, Any] = {"__metadata__": dict(names)} if names else {}
    at = 0
    for name, some in arrays.items():
        size = sum(one.nbytes for one in some)
        shape = [sum(map(len, some)), *some[0].shape[1:]]
        entries[name] = {"dtype": _DTYPES[some[0].dtype.name], "shape": shape,
                         "data_offsets": [at, at + size]}  # fmt: skip
        at += size
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
