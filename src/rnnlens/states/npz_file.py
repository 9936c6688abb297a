"""Arrays of an npz file. What is stored plainly is read where it lies; what is compressed is
unpacked beside. Pickles are never opened.
"""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged, regular_size
from rnnlens.states.arrays import REMEDY, Stored, check_size, read_at
from rnnlens.states.part import TEXT_BYTES, RawPart, is_names

_MOST_PACKED = 1100  # times smaller than what it holds: deflate packs zeros by 1030
_AT_ONCE = 1 << 20  # bytes that are unpacked
_LOCAL_HEADER = 30  # bytes before the name of a file in a zip
_MOST_MEMBERS = 10_000


def npz_part(path: Path, room: Path) -> RawPart:
    """What an npz file holds; `room` is a folder for what has to be unpacked."""
    size = regular_size(path, REMEDY)
    arrays: dict[str, Stored] = {}
    names: dict[str, list[str]] = {}
    try:
        with zipfile.ZipFile(path) as file:
            members = file.infolist()
            if len(members) > _MOST_MEMBERS:
                raise damaged(path, f"it holds {len(members):,} arrays", REMEDY)
            for number, member in enumerate(members):
                name = member.filename.removesuffix(".npy")
                if name in arrays or name in names:
                    raise damaged(path, f"{name[:80]!r} stands there twice", REMEDY)
                array = _array(path, file, member, size, room / f"{path.name}-{number}")
                if is_names(name):
                    names[name.partition(".")[2]] = _texts(array, name)
                else:
                    arrays[name] = array
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, EOFError,
            RuntimeError, KeyError, UnicodeDecodeError) as error:  # fmt: skip
        raise damaged(path, error, REMEDY) from error
    return RawPart(path, arrays, names)


def _array(
    path: Path, file: zipfile.ZipFile, member: zipfile.ZipInfo, size: int, beside: Path
) -> Stored:
    with file.open(member) as data:
        shape, dtype, start = _header(path, data, member.filename)
    array = Stored(path, 0, dtype.str, shape)
    if member.file_size != start + array.size:
        raise damaged(path, f"{member.filename[:80]!r} is not as large as it says", REMEDY)
    if member.compress_type == zipfile.ZIP_STORED:
        local = read_at(path, member.header_offset, _LOCAL_HEADER).tobytes()
        lengths = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
        offset = member.header_offset + _LOCAL_HEADER + lengths + start
        if offset + array.size > size:
            raise damaged(path, f"{member.filename[:80]!r} ends after the file does", REMEDY)
        return Stored(path, offset, dtype.str, shape)
    if member.compress_type != zipfile.ZIP_DEFLATED:
        raise RnnlensError(f"{path} is compressed in an unusual way; save it with np.savez")
    check_size(path, member.file_size, member.compress_size, _MOST_PACKED)
    with file.open(member) as data, beside.open("wb") as out:
        data.read(start)
        while block := data.read(_AT_ONCE):
            out.write(block)
    return Stored(beside, 0, dtype.str, shape)


def _header(path: Path, data: Any, name: str) -> tuple[tuple[int, ...], "np.dtype[Any]", int]:
    """The shape and type of an array, and where its numbers begin."""
    version = npy.read_magic(data)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(data)
    if dtype.hasobject:
        raise RnnlensError(
            f"{path}: {name[:80]!r} is a pickle, which could run anything and is never opened; "
            "save numbers, or texts as np.array(texts, dtype=str)"
        )
    if fortran and len(shape) > 1:
        raise RnnlensError(
            f"{path}: {name[:80]!r} lies column by column; save np.ascontiguousarray of it"
        )
    if (
        dtype.kind not in "fiubU"
        or dtype.str[0] == ">"
        or (dtype.itemsize > 8 and dtype.kind != "U")
    ):
        raise RnnlensError(f"{path}: {name[:80]!r} is {dtype}; give plain numbers or texts")
    if not 1 <= len(shape) <= 3 or max(shape) > 1 << 48:
        raise RnnlensError(f"{path}: {name[:80]!r} has the shape {shape}; give one or two axes")
    return tuple(shape), dtype, data.tell()


def _texts(array: Stored, name: str) -> list[str]:
    """The names that an array of texts holds."""
    if array.item.kind != "U" or len(array.shape) != 1 or array.size > TEXT_BYTES:
        raise RnnlensError(f"{array.path}: {name[:80]!r} must be one axis of texts, dtype=str")
    return [str(one) for one in array.rows(0, array.shape[0])]
