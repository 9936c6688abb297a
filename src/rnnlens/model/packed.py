"""Products of few states with many weights, laid out as the processor's own libraries want them.

A key asks what ten states say of 15,000 labels. Torch's product reads the weights row by row, as a
file has them, and takes two to three times as long as one whose weights stand in blocks that fit
the processor's registers. Such a copy is made once and kept as long as the weights are. Few states
are mostly reading, and files have weights in half precision: where nothing is lost by that, the
copy for these has them so, too; products and sums are in single precision all the same.
"""

from functools import cache
from typing import Any, Literal
from weakref import ref

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.model.traceable import product

_MOST = 4096  # states: more are traced in larger blocks, where the copy gains less
_LARGEST = 1 << 26  # bytes of weights of which a copy is kept: 50,000 labels by 300
_LARGE = 2**24  # products of numbers from which oneDNN gains more than it takes to be called
_HINT = 40  # states that blocks are laid out for; they serve any number of them
FEW = 48  # states up to which reading half of the bytes gains more than unpacking them takes

Way = Literal["halves", "blocks", "column"]
Version = tuple[int, int, torch.Size]


def packed_product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """X (N, H) @ weight (V, H) transposed + bias, as `product` in model/traceable.py has it.

    A change of the weights through `Tensor.data` or NumPy is one that torch does not count, and is
    not seen where there is a copy of them.
    """
    suits = x.dim() == 2 and 0 < len(x) <= _MOST and _suits(x, weight, bias)
    copies = _copies_of(weight) if suits else None
    if copies is None:
        return product(x, weight, bias)
    found: Tensor
    if len(x) <= FEW and (halves := copies.of("halves")) is not None:
        found = _halves().linear(x, halves)
    elif len(x) == 1:
        found = x @ copies.of("column")
    elif (blocks := copies.of("blocks")) is not None:
        found = _blocks().linear(x, blocks, bias)
        return found
    else:
        return product(x, weight, bias)
    return found if bias is None else found.add_(bias)


def packed_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear` of states (..., H): of few, by a copy of the weights in half precision where these
    need no more. It is for weights that are read again and again, as a recurrence does.
    """
    few = x.dim() > 1 and 0 < x.numel() <= FEW * x.shape[-1]
    copies = _copies_of(weight) if few and _suits(x, weight, bias) else None
    halves = copies.of("halves") if copies else None
    if halves is None:
        return F.linear(x, weight, bias)
    found: Tensor = _halves().linear(x, halves)
    return found if bias is None else found.add_(bias)


def product_once(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear` of states (N, H) by weights (V, H) that change before they are met again, where no
    gradient is asked for: large ones by oneDNN where it is there, which takes any strides and adds
    the bias as it goes.
    """
    plain = all(one.dtype == torch.float32 and one.device.type == "cpu" for one in (x, weight))
    if not plain or x.numel() * len(weight) < _LARGE or _blocks() is None:
        return product(x, weight, bias)
    found: Tensor = _blocks().linear(x, weight, bias)
    return found


class _Copies:
    """Copies of a matrix of weights (V, H) as the processor takes them: in half precision for few
    states, in blocks for some, and transposed for a single one.

    A copy is made when it is first of use.
    """

    def __init__(self, weight: Tensor) -> None:
        self.version = version(weight)
        self.weight = weight.detach()  # held, so that no others come to lie in its place
        self.made: dict[Way, Any] = {}  # None: there can be none

    def of(self, way: Way) -> Any:
        """A copy of the weights, or None."""
        if way not in self.made:
            self.made[way] = _copied(self.weight, way)
        return self.made[way]


_known: dict[int, tuple["ref[Tensor]", _Copies]] = {}  # by what tells a tensor from others


def _copies_of(weight: Tensor) -> _Copies | None:
    """The copies of weights, which go with them. Weights that are met for the first time, or have
    changed since they were last, have none: they may be met never again.
    """
    number = id(weight)
    held = _known.get(number)
    if held and held[0]() is weight and held[1].version == version(weight):
        return held[1]

    def forget(gone: "ref[Tensor]") -> None:
        if number in _known and _known[number][0] is gone:
            del _known[number]

    _known[number] = ref(weight, forget), _Copies(weight)
    return None


def _copied(weight: Tensor, way: Way) -> Any:
    """A copy; None where halves would not be the same numbers, or nobody here multiplies by it."""
    if way == "column":
        return weight.T.contiguous()
    operations = _blocks() if way == "blocks" else _halves()
    if operations is None or (way == "halves" and not _are_halves(weight)):
        return None
    return operations.packed(weight)


def _are_halves(weight: Tensor) -> bool:
    """Whether half precision has the same numbers. None may be infinite: FBGEMM would put its
    largest number in their place, in the weights themselves.
    """
    return bool(weight.isfinite().all()) and torch.equal(weight.half().float(), weight)


def version(weight: Tensor) -> Version:
    """What tells weights from what they were, or from others in their place."""
    return weight.data_ptr(), weight._version, weight.shape  # noqa: SLF001 - counts changes in place


def _suits(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether a product is one that a copy of the weights is worth its room for."""
    every = (x, weight) if bias is None else (x, weight, bias)
    return (
        weight.numel() * weight.element_size() <= _LARGEST
        and all(one.dtype == torch.float32 and one.device.type == "cpu" for one in every)
        and not (torch.is_grad_enabled() and any(one.requires_grad for one in every))
        and not weight.requires_grad  # a fused optimiser's changes are not counted,
        and not weight.is_inference()  # nor those of what inference has made
    )


class _Blocks:
    """What torch has of oneDNN for weights that do not change."""

    def __init__(self) -> None:
        self._reorder = torch.ops.mkldnn._reorder_linear_weight.default  # noqa: SLF001
        self._linear = torch.ops.mkldnn._linear_pointwise.default  # noqa: SLF001
        x, weight = (torch.zeros(size, 3, dtype=torch.float32) for size in (2, 4))
        self.linear(x, self.packed(weight), None)

    def packed(self, weight: Tensor) -> Tensor:
        with torch.inference_mode(False), torch.no_grad():
            found: Tensor = self._reorder(weight.contiguous(), _HINT)
        return found

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        found: Tensor = self._linear(x, weight, bias, "none", [], "")
        return found


class _Halves:
    """What torch has of FBGEMM for weights in half precision."""

    def __init__(self) -> None:
        self._pack = torch.ops.quantized.linear_prepack_fp16.default
        self._linear = torch.ops.quantized.linear_dynamic_fp16.default
        x = torch.tensor([[1.0, 1 + 2.0**-20]], dtype=torch.float32)
        if not torch.equal(self.linear(x, self.packed(torch.eye(2, dtype=x.dtype))), x):
            raise NotImplementedError  # it would halve the states, too

    def packed(self, weight: Tensor) -> Any:
        with torch.inference_mode(False), torch.no_grad():
            return self._pack(weight.contiguous(), None)

    def linear(self, x: Tensor, weight: Any) -> Tensor:
        found: Tensor = self._linear(x, weight)
        return found


@cache
def _blocks() -> Any:
    """They, or None where this torch or this processor has none."""
    return _made(_Blocks) if torch.backends.mkldnn.is_available() else None


@cache
def _halves() -> Any:
    """They, or None where this torch or this processor has none."""
    return _made(_Halves)


def _made(operations: type[Any]) -> Any:
    try:
        return operations()
    except (AttributeError, NotImplementedError, RuntimeError):
        return None
