"""Arrays of HDF5 files: named as in an npz file, or as the lstm.yml of LSTMVis says. Contiguous
ones are read where they lie. Links, filters of others and data in other files are refused.

It is run by `unpack` in a process of its own.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import yaml

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged
from rnnlens.states.arrays import REMEDY, Stored, check_size
from rnnlens.states.part import TEXT_BYTES, WORDS, RawPart, is_names

CONFIGURATIONS = ("lstm.yml", "lstm.yaml")  # what LSTMVis calls its own
_FILTERS = {1, 2, 3, 32000}  # deflate, shuffle, checksums and lzf, which come with h5py
_MOST_PACKED = 1100  # times smaller than what it holds
_AT_ONCE = 8 << 20  # bytes that are unpacked
_LARGEST_CHUNK = 256 << 20
_MOST, _DEEPEST = 10_000, 16  # arrays, and groups in one another
_LARGEST_CONFIGURATION = 1 << 20
_MOST_NAMES = 5_000_000
_FAILURES = (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError, OverflowError)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say in one line what the library has against a file."""
    try:
        yield
    except _FAILURES as error:
        line = " ".join(str(error).split())[:200]
        raise damaged(path, line or type(error).__name__, REMEDY) from error


def hdf5_part(files: Sequence[Path], room: Path) -> RawPart:
    """What HDF5 files of one folder hold together."""
    folder = files[0].parent
    for name in CONFIGURATIONS:
        if (folder / name).is_file():
            return _of_lstmvis(folder / name, room)
    arrays: dict[str, Stored] = {}
    names: dict[str, list[str]] = {}
    for path in files:
        with _reading(path), h5py.File(path, locking=False) as file:
            for name, data in _datasets(path, file):
                if name in arrays or name in names:
                    raise RnnlensError(f"{folder} has {name[:80]!r} in two files; leave one out")
                if is_names(name):
                    names[name[6:]] = _texts(path, data, name)
                elif _is_text(data):
                    arrays[name], names[_named(name)] = _numbered(
                        _texts(path, data, name), room / f"{len(arrays)}"
                    )
                else:
                    arrays[name] = _stored(path, file, data, name, room / f"{len(arrays)}")
    return RawPart(folder if len(files) > 1 else files[0], arrays, names)


def _named(name: str) -> str:
    """What the names of an array are kept under."""
    return re.sub(r"^targets[./]", "", name)


def _datasets(path: Path, file: Any) -> Iterator[tuple[str, Any]]:
    """Every array in a file, by the way to it; nothing that lies elsewhere."""
    seen, waiting, count = set(), [("", file, 0)], 0
    while waiting:
        prefix, group, depth = waiting.pop()
        for name in group:
            count += 1
            if count > _MOST or depth > _DEEPEST:
                raise RnnlensError(
                    f"{path} holds more than {_MOST:,} arrays, or too deep; split it"
                )
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise RnnlensError(
                    f"{path}: {name[:80]!r} is a link, which may lead anywhere; copy what it means"
                )
            one, full = group[name], f"{prefix}{name}"
            if isinstance(one, h5py.Group):
                place = h5py.h5o.get_info(one.id).addr
                if place not in seen:
                    seen.add(place)
                    waiting.append((f"{full}/", one, depth + 1))
            elif isinstance(one, h5py.Dataset):
                yield full, one


def _check(path: Path, data: Any, name: str) -> None:
    """Refuse data that lies elsewhere, and what only code of others could read."""
    if data.external or data.is_virtual:
        raise RnnlensError(f"{path}: {name[:80]!r} lies in another file; copy it into this one")
    plan = data.id.get_create_plist()
    filters = {plan.get_filter(k)[0] for k in range(plan.get_nfilters())}
    if not filters <= _FILTERS:
        raise RnnlensError(
            f"{path}: {name[:80]!r} is packed by a filter that comes with no h5py; use gzip or none"
        )
    if data.chunks and math.prod(data.chunks) * data.dtype.itemsize > _LARGEST_CHUNK:
        raise RnnlensError(f"{path}: {name[:80]!r} has chunks of over 256 MB; use smaller ones")
    check_size(path, data.size * data.dtype.itemsize, data.id.get_storage_size(), _MOST_PACKED)


def _stored(path: Path, file: Any, data: Any, name: str, beside: Path) -> Stored:
    """An array where it lies, or unpacked beside."""
    _check(path, data, name)
    dtype = data.dtype
    if dtype.kind not in "fiub" or dtype.itemsize > 8 or not 1 <= len(data.shape) <= 3:
        raise RnnlensError(
            f"{path}: {name[:80]!r} is {str(dtype)[:60]} of shape {data.shape}; give plain numbers "
            "of one or two axes"
        )
    offset = data.id.get_offset()
    if offset is not None and dtype.str[0] != ">" and not file.userblock_size:
        return Stored(path.resolve(), offset, dtype.str, data.shape)
    plain = dtype.newbyteorder("<")
    rows = max(1, _AT_ONCE // max(1, math.prod(data.shape[1:]) * dtype.itemsize))
    with beside.open("wb") as out:
        for first in range(0, data.shape[0], rows):
            out.write(np.ascontiguousarray(data[first : first + rows], plain).tobytes())
    return Stored(beside.resolve(), 0, plain.str, data.shape)


def _is_text(data: Any) -> bool:
    return h5py.check_string_dtype(data.dtype) is not None


def _texts(path: Path, data: Any, name: str) -> list[str]:
    """An array of texts."""
    _check(path, data, name)
    if not _is_text(data) or len(data.shape) != 1 or data.size > _MOST_NAMES * 20:
        raise RnnlensError(f"{path}: {name[:80]!r} must be one axis of texts")
    texts: list[str] = []
    size = 0
    for first in range(0, data.shape[0], 1 << 14):
        for one in data[first : first + (1 << 14)]:
            raw = bytes(one) if isinstance(one, bytes) else str(one).encode("utf-8", "replace")
            size += len(raw)
            texts.append(_utf8(path, raw))
        if size > TEXT_BYTES:
            raise RnnlensError(f"{path}: {name[:80]!r} holds over 1 GB of text; give numbers")
    return texts


def _utf8(path: Path, raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise damaged(path, "a text in it is no UTF-8", REMEDY) from error


def _numbered(texts: Sequence[str], beside: Path) -> tuple[Stored, list[str]]:
    """Texts as the numbers of different ones, and these."""
    index: dict[str, int] = {}
    numbers = np.array([index.setdefault(text, len(index)) for text in texts], "<i4")
    beside.write_bytes(numbers.tobytes())
    return Stored(beside.resolve(), 0, "<i4", numbers.shape), list(index)


def _of_lstmvis(configuration: Path, room: Path) -> RawPart:
    """What a folder of LSTMVis holds: a stream of words, states, and labels of the words."""
    said = _configuration(configuration)
    folder = configuration.parent
    arrays: dict[str, Stored] = {}
    names: dict[str, list[str]] = {}
    files = _part(configuration, said, "files")

    def take(name: str, file: Any, path: Any) -> None:
        place = _inside(configuration, folder, files.get(str(file), file))
        with _reading(place), h5py.File(place, locking=False) as opened:
            there = dict(_datasets(place, opened))
            if str(path) not in there:
                raise RnnlensError(
                    f"{configuration}: {place.name} has no {str(path)[:80]!r}; mend the path"
                )
            arrays[name] = _stored(place, opened, there[str(path)], name, room / f"{len(arrays)}")

    words = _part(configuration, said, "word_sequence")
    take(WORDS, words.get("file"), words.get("path"))
    if words.get("dict_file"):
        place = _inside(configuration, folder, files.get(words["dict_file"], words["dict_file"]))
        names[WORDS] = _dictionary(place)
    states = _part(configuration, said, "states")
    for one in states.get("types") or ():
        path = one.get("path") if isinstance(one, Mapping) else None
        take(str(path).replace("/", "."), states.get("file"), path)
    for name, one in _part(configuration, said, "meta", needed=False).items():
        if isinstance(one, Mapping) and one.get("file"):
            take(f"targets.{name}", one["file"], one.get("path", name))
            if one.get("dict"):
                place = _inside(configuration, folder, files.get(one["dict"], one["dict"]))
                names[str(name)] = _dictionary(place)
    return RawPart(folder, arrays, names)


def _configuration(path: Path) -> Mapping[str, Any]:
    """What lstm.yml says; anchors, by which a small file becomes a large one, are refused."""
    if path.stat().st_size > _LARGEST_CONFIGURATION:
        raise RnnlensError(f"{path} has over a million bytes; it is no configuration of LSTMVis")
    try:
        text = path.read_bytes().decode()
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise RnnlensError(f"{path} has aliases (*name); write them out")
        said = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise damaged(path, " ".join(str(error).split())[:200], "mend it") from error
    if not isinstance(said, Mapping):
        raise damaged(path, "it is no mapping", "mend it")
    return said


def _part(path: Path, said: Mapping[str, Any], name: str, *, needed: bool = True) -> dict[str, Any]:
    found = said.get(name)
    if not isinstance(found, Mapping):
        if needed or found is not None:
            raise damaged(path, f"it has no {name}", "mend it")
        return {}
    return {str(key): value for key, value in found.items()}


def _inside(configuration: Path, folder: Path, name: Any) -> Path:
    """A file that a configuration names, which must be in its own folder."""
    place = folder / str(name)
    if not place.resolve().is_relative_to(folder.resolve()) or not place.is_file():
        raise RnnlensError(
            f"{configuration} names {str(name)[:80]!r}, which is no file in its folder; mend it"
        )
    return place


def _dictionary(path: Path) -> list[str]:
    """The words of a .dict file, each line of which has a word and its number."""
    if path.stat().st_size > TEXT_BYTES:
        raise RnnlensError(f"{path} is too large for a dictionary")
    names: dict[int, str] = {}
    for number, line in enumerate(_utf8(path, path.read_bytes()).splitlines(), 1):
        pieces = line.rsplit(maxsplit=1)
        if not line.strip():
            continue
        if len(pieces) != 2 or not re.fullmatch(r"\d{1,7}", pieces[1], re.ASCII):
            raise damaged(path, f"line {number} is no word with its number", "mend it")
        names[int(pieces[1])] = pieces[0]
    if not names or max(names) >= _MOST_NAMES:
        raise damaged(path, "it names no words, or numbers above 5,000,000", "mend it")
    return [names.get(k, f"#{k}") for k in range(max(names) + 1)]
