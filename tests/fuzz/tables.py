"""Ways to spoil Parquet and Arrow: by what they hold, by how it is laid out, and byte by byte."""

import io
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LARGE = (0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, -(2**63), 10**6)
ODD_TABLES = (pa.ArrowException, ValueError, LookupError, TypeError)  # there is no such table
NAMES = ("text", "words", "tokens", "tags", "sentence", "content", "label", "", "id")


def stream(table: pa.Table, chance: random.Random) -> bytes:
    """A table as Arrow: a stream or a file, plain or zipped, in batches of some size."""
    zipped = chance.choice([None, None, "lz4", "zstd"])
    how = pa.ipc.IpcWriteOptions(compression=zipped, unify_dictionaries=True)
    make = chance.choice([pa.ipc.new_stream, pa.ipc.new_stream, pa.ipc.new_file])
    buffer = io.BytesIO()
    with make(buffer, table.schema, options=how) as file:
        file.write_table(table, max_chunksize=max(chance.choice([1, 7]), len(table) // 500))
    return buffer.getvalue()


def parquet(table: pa.Table, chance: random.Random, **more: Any) -> bytes:
    """A table as Parquet, in one of the ways in which it can be written."""
    options: dict[str, Any] = {
        "compression": chance.choice(["none", "snappy", "zstd", "gzip", "lz4"]),
        "use_dictionary": chance.random() < 0.5,
        "row_group_size": chance.choice([1, 10, 1000]),
        "data_page_version": chance.choice(["1.0", "2.0"]),
        "write_page_checksum": chance.random() < 0.3,
        "store_schema": chance.random() < 0.5,
    } | more
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def spoil_table(table: pa.Table, chance: random.Random) -> pa.Table:
    """Change what a table holds: types, nulls, names, repeats, bytes that are no text, bombs."""
    name = chance.choice(table.column_names)
    at, column = table.column_names.index(name), table[name].combine_chunks()
    changes: list[Callable[[], pa.Table]] = [
        lambda: table.append_column(name, column),
        lambda: table.rename_columns([chance.choice(NAMES) for _ in table.column_names]),
        lambda: table.set_column(at, name, pa.nulls(len(table), column.type)),
        lambda: table.set_column(at, name, pa.nulls(len(table))),
        lambda: table.set_column(at, name, _holes(column, chance)),
        lambda: table.set_column(at, name, _not_text(column, chance)),
        lambda: table.set_column(at, name, _other_type(len(table), chance)),
        lambda: table.set_column(at, name, _folded(column, chance)),
        lambda: table.set_column(at, name, pa.StructArray.from_arrays([column], [name])),
        lambda: table.slice(0, chance.choice([0, 1])),
        lambda: pa.concat_tables([table] * chance.choice([2, 9])),
        lambda: table.drop_columns([name]),
        lambda: pa.table({name: _bomb(name, chance)}),
        lambda: table.replace_schema_metadata({b"huggingface": chance.randbytes(99)}),
    ]
    return chance.choice(changes)()


def _holes(column: pa.Array, chance: random.Random) -> pa.Array:
    values = column.to_pylist()
    for _ in range(chance.choice([1, 5])):
        values[chance.randrange(len(values))] = None
    return pa.array(values, column.type)


def _not_text(column: pa.Array, chance: random.Random) -> pa.Array:
    """Bytes that are no UTF-8 in the place of a text."""
    size = len(column)
    binary = pa.array([b"a dog ."] * (size - 1) + [chance.randbytes(9)], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), size, binary.buffers())
    if pa.types.is_list(column.type):
        return pa.ListArray.from_arrays(pa.array(range(size + 1), pa.int32()), texts)
    return texts


def _other_type(size: int, chance: random.Random) -> pa.Array:
    kinds: list[Callable[[], pa.Array]] = [
        lambda: pa.array([1] * size),
        lambda: pa.array([1.5] * size, pa.float16()) if hasattr(np, "float16") else pa.nulls(size),
        lambda: pa.array([b"\xff"] * size),
        lambda: pa.array([[["a", "dog"]]] * size),
        lambda: pa.array([{"a": "b"}] * size),
        lambda: pa.array([[("a", 1)]] * size, pa.map_(pa.string(), pa.int64())),
        lambda: pa.array(["a dog ."] * size, pa.large_string()),
        lambda: pa.array([["a", "b"]] * size, pa.list_(pa.string(), 2)),
        lambda: pa.array([["a", None]] * size, pa.large_list(pa.string())),
        lambda: pa.array([10**15] * size, pa.timestamp("us")),
        lambda: pa.array([True] * size),
    ]
    return chance.choice(kinds)()


def _folded(column: pa.Array, chance: random.Random) -> pa.Array:
    """Values by their numbers in a dictionary, some of which there are not."""
    numbers = [chance.choice([0, 0, 1, 2, None]) for _ in range(len(column))]
    array = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), column.slice(0, 3))
    if chance.random() < 0.5 and pa.types.is_string(column.type):
        return pa.ListArray.from_arrays(pa.array(range(len(array) + 1), pa.int32()), array)
    return array


def _bomb(name: str, chance: random.Random) -> pa.Array:
    """Little that unfolds to much."""
    word, times = chance.choice(
        [("a", 200_000), ("a dog " * 100, 200_000), ("a dog " * 60_000, 400)]
    )
    zeros = pa.array(np.zeros(times, np.int32))
    if chance.random() < 0.5:
        return pa.DictionaryArray.from_arrays(zeros, [word])
    offsets = pa.array([0, times], pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.DictionaryArray.from_arrays(zeros, ["a"]))


def spoil_layout(data: bytes, chance: random.Random) -> bytes:
    """Change numbers of the layout: lengths, offsets, counts; swap two stretches; cut it."""
    spoilt = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4])):
        if not spoilt:
            break
        at = chance.randrange(len(spoilt))
        how = chance.randrange(7)
        if how <= 1:  # numbers stand at multiples of their size
            form = chance.choice("<i <q <h".split())
            size = struct.calcsize(form)
            at -= at % size
            low, high = -(1 << (8 * size - 1)), (1 << (8 * size - 1)) - 1
            number = max(low, min(high, chance.choice(LARGE)))
            spoilt[at : at + size] = struct.pack(form, number)
        elif how == 2:  # a number that is a little off
            spoilt[at : at + 1] = bytes([(spoilt[at] + chance.choice([1, 255, 128])) % 256])
        elif how == 3:
            size = chance.choice([8, 64, 512])
            other = chance.randrange(len(spoilt))
            one, two = spoilt[at : at + size], spoilt[other : other + size]
            spoilt[at : at + len(two)], spoilt[other : other + len(one)] = two, one
        elif how == 4:  # the footer, or the end of a stream
            at = max(0, len(spoilt) - chance.choice([4, 8, 16, 64, 512]))
            spoilt[at : at + 4] = chance.randbytes(4)
        elif how == 5:
            del spoilt[at : at + chance.choice([1, 4, 8, 64, len(spoilt)])]
        else:  # every bit with some chance, as zzuf does
            for k in range(len(spoilt)):
                if chance.random() < 0.002:
                    spoilt[k] ^= 1 << chance.randrange(8)
    return bytes(spoilt)


def write(path: Path, table: pa.Table, chance: random.Random) -> None:
    """A spoilt table, in one of its formats."""
    for _ in range(chance.choice([0, 0, 1, 1, 2])):
        try:
            table = spoil_table(table, chance)
        except ODD_TABLES:  # after one change, not every other can be made
            break
    try:
        data = (parquet if path.suffix == ".parquet" else stream)(table, chance)
    except ODD_TABLES:  # what the format has no types for
        data = stream(pa.table({"text": ["a dog sees ."] * 9}), chance)
    if chance.random() < 0.6:
        data = spoil_layout(data, chance)
    path.write_bytes(data)
