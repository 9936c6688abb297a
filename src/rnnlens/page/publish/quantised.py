"""Numbers as a published file holds them: in a byte each with a scale for some, or in two."""

import math
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint
from rnnlens.base.tensors import block_size, from_bytes, in_bytes, steps_of
from rnnlens.page.publish.precisions import PRECISIONS, Precision

_ALIGN = 4  # bytes
_SMALL = 8192  # numbers that are not worth rounding
_LARGEST = 2**15  # what the largest number of a tensor is brought below before it is halved

_Floats = NDArray[np.float32]


class Tensors:
    """Tensors back to back, each known by its number; what is added twice is held once."""

    def __init__(self, precision: Precision) -> None:
        if precision not in PRECISIONS:
            raise RnnlensError(f"{precision!r} is no precision; choose {' or '.join(PRECISIONS)}")
        self.precision = precision
        self.layouts: list[dict[str, Any]] = []
        self.sizes: dict[str, int] = {}  # bytes by part
        self._pieces: list[bytes] = []
        self._length = 0
        self._known: dict[bytes, int] = {}

    @property
    def blob(self) -> bytes:
        """All of them."""
        return b"".join(self._pieces)

    def rows(self, part: str, values: Tensor) -> int:
        """A matrix in the precision that was chosen; a small one exactly, and so one that its run
        stores in bytes.
        """
        if values.numel() <= _SMALL:
            return self.exact(part, values)
        x = values.detach().float().cpu()
        held, unit = _halved(steps_of(x).numpy())
        steps = torch.from_numpy(np.maximum(held.astype(np.float32) * unit, 1e-38))  # as read
        whole, block = in_bytes(x, steps), block_size(x.shape[1], steps.shape[1])
        if self.precision == "fp16" and not torch.equal(from_bytes(whole, steps), x):
            return self.half(part, values)
        layout = {"sort": "int8", "shape": list(x.shape), "unit": unit, "block": block}
        return self._add(part, layout, {"at": whole.numpy().tobytes(), "scales": held.tobytes()})

    def half(self, part: str, values: Tensor) -> int:
        """In half precision, after a division by a power of two so that no digits are lost; a small
        one exactly.
        """
        if values.numel() <= _SMALL:
            return self.exact(part, values)
        x = _array(values)
        held, unit = _halved(x)
        layout = {"sort": "fp16", "shape": list(x.shape), "unit": unit}
        return self._add(part, layout, {"at": held.tobytes()})

    def exact(self, part: str, values: Tensor) -> int:
        """In single precision."""
        x = _array(values)
        return self._add(part, {"sort": "fp32", "shape": list(x.shape)}, {"at": x.tobytes()})

    def numbers(self, part: str, values: NDArray[np.int64]) -> int:
        """Whole numbers from 0."""
        sort = np.uint8 if values.max(initial=0) < 256 else np.uint32
        layout = {"sort": np.dtype(sort).name, "shape": list(values.shape)}
        return self._add(part, layout, {"at": values.astype(sort).tobytes()})

    def _add(self, part: str, layout: dict[str, Any], contents: Mapping[str, bytes]) -> int:
        checkpoint()
        key = blake2b(repr(sorted(layout.items())).encode())
        for piece in contents.values():
            key.update(piece)
        known = self._known.get(key.digest())
        if known is not None:
            return known
        for name, piece in contents.items():
            layout[name] = self._length
            padded = piece + bytes(-len(piece) % _ALIGN)
            self._pieces.append(padded)
            self._length += len(padded)
            self.sizes[part] = self.sizes.get(part, 0) + len(padded)
        self.layouts.append(layout)
        self._known[key.digest()] = len(self.layouts) - 1
        return len(self.layouts) - 1


def _array(values: Tensor) -> _Floats:
    return np.ascontiguousarray(values.detach().float().cpu().numpy())


def _halved(x: _Floats) -> tuple[NDArray[np.float16], float]:
    """Half precision numbers, and the power of two to multiply them with."""
    largest = float(np.abs(x).max(initial=0))
    unit = 2.0 ** (math.ceil(math.log2(largest / _LARGEST)) if largest > 0 else 0)
    return (x.astype(np.float64) / unit).astype(np.float16), unit
