"""Tensors in files: safetensors that are checked to be whole before they are used."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import REMEDY, Sort, damaged, parsed, regular_size, write_pieces

BYTE = 127  # steps of a number that is held in a byte, on either side of zero
_BLOCK = 100  # numbers of a row that have a step of their own, at most
# The types of numbers that files of rnnlens have; torch cannot compare those of some others.
_TYPES = frozenset("BOOL U8 I8 I16 I32 I64 F16 BF16 F32 F64".split())
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
LARGEST = 1e12  # of weights: products of larger ones leave what 32 bits can hold
# The checksum is that of the whole file with zeros in its place.
_SEAL = re.compile(rb'\\"checksum\\": \\"([0-9a-f]{64})\\"')
_HEADER_SIZE = 8  # bytes that hold the length of the header


class Layout(NamedTuple):
    """What the header of a file says of a tensor."""

    dtype: str  # such as F16
    shape: tuple[int, ...]


Layouts = Mapping[str, Layout]


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Any = None) -> str:
    """Write tensors as safetensors, with a dataclass as `metadata` and a checksum in the header.

    Without metadata there is no checksum either: the SHA-256 that is returned is to be kept.
    """
    data = packed(tensors, metadata)
    sha = hashlib.sha256(data).hexdigest()
    whole, pieces = memoryview(data), [memoryview(data)]
    if metadata is not None and (seal := _SEAL.search(data)):  # a copy of all would take as long
        pieces = [whole[: seal.start(1)], memoryview(sha.encode()), whole[seal.end(1) :]]
    write_pieces(path, pieces)
    return sha


def digest(tensors: Mapping[str, Tensor]) -> str:
    """The SHA-256 of the file that `write_tensors` would write."""
    return hashlib.sha256(packed(tensors)).hexdigest()


def packed(tensors: Mapping[str, Tensor], metadata: Any = None) -> bytes:
    """The bytes of a file of tensors, with zeros for its checksum."""
    ready = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    header = None
    if metadata is not None:
        header = {"rnnlens": json.dumps({"checksum": "0" * 64, **asdict(metadata)})}
    try:
        return save(ready, header)
    except (KeyError, ValueError) as error:  # safetensors has no complex numbers, for example
        types = {str(t.dtype).removeprefix("torch.") for t in ready.values()}
        raise RnnlensError(
            f"weights of {', '.join(sorted(types))} cannot all be kept ({error}); use others"
        ) from error


def _any(_layouts: Layouts) -> None:
    """Any names and shapes will do."""


def read_tensors(
    path: Path,
    sha: str,
    fits: Callable[[Layouts], None] = _any,
    remedy: str = REMEDY,
) -> dict[str, Tensor]:
    """Read the tensors of a file whose SHA-256 is recorded elsewhere.

    `fits` looks at names and shapes before anything else is read, and raises ValueError where they
    are not as they should be.
    """
    regular_size(path, remedy)
    try:
        with safe_open(path, framework="pt") as file:
            fits(_layouts(file))
            with path.open("rb") as raw:
                if hashlib.file_digest(raw, "sha256").hexdigest() != sha:
                    raise ValueError("its SHA-256 is not the recorded one")  # noqa: TRY301
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise damaged(path, error, remedy) from error


def read_sealed(
    path: Path, sort: type[Sort], remedy: str = REMEDY, *, older: bool = False
) -> tuple[dict[str, Tensor], Sort]:
    """Read tensors and metadata, which `sort` describes, of a file that has its checksum inside.

    `older`: a file without one, as older versions wrote it, will do.
    """
    regular_size(path, remedy)
    try:
        with safe_open(path, framework="pt") as file:
            check_types(_layouts(file))
            _check_seal(path, older=older)
            header = (file.metadata() or {}).get("rnnlens", "null")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise damaged(path, error, remedy) from error
    plain = re.sub(r'"checksum": "[0-9a-f]{64}"(, )?', "", header, count=1)
    return tensors, parsed(plain, sort, path, remedy)


def check_types(layouts: Layouts) -> None:
    """Raise ValueError where a tensor is of a type that no file of rnnlens has."""
    for name, layout in layouts.items():
        if layout.dtype not in _TYPES:
            raise ValueError(
                f"its tensor {name[:80]} is of the type {layout.dtype}, as none can be"
            )


def _layouts(file: Any) -> Layouts:
    slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
    return {name: Layout(s.get_dtype(), tuple(s.get_shape())) for name, s in slices.items()}


def _check_seal(path: Path, *, older: bool) -> None:
    """Compare the checksum in the header of a file of tensors; ValueError where it differs."""
    with path.open("rb") as file:
        head = file.read(_HEADER_SIZE)
        head += file.read(int.from_bytes(head, "little"))
        seal = _SEAL.search(head)
        if seal is None and older:
            return
        if seal is None:
            raise ValueError("it has no checksum")
        sha = hashlib.sha256(head[: seal.start(1)] + b"0" * 64 + head[seal.end(1) :])
        while block := file.read(1 << 20):
            sha.update(block)
    if sha.hexdigest().encode() != seal[1]:
        raise ValueError("its checksum differs")


def in_range(tensors: Mapping[str, Tensor]) -> bool:
    """Whether all values are numbers that can be computed with."""
    for values in tensors.values():
        if values.is_floating_point() and values.dtype not in _FLOATS:
            return False
        if values.is_floating_point() and values.numel():
            low, high = torch.aminmax(values)
            if not (low >= -LARGEST and high <= LARGEST):  # so that NaN is refused too
                return False
    return True


def check_same(
    path: Path, tensors: Mapping[str, Tensor], wanted: Mapping[str, Tensor], remedy: str
) -> None:
    """Refuse tensors of a file whose names, shapes or types are not those that are wanted."""

    def form(name: str, some: Mapping[str, Tensor]) -> object:
        return (some[name].shape, some[name].dtype) if name in some else None

    names = sorted(tensors.keys() | wanted.keys())
    strange = [name for name in names if form(name, tensors) != form(name, wanted)]
    if strange:
        raise damaged(path, f"its tensor {strange[0]} is not what it should be", remedy)
    if not in_range(tensors):
        raise damaged(path, "it holds values that are no numbers", remedy)


def blocks_of(columns: int) -> int:
    """How many blocks, each with a step of its own, a row of so many numbers is split into."""
    return math.ceil(columns / _BLOCK)


def steps_of(values: Tensor) -> Tensor:
    """What numbers (..., columns) are held in bytes as multiples of, (..., blocks): the largest of
    each block by `BYTE`.
    """
    blocks = values.split(block_size(values.shape[-1], blocks_of(values.shape[-1])), -1)
    return torch.stack([some.abs().amax(-1) for some in blocks], -1).clamp_min(1e-30) / BYTE


def in_bytes(values: Tensor, steps: Tensor) -> Tensor:
    """Numbers (..., columns) as multiples of the steps (..., blocks) of their blocks, each in a
    byte.
    """
    each = _of_each(steps, values.shape[-1])
    return (values / each).round().clamp(-BYTE, BYTE).to(torch.int8)


def from_bytes(held: Tensor, steps: Tensor) -> Tensor:
    """The numbers that `in_bytes` holds, in single precision."""
    return held.float() * _of_each(steps.float(), held.shape[-1])


def block_size(columns: int, blocks: int) -> int:
    """How many numbers a block has; the last may have fewer."""
    return math.ceil(columns / blocks)


def _of_each(steps: Tensor, columns: int) -> Tensor:
    """The step of every number of a row."""
    if steps.shape[-1] == 1:
        return steps
    return steps.repeat_interleave(block_size(columns, steps.shape[-1]), -1)[..., :columns]
