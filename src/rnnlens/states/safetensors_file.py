"""Arrays of a safetensors file, whose header is checked against the file before it is believed."""

import itertools
import json
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged, regular_size
from rnnlens.states.arrays import BF16, REMEDY, Stored, read_at
from rnnlens.states.part import RawPart, names_in

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": BF16, "I64": "<i8", "I32": "<i4",
    "I16": "<i2", "I8": "<i1", "U8": "<u1", "U16": "<u2", "U32": "<u4", "BOOL": "|b1",
}  # fmt: skip
_LARGEST_HEADER = 64 << 20  # bytes


def safetensors_part(path: Path) -> RawPart:
    """What a safetensors file holds; names of words and labels are in its metadata, as JSON."""
    size = regular_size(path, REMEDY)
    length = int.from_bytes(read_at(path, 0, min(8, size)).tobytes(), "little")
    if size < 8 or length > min(size - 8, _LARGEST_HEADER):
        raise damaged(path, f"its header would have {length:,} bytes", REMEDY)
    try:
        header = json.loads(read_at(path, 8, length).tobytes(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"its header is no JSON: {error}", REMEDY) from error
    if not isinstance(header, dict):
        raise damaged(path, "its header is no object", REMEDY)
    metadata = header.pop("__metadata__", {})
    arrays = {str(name): _stored(path, name, one, 8 + length, size) for name, one in header.items()}
    _check_apart(path, arrays)
    return RawPart(path, arrays, names_in(path, metadata))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _stored(path: Path, name: str, one: Any, start: int, size: int) -> Stored:
    """One array by its entry of the header."""
    try:
        dtype, shape, (first, last) = one["dtype"], one["shape"], one["data_offsets"]
        whole = all(type(n) is int and n >= 0 for n in (*shape, first, last))
    except (TypeError, KeyError, ValueError) as error:
        raise damaged(path, f"its header does not say what {name[:80]!r} is", REMEDY) from error
    if dtype not in _DTYPES:
        raise RnnlensError(f"{path}: {name[:80]!r} is {str(dtype)[:40]}; give {', '.join(_DTYPES)}")
    if not whole or not 1 <= len(shape) <= 3 or max(shape) > 1 << 48:
        raise damaged(path, f"{name[:80]!r} has the shape {str(shape)[:80]}", REMEDY)
    array = Stored(path, start + first, _DTYPES[dtype], tuple(shape))
    if last - first != array.size or start + last > size:
        raise damaged(path, f"{name[:80]!r} is not as large as its shape says", REMEDY)
    return array


def _check_apart(path: Path, arrays: dict[str, Stored]) -> None:
    """Refuse arrays that lie in one another."""
    spans = sorted((one.offset, one.offset + one.size) for one in arrays.values())
    if any(after[0] < before[1] for before, after in itertools.pairwise(spans)):
        raise damaged(path, "its arrays lie in one another", REMEDY)
