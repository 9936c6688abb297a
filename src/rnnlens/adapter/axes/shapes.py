"""A notation for the shape of what a submodule returns, where its axes are others than (T, B, H).

`"conv: b c t"` names the axes of the output of `conv`: `b` are the sequences, `t` the timesteps,
and all others together the numbers of a state. Nothing of it is guessed: a tensor that does not fit
is refused with what was written, the shape that met it, and the cause.

- `"mix: b t h n"` has h x n numbers a state
- `"mix: b t h=2 n"` is head 2 alone, the kind `mix.h2`; heads are counted from 0
- `"mix: b t h:4* n"` is a kind for each of four heads, `mix.h0` to `mix.h3`
- `"mix: b t (h:4=2 n)"` takes an axis apart whose numbers are those of four heads side by side
- `"step: b h n"`, of what is called once for each timestep, has no `t`
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rnnlens.adapter.axes.layout import described
from rnnlens.base.errors import RnnlensError

_SEQUENCES, _STEPS = "b", "t"
_ITEM = re.compile(r"([A-Za-z][A-Za-z0-9_]*|1)(?::(\d{1,6}))?(?:(\*)|=(\d{1,6}))?")
_SIGN = re.compile(r"[()]|[^\s()]+")
_HOW = "write an axis each, as in 'conv: b c t' (b sequences, t timesteps) or 'mix: b t h:4* n'"
_MOST_AXES = 8
_MOST_APART = 1024


@dataclass(frozen=True)
class Axis:
    """One axis, or a part of one."""

    name: str  # `1`: of length one
    size: int | None = None
    chosen: int | None = None  # the only place on it that is read
    each: bool = False  # whether every place is a kind of its own


@dataclass(frozen=True)
class Shape:
    """The axes of a tensor, some of which are several side by side."""

    written: str  # by the user
    axes: tuple[tuple[Axis, ...], ...]

    @property
    def every(self) -> list[Axis]:
        """All axes, those that are parts of one by themselves."""
        return [axis for group in self.axes for axis in group]

    def states(self, outputs: Sequence[Tensor]) -> Tensor:
        """The states (T, B, H) in what the calls of a submodule returned."""
        parts = [self._apart(values) for values in outputs]
        timed = any(axis.name == _STEPS for axis in self.every)
        if not timed and len(parts) == 1:
            raise self._error(outputs[0], "no axis is t, and it is called once; name the timesteps")
        widths = {part.shape[1:] for part in parts}
        if len(widths) > 1:
            raise self._error(outputs[0], f"{len(parts)} calls return {len(widths)} shapes")
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _apart(self, values: Tensor) -> Tensor:
        """What one call returned, as (T, B, H)."""
        if values.is_complex():
            raise self._error(
                values, "it is complex; return torch.view_as_real of it, one axis more"
            )
        if values.dim() != len(self.axes):
            raise self._error(values, f"it has {values.dim()} axes and {len(self.axes)} are named")
        sizes = list[int]()
        for group, length in zip(self.axes, values.shape, strict=True):
            sizes += self._sizes(values, group, length)
        values = values.reshape(sizes)
        axes = self.every
        for place in reversed(range(len(axes))):
            axis = axes[place]
            if axis.chosen is not None:
                if axis.chosen >= values.shape[place]:
                    last = values.shape[place] - 1
                    raise self._error(values, f"{axis.name} goes from 0 to {last}")
                values = values.select(place, axis.chosen)
                axes = [*axes[:place], *axes[place + 1 :]]
        names = [axis.name for axis in axes]
        for missing in (name for name in (_SEQUENCES, _STEPS) if name not in names):
            values, names = values[None], [missing, *names]
        rest = [place for place, name in enumerate(names) if name not in (_SEQUENCES, _STEPS)]
        values = values.permute(names.index(_STEPS), names.index(_SEQUENCES), *rest)
        return values.flatten(2) if values.dim() > 2 else values[..., None]

    def _sizes(self, values: Tensor, group: Sequence[Axis], length: int) -> list[int]:
        """How long the parts of an axis are."""
        sizes = [1 if axis.name == "1" else axis.size for axis in group]
        open_ = [place for place, size in enumerate(sizes) if size is None]
        known = math.prod(size or 1 for size in sizes)
        called = " ".join(axis.name for axis in group)
        if len(open_) > 1:
            raise self._error(values, f"of ({called}) only one length may be left out")
        if open_:
            sizes[open_[0]] = length // known if known else 0
            known *= sizes[open_[0]] or 0
        if known != length or not length:
            told = " x ".join(str(axis.size or axis.name) for axis in group)
            raise self._error(values, f"the axis {called} is {length} long and not {told}")
        return [int(size or 1) for size in sizes]

    def _error(self, values: Tensor, cause: str) -> RnnlensError:
        return RnnlensError(
            f"kinds= has {self.written!r}, which met {described(values)}: {cause}; {_HOW}"
        )


def shaped_kinds(kinds: Iterable[str]) -> dict[str, tuple[str, Shape | None]]:
    """The kinds that are named: each with its submodule, and its shape where that is written."""
    found: dict[str, tuple[str, Shape | None]] = {}
    for written in kinds:
        name, colon, axes = written.partition(":")
        if not colon:
            found[written] = (written, None)
            continue
        name = name.strip()
        for shape in _each(_read(written, axes)):
            chosen = [
                f"{axis.name}{axis.chosen}" for axis in shape.every if axis.chosen is not None
            ]
            kind = ".".join([name, *chosen])
            if kind in found:
                raise RnnlensError(f"kinds= names {kind} twice, the second time by {written!r}")
            found[kind] = (name, shape)
    return found


def _each(shape: Shape) -> list[Shape]:
    """A shape for each place on an axis all of whose places are kinds of their own."""
    axis = next((axis for axis in shape.every if axis.each), None)
    if axis is None:
        return [shape]
    if axis.size is None:
        raise RnnlensError(
            f"kinds= has {shape.written!r}, in which {axis.name}* is without its length; write "
            f"{axis.name}:4* for four"
        )
    alone = [replace(axis, chosen=place, each=False) for place in range(axis.size)]
    return [
        one
        for other in alone
        for one in _each(
            replace(shape, axes=tuple(tuple(other if a is axis else a for a in g)
                                      for g in shape.axes))
        )
    ]  # fmt: skip


def _read(written: str, axes: str) -> Shape:
    """The shape that is written behind the colon."""
    groups: list[tuple[Axis, ...]] = []
    inside: list[Axis] | None = None
    for sign in _SIGN.findall(axes):
        if sign == "(" and inside is None:
            inside = []
        elif sign == ")" and inside:
            groups.append(tuple(inside))
            inside = None
        elif (item := _ITEM.fullmatch(sign)) is None:
            raise _wrong(written, f"{sign!r} is no axis there")
        else:
            size, chosen = (None if item[k] is None else int(item[k]) for k in (2, 4))
            axis = Axis(item[1], size, chosen, item[3] is not None)
            if inside is None:
                groups.append((axis,))
            else:
                inside.append(axis)
    if inside is not None:
        raise _wrong(written, "a bracket ( that is not closed")
    shape = Shape(written, tuple(groups))
    if cause := _flaw(shape):
        raise _wrong(written, cause)
    return shape


def _wrong(written: str, cause: str) -> RnnlensError:
    return RnnlensError(f"kinds= has {written!r}: {cause}; {_HOW}")


def _flaw(shape: Shape) -> str:
    """What is wrong with a shape; nothing if it is sound."""
    every = shape.every
    names = [axis.name for axis in every if axis.name != "1"]
    if not names or len(shape.axes) > _MOST_AXES:
        return f"{len(shape.axes)} axes are named"
    if twice := [name for name in names if names.count(name) > 1]:
        return f"two axes are called {twice[0]}"
    if nothing := [axis.name for axis in every if axis.size == 0]:
        return f"{nothing[0]} is 0 long"
    apart = [axis for axis in every if axis.each or axis.chosen is not None]
    if whole := [axis.name for axis in apart if axis.name in (_SEQUENCES, _STEPS, "1")]:
        return f"no part of {whole[0]} can be read alone"
    if not {_SEQUENCES, _STEPS} & {*names}:
        return "neither sequences (b) nor timesteps (t) are named"
    count = math.prod(axis.size or 1 for axis in every if axis.each)
    return f"these are {count:,} kinds" if count > _MOST_APART else ""
