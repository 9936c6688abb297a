"""The rows of a Parquet or Arrow file as lines of JSON: a program that `records` starts.

A file that somebody spoilt on purpose can end the process that reads it, or fill its memory,
whatever the library checks. Here that is a process that holds nothing else, and no more memory than
it is given. All is validated before it is looked at, and what texts swell to is counted on the way.

Each line of the output is a row, an object; the last is a list that says how it ended. Without it,
reading has crashed. Nothing of rnnlens is imported: it starts in the time that pyarrow takes.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

END, DAMAGED, SWOLLEN, NOT_UTF8, NO_LIBRARY = "end", "damaged", "swollen", "not utf-8", "no library"
_BATCH = 1 << 22  # bytes of rows that are held at once, about
_ROWS = 4096  # of a table that are held at once, at most
_LEAST = 8  # bytes that any value counts, be it empty


class _SwollenError(Exception):
    """The texts are larger than they may be."""


class _NoTextError(Exception):
    """A text of a row, from 1, is no UTF-8."""


def main(path: str, format: str, names: str, most: str, memory: str) -> None:
    """Print rows; `most` bytes of texts, in a process of at most so much more `memory`."""
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        _say([NO_LIBRARY])
        return
    _limit(int(memory))
    try:
        batches = {"parquet": _of_parquet, "arrow": _of_arrow}[format]
        chosen = names.split(",")
        _print(pa, batches(pa, path, chosen, int(most)), chosen, int(most))
        _say([END])
    except _NoTextError as error:
        _say([NOT_UTF8, error.args[0]])
    except (_SwollenError, MemoryError):
        _say([SWOLLEN])
    except BrokenPipeError:  # whoever reads has read enough
        pass
    except Exception as error:  # noqa: BLE001 - the library raises all sorts for files that are damaged
        _say([DAMAGED, " ".join(f"{error}".split())[:200] or type(error).__name__])


def _limit(memory: int) -> None:
    """Take no more memory from now on, where the system knows such limits."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - light on imports
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + memory, now + memory))


def _of_parquet(pa: Any, path: str, names: list[str], most: int) -> Iterator[Any]:
    """Rows of a Parquet file; what it says of its size is believed where it is too large."""
    file = pa.parquet.ParquetFile(
        path, pre_buffer=False, buffer_size=1 << 16, page_checksum_verification=True
    )
    about, size = file.metadata, 0
    for k in range(about.num_row_groups):
        group = about.row_group(k)
        columns = map(group.column, range(group.num_columns))
        size += sum(
            one.total_uncompressed_size
            for one in columns
            if one.path_in_schema.partition(".")[0] in names
        )
    if max(size, about.num_rows * _LEAST) > most:
        raise _SwollenError
    rows = max(1, min(_ROWS, _BATCH * about.num_rows // max(1, size)))
    there = [name for name in names if name in file.schema_arrow.names]
    yield from file.iter_batches(rows, columns=there, use_threads=False)


def _of_arrow(pa: Any, path: str, _names: list[str], _most: int) -> Iterator[Any]:
    """Rows of an Arrow file: a stream, as `datasets` saves it, or a file."""
    with pa.memory_map(path) as source:
        try:
            batches = iter(pa.ipc.open_stream(source))
        except pa.ArrowInvalid:
            file = pa.ipc.open_file(source)
            batches = (file.get_batch(k) for k in range(file.num_record_batches))
        yield from batches


def _print(pa: Any, batches: Iterator[Any], names: list[str], most: int) -> None:
    number = total = 0
    for batch in batches:
        chosen = _columns(pa, batch, names, number)
        first, rows = 0, 1
        while first < len(batch):  # few rows at first: their number is no measure of their size
            part = {name: column.slice(first, rows) for name, column in chosen.items()}
            size = _LEAST * min(rows, len(batch) - first)
            size += sum(_size(pa, column) for column in part.values())
            total += size
            if total > most:
                raise _SwollenError
            values = zip(*(column.to_pylist() for column in part.values()), strict=True)
            for row in values if part else [()] * min(rows, len(batch) - first):
                _say(dict(zip(part, row, strict=True)))
            first += rows
            rows = max(1, min(_ROWS, 2 * rows, rows * _BATCH // size))
        number += len(batch)


def _columns(pa: Any, batch: Any, names: list[str], before: int) -> dict[str, Any]:
    """The columns that are asked for, validated; those that hold no texts as if they were empty."""
    chosen = {}
    for name in names:
        places = batch.schema.get_all_field_indices(name)
        if len(places) > 1:
            raise ValueError(f"{len(places)} columns are called {name}")
        for place in places:
            column = batch.column(place)
            if isinstance(column.type, pa.BaseExtensionType):
                column = column.storage
            if not _is_text(pa, column.type):
                column = pa.nulls(len(batch))
            try:
                column.validate(full=True)
            except pa.ArrowInvalid as error:
                if "UTF8" in str(error):
                    raise _NoTextError(1 + before + _first_without_text(column)) from error
                raise
            chosen[name] = column
    return chosen


def _is_text(pa: Any, sort: Any) -> bool:
    """Whether values are texts, or lists of texts."""
    sort = sort.value_type if _is_list(pa, sort) else sort
    sort = sort.value_type if pa.types.is_dictionary(sort) else sort
    return bool(pa.types.is_string(sort) or pa.types.is_large_string(sort))


def _is_list(pa: Any, sort: Any) -> bool:
    types = pa.types
    return bool(types.is_list(sort) or types.is_large_list(sort) or types.is_fixed_size_list(sort))


def _first_without_text(column: Any) -> int:
    for number, value in enumerate(column):
        try:
            value.as_py()
        except UnicodeDecodeError:
            return number
    return 0


def _size(pa: Any, column: Any) -> int:
    """The bytes of all texts, each as often as it occurs, and some for each value."""
    size = _LEAST * len(column)
    if pa.types.is_null(column.type):
        return size
    if _is_list(pa, column.type):
        return size + _size(pa, column.flatten())
    if pa.types.is_dictionary(column.type):
        lengths = pa.compute.binary_length(column.dictionary).take(column.indices)
    else:
        lengths = pa.compute.binary_length(column)
    return size + int(pa.compute.sum(lengths).as_py() or 0)


def _say(line: object) -> None:
    sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    main(*sys.argv[1:])
