"""Products of few states with many weights, laid out as the processor's own library wants them.

A key asks what ten states say of 15,000 labels. Torch's product reads the weights row by row, as a
file has them, and takes two to three times as long as one whose weights stand in blocks that fit
the processor's registers. Such a copy is made once and kept beside the weights.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from rnnlens.model.traceable import product

_MOST = 4096  # states: more are traced in larger blocks, where the copy gains less
_LARGEST = 1 << 26  # bytes of weights of which a copy is kept: 50,000 labels by 300
_HINT = 40  # states that the copy is laid out for; it serves any number of them

Version = tuple[int, int, torch.Size]


class Packed:
    """A matrix of weights (V, H) with copies of it as the processor takes them: in blocks for some
    states, and transposed for a single one, which is all reading.

    A copy is made when it is first of use, and again where the weights have changed since. A change
    through `Tensor.data` or NumPy is one that torch does not count, and is not seen.
    """

    def __init__(self) -> None:
        #: By whether it is for a single state: the copy, and the weights that it is of. These are
        #: held, so that no others come to lie in their place.
        self._copies: dict[bool, tuple[Version, Tensor, Tensor]] = {}

    def __reduce__(self) -> tuple[type["Packed"], tuple[()]]:
        return Packed, ()  # whoever copies or writes a model makes another of its own

    def product(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """X (N, H) @ weight (V, H) transposed + bias, as `product` in model/traceable.py has it."""
        if not _suits(x, weight, bias):
            return product(x, weight, bias)
        found: Tensor
        if len(x) == 1:
            found = x @ self._copy(weight, single=True)
            return found if bias is None else found.add_(bias)
        found = _operations().linear(x, self._copy(weight, single=False), bias)
        return found

    def _copy(self, weight: Tensor, single: bool) -> Tensor:
        same, held = version(weight), self._copies.get(single)
        if held is None or held[0] != same:
            plain = weight.detach()
            copy = plain.T.contiguous() if single else _operations().packed(plain)
            held = self._copies[single] = same, copy, plain
        return held[1]


def version(weight: Tensor) -> Version:
    """What tells weights from what they were, or from others in their place."""
    return weight.data_ptr(), weight._version, weight.shape  # noqa: SLF001 - counts changes in place


def _suits(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether a product is one that a copy of the weights is worth its room for."""
    every = [x, weight] if bias is None else [x, weight, bias]
    return (
        x.dim() == 2
        and 0 < len(x) <= _MOST
        and weight.numel() * weight.element_size() <= _LARGEST
        and all(one.dtype == torch.float32 and one.device.type == "cpu" for one in every)
        and not (torch.is_grad_enabled() and any(one.requires_grad for one in every))
        and not weight.requires_grad  # a fused optimiser's changes are not counted,
        and not weight.is_inference()  # nor those of what inference has made
        and _operations() is not None
    )


class _Operations:
    """What torch has of oneDNN for weights that do not change."""

    def __init__(self) -> None:
        self._reorder = torch.ops.mkldnn._reorder_linear_weight.default  # noqa: SLF001
        self._linear = torch.ops.mkldnn._linear_pointwise.default  # noqa: SLF001
        self.linear(torch.zeros(2, 3), self.packed(torch.zeros(4, 3)), None)

    def packed(self, weight: Tensor) -> Tensor:
        with torch.inference_mode(False), torch.no_grad():
            found: Tensor = self._reorder(weight.contiguous(), _HINT)
        return found

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        found: Tensor = self._linear(x, weight, bias, "none", [], "")
        return found


@cache
def _operations() -> Any:
    """They, or None where this torch or this processor has none."""
    if not torch.backends.mkldnn.is_available():
        return None
    try:
        return _Operations()
    except (AttributeError, NotImplementedError, RuntimeError):
        return None
