"""Arrays of a Parquet file with a row a step: columns of lists are states or sets of labels, `word`
names the row, `sequence` says which rows belong together, and all others are targets.

It is run by `unpack` in a process of its own.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged
from rnnlens.states.arrays import REMEDY, Stored, is_float
from rnnlens.states.part import LENGTHS, TEXT_BYTES, WORDS, RawPart

_MOST_PACKED = 1100  # times smaller than what it holds
_MOST_COLUMNS = 10_000
_ROWS = 1024  # that are unpacked at once
_LIMIT = 100_000_000  # of what the file says of itself
_SEQUENCE = ("sequence", "sentence")
_WORD = ("word", WORDS)


def parquet_part(path: Path, room: Path, number: int) -> RawPart:
    """What a Parquet file holds, unpacked."""
    try:
        with pq.ParquetFile(
            path, memory_map=True, thrift_string_size_limit=_LIMIT,
            thrift_container_size_limit=_LIMIT,
        ) as file:  # fmt: skip
            return _Unpacked(path, file, room / str(number)).part()
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError,
            AttributeError, SystemError) as error:  # fmt: skip
        line = " ".join(str(error).split())[:200]
        raise damaged(path, line or type(error).__name__, REMEDY) from error


class _Unpacked:
    """A file whose columns are written to a folder as plain numbers."""

    def __init__(self, path: Path, file: Any, room: Path) -> None:
        self.path, self.file, self.room = path, file, room
        self.most = max(1 << 20, _MOST_PACKED * path.stat().st_size)
        self.names: dict[str, dict[str, int]] = {}
        self.widths: dict[str, int] = {}
        self.types: dict[str, str] = {}
        self.written = 0
        self.lengths: list[int] = []
        self.last: Any = None
        self.rows = 0

    def part(self) -> RawPart:
        self.room.mkdir()
        schema = self.file.schema_arrow
        if len(schema) > _MOST_COLUMNS or len(set(schema.names)) != len(schema):
            raise RnnlensError(f"{self.path} has too many columns, or two of one name")
        self.columns = {name: self._name(name) for name in schema.names}
        self.out = {
            name: (self.room / str(k)).open("wb") for k, name in enumerate(schema.names)
        }  # fmt: skip
        for batch in self.file.iter_batches(batch_size=_ROWS, use_threads=False):
            for name in schema.names:
                self._take(name, batch.column(name))
            self.rows += len(batch)
            if self.written > self.most:
                raise RnnlensError(
                    f"{self.path} would unpack to over {self.most / 1e6:,.0f} MB, which no states "
                    "do; write it with less compression"
                )
        for file in self.out.values():
            file.close()
        return self._found(schema.names)

    def _name(self, column: str) -> str:
        """What a column is called here."""
        if column in _WORD:
            return WORDS
        return LENGTHS if column in _SEQUENCE else column

    def _found(self, columns: list[str]) -> RawPart:
        arrays: dict[str, Stored] = {}
        for k, column in enumerate(columns):
            name = self.columns[column]
            place = (self.room / str(k)).resolve()
            if name == LENGTHS:
                lengths = np.array(self.lengths, "<i8")
                place.write_bytes(lengths.tobytes())
                arrays[name] = Stored(place, 0, "<i8", lengths.shape)
                continue
            if column not in self.types:
                raise RnnlensError(f"{self.path} has no rows; record some")
            width, dtype = self.widths[column], self.types[column]
            shape = (self.rows, width) if width else (self.rows,)
            is_state = width > 0 and is_float(np.dtype(dtype))
            called = (
                name if is_state or name == WORDS else f"targets.{name.removeprefix('targets.')}"
            )
            arrays[called] = Stored(place, 0, dtype, shape)
        names = {
            self.columns[name].removeprefix("targets."): list(index)
            for name, index in self.names.items()
        }
        return RawPart(self.path, arrays, names)

    def _take(self, name: str, column: Any) -> None:
        """Write some rows of a column."""
        if self.columns[name] == LENGTHS:
            self._sequences(column)
            return
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        width = None
        if _is_list(kind):
            column, width = self._flat(name, column)
            kind = column.type
        if column.null_count:
            raise RnnlensError(f"{self.path}: {name[:80]!r} has rows without a value; fill them")
        values = self._text(name, column) if _is_text(kind) else self._numbers(name, column)
        if self.types.setdefault(name, values.dtype.str) != values.dtype.str:
            raise damaged(self.path, f"{name[:80]!r} changes its type", REMEDY)
        if self.widths.setdefault(name, width or 0) != (width or 0):
            raise RnnlensError(f"{self.path}: rows of {name[:80]!r} have different lengths")
        self.written += values.nbytes
        self.out[name].write(values.tobytes())

    def _flat(self, name: str, column: Any) -> tuple[Any, int]:
        """The numbers of lists, one after the other, and how many each has."""
        if column.null_count:
            raise RnnlensError(f"{self.path}: {name[:80]!r} has rows without a value; fill them")
        flat = column.flatten()
        width = len(flat) // max(1, len(column))
        lengths = {*column.value_lengths().unique().to_pylist()} if len(column) else {width}
        if lengths != {width} or not width:
            raise RnnlensError(f"{self.path}: rows of {name[:80]!r} have different lengths")
        return flat, width

    def _numbers(self, name: str, column: Any) -> Any:
        kind = column.type
        if pa.types.is_boolean(kind):
            return column.cast(pa.uint8()).to_numpy(zero_copy_only=False)
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise RnnlensError(
                f"{self.path}: {name[:80]!r} is {str(kind)[:60]}; give numbers, texts or lists of "
                "numbers"
            )
        return np.ascontiguousarray(column.to_numpy(zero_copy_only=False))

    def _text(self, name: str, column: Any) -> Any:
        """Texts as the numbers of different ones."""
        index = self.names.setdefault(name, {})
        coded = column.cast(pa.large_string()).dictionary_encode()
        try:
            texts = coded.dictionary.to_pylist()
        except UnicodeDecodeError as error:
            raise damaged(self.path, f"a text of {name[:80]!r} is no UTF-8", REMEDY) from error
        self.written += sum(map(len, texts))
        if self.written > TEXT_BYTES and sum(map(len, index)) > TEXT_BYTES:
            raise RnnlensError(f"{self.path}: {name[:80]!r} holds over 1 GB of text; give numbers")
        numbers = np.array([index.setdefault(text, len(index)) for text in texts], "<i4")
        return numbers[coded.indices.to_numpy(zero_copy_only=False)]

    def _sequences(self, column: Any) -> None:
        """Note how many rows one after the other have the same number or name."""
        if column.null_count:
            raise RnnlensError(f"{self.path}: a row has no sequence; number all of them")
        for value in column.to_pylist():
            if not self.lengths or value != self.last:
                self.lengths.append(0)
            self.lengths[-1] += 1
            self.last = value


def _is_list(kind: Any) -> bool:
    return bool(
        pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    )


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
