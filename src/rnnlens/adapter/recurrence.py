"""A recurrence of one's own: where decay, write and read are in a layer of one's module."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter.record.scans import ScanCall
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cells.linear_memories import (
    RWKV6,
    RWKV7,
    Gated,
    KimiDelta,
    LinearAttention,
)
from rnnlens.model.linear import LinearCell

# A family, what it takes (sequences and timesteps in the module's order), and its constants.
_Taken = tuple[type[Gated] | type[LinearAttention], dict[str, Tensor], dict[str, Tensor]]
Where = str | Callable[[Any, Any], Any]  # of a layer and its input: a tensor
_NAMES = ("decay", "write", "question", "key", "value", "strength", "removed", "bonus")
_MATRIX = {"decay", "question", "key", "value"}
#: What is given besides -> the family that it is.
_FAMILIES: dict[frozenset[str], type[LinearAttention]] = {
    frozenset(): LinearAttention,
    frozenset({"strength"}): KimiDelta,
    frozenset({"strength", "removed"}): RWKV7,
    frozenset({"bonus"}): RWKV6,
}


@dataclass(frozen=True)
class Recurrence:
    """A layer of one's own module whose memory is linear: how much of it stays, what is added to
    it, and how it is read.

    `part` is the layer's dotted name, or a class: then all layers of that class. Each of the others
    is a function of the layer and its input, or the dotted name of a submodule of the layer whose
    output it is. Tensors are (sequences, timesteps, ...), or the other way round where
    `batch_first` is False.

    - A vector: `decay` and `write`, (B, T, C). The memory itself is what is read.
    - A matrix for each head: `decay` (B, T, H), or (B, T, H, K) where each key has its own; `key`
      and `question` (B, T, H, K); `value` (B, T, H, V). With `strength` (B, T, H) it is the delta
      rule: what the memory says of a key is erased before its value is written. With `removed` and
      `strength` (B, T, H, K), another key is erased than is written, as in RWKV-7. With `bonus`
      (H, K) the memory is read before it is written, as in RWKV-6.

    What is read must be what the layer returns, or what its submodule `into` is given; that is
    checked on the first batch. Where it is multiplied by a gate before any submodule is given it,
    have the layer pass it through an `nn.Identity` of its own, and name that in `into`. Numbers are
    real: a complex recurrence, such as an LRU, is read by its layer's output alone.

    >>> import rnnlens, torch
    >>> of_mingru = rnnlens.Recurrence(
    ...     "cell",
    ...     decay=lambda cell, x: 1 - torch.sigmoid(cell.gate(x)),
    ...     write=lambda cell, x: torch.sigmoid(cell.gate(x)) * cell.candidate(x),
    ... )
    """

    part: str | type[nn.Module]
    decay: Where
    write: Where | None = None
    question: Where | None = None
    key: Where | None = None
    value: Where | None = None
    strength: Where | None = None
    removed: Where | None = None
    bonus: Where | None = None
    into: str = ""  #: The submodule that is given what is read; empty: the layer returns it.
    batch_first: bool = True  #: Whether sequences come before timesteps.

    def __post_init__(self) -> None:
        given = {name for name in _NAMES if getattr(self, name) is not None}
        if given != {"decay", "write"} and (
            not given >= _MATRIX or frozenset(given - _MATRIX) not in _FAMILIES
        ):
            raise RnnlensError(
                f"a recurrence of {', '.join(sorted(given))} is not known; give decay and write, "
                "or decay, question, key and value, and with these strength, strength and removed, "
                "or bonus"
            )
        for name in given:
            where = getattr(self, name)
            if not (isinstance(where, str) or callable(where)):
                raise RnnlensError(
                    f"{name}= of a recurrence is {type(where).__name__}; give a function of the "
                    "layer and its input, or the dotted name of a submodule"
                )
        if not isinstance(self.part, str | type):
            raise RnnlensError("part= of a recurrence is the dotted name of a layer, or its class")


def names_in(own: Recurrence) -> list[str]:
    """The submodules of the layer whose outputs are needed."""
    return [where for where in (getattr(own, name) for name in _NAMES) if isinstance(where, str)]


def layers_of(own: Recurrence, every: Mapping[str, nn.Module]) -> dict[str, nn.Module]:
    """The layers that a recurrence is of, among the submodules of a module."""
    if isinstance(own.part, str):
        if own.part not in every or not own.part:
            raise RnnlensError(
                f"the module has no submodule called {own.part!r}, which a recurrence is of"
            )
        return {own.part: every[own.part]}
    found = {name: part for name, part in every.items() if isinstance(part, own.part)}
    if not found:
        raise RnnlensError(
            f"the module has no {own.part.__name__}, which a recurrence is of; give the class of "
            "its layers, or a layer's dotted name"
        )
    return found


def call_of(
    own: Recurrence, layer: nn.Module, x: Tensor, outputs: Mapping[str, Tensor]
) -> ScanCall:
    """What the recurrence of a layer is given for an input; `outputs` are those of `names_in`."""

    def timed(values: Tensor) -> Tensor:
        """Time first instead of sequences, or back."""
        return values.transpose(0, 1) if own.batch_first else values

    given: dict[str, Tensor] = {}
    for name in _NAMES:
        where = getattr(own, name)
        if where is not None:
            found = outputs[where] if isinstance(where, str) else where(layer, x)
            given[name] = _floats(name, found)
    family, taken, constants = (_vector if "write" in given else _matrix)(x.shape[:2], **given)
    call = family.taking(**{name: timed(some) for name, some in taken.items()}, **constants)
    assert isinstance(call.cell, LinearCell)  # noqa: S101 - as all families are
    size = call.cell.sizes[call.cell.output.id]

    def reads(whole: Tensor) -> Tensor:
        if whole.shape[:2] != x.shape[:2] or prod(whole.shape[2:]) != prod(size):
            raise RnnlensError(
                f"{own.into or 'the layer of a recurrence'} {'is given' if own.into else 'returns'}"
                f" {_by(whole.shape)} where {_by((*x.shape[:2], *size))} is read of the memory; "
                "name in into= the submodule that is given what is read"
            )
        values = timed(whole)
        return values.reshape(*values.shape[:2], *size)

    def put(whole: Tensor, values: Tensor) -> Tensor:
        return timed(values).reshape(whole.shape).to(whole.dtype)

    return ScanCall(call, reads=reads, put=put)


def _floats(name: str, value: Any) -> Tensor:
    if isinstance(value, Tensor) and value.is_complex():
        raise RnnlensError(
            f"{name}= of a recurrence gives complex numbers, and memories of real ones alone are "
            "known; leave the recurrence out, and name the layer in kinds= to read its output"
        )
    if not isinstance(value, Tensor) or not value.is_floating_point():
        kind = str(value.dtype) if isinstance(value, Tensor) else type(value).__name__
        raise RnnlensError(f"{name}= of a recurrence gives {kind}; give a tensor of floats")
    return value.to(torch.promote_types(value.dtype, torch.float32))


def _vector(many: torch.Size, decay: Tensor, write: Tensor) -> _Taken:
    write = _expanded("write", write, (*many, write.shape[-1] if write.dim() else 1))
    return Gated, {"decay": _expanded("decay", decay, write.shape), "write": write}, {}


def _matrix(
    many: torch.Size,
    decay: Tensor,
    question: Tensor,
    key: Tensor,
    value: Tensor,
    strength: Tensor | None = None,
    removed: Tensor | None = None,
    bonus: Tensor | None = None,
) -> _Taken:
    """A matrix for each head; where there is one, its axis may be missing."""
    there = {"strength": strength, "removed": removed, "bonus": bonus}
    family = _FAMILIES[frozenset(name for name, v in there.items() if v is not None)]
    heads = key.shape[2] if key.dim() == 4 else 1
    keys, values = (some.shape[-1] if some.dim() else 1 for some in (key, value))
    one, each = (*many, heads), (*many, heads, keys)

    def headed(name: str, given: Tensor, wanted: tuple[int, ...]) -> Tensor:
        missing = key.dim() == 3 and given.dim() == len(wanted) - 1
        return _expanded(name, given[:, :, None] if missing else given, wanted)

    by_key = decay.dim() == 4 or (key.dim() == 3 and decay.dim() == 3 and decay.shape[-1] == keys)
    own = decay.shape[-1] if by_key else 1
    taken = {
        "key": headed("key", key, each),
        "question": headed("question", question, each),
        "value": headed("value", value, (*one, values)),
        "decay": headed("decay", decay, (*one, own)) if by_key
        else headed("decay", decay, one)[..., None],
    }  # fmt: skip
    if strength is not None:
        taken["strength"] = headed("strength", strength, one if removed is None else each)
    if removed is not None:
        taken["removed"] = headed("removed", removed, each)
    if bonus is None:
        return family, taken, {}
    bonus = bonus[None] if bonus.dim() == 1 and heads == 1 else bonus
    return family, taken, {"u": _expanded("bonus", bonus.detach(), (heads, keys))}


def several(given: Any) -> tuple[Recurrence, ...]:
    """One recurrence or several; an error where something else is among them."""
    if not isinstance(given, Recurrence | Iterable):
        raise RnnlensError(
            f"recurrences= is {type(given).__name__}; give a list of rnnlens.Recurrence(...)"
        )
    every = (given,) if isinstance(given, Recurrence) else tuple(given)
    if strange := [one for one in every if not isinstance(one, Recurrence)]:
        raise RnnlensError(
            f"recurrences= has {strange[0]!r}; give rnnlens.Recurrence(...) for each"
        )
    return every


def _expanded(name: str, value: Tensor, wanted: Sequence[int]) -> Tensor:
    """A tensor in the shape that is wanted, along axes where it is 1 long."""
    if value.dim() != len(wanted) or any(
        own not in (1, size) for own, size in zip(value.shape, wanted, strict=True)
    ):
        raise RnnlensError(
            f"{name} of a recurrence is {_by(value.shape)} where {_by(wanted)} is needed; mend "
            f"what {name}= gives, or see rnnlens.Recurrence for the axes of each"
        )
    return value.expand(*wanted)


def _by(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "a single number"
