"""The short convolutions of recurrent layers, and token shifts, by which a layer sees its input of
the word before: the last inputs of each are memory, too.

A layer may have several, side by side. Where their past is edited, what they return after that
timestep is computed from inputs that have the edited past in them; before it nothing is other than
it was.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rnnlens.adapter.modules import own_code
from rnnlens.model.block import PAST
from rnnlens.model.cell import Change
from rnnlens.model.kinds import INPUT

_INPUTS = ("hidden_states", INPUT, "input")  # what libraries call that which is convolved
_FUNCTION = "causal_conv1d_fn"  # of a layer's own module, or of the layer where a kernel is
_SHIFT = (
    0,
    0,
    1,
    -1,
)  # how a token shift pads (B, T, C): nothing comes first, the last is left out


@contextmanager
def replaced(place: dict[str, Any], name: str, stand_in: Callable[..., Any]) -> Iterator[None]:
    """Have another function under a name for a while."""
    missing = object()
    before = place.get(name, missing)
    place[name] = stand_in
    try:
        yield
    finally:
        if before is missing:
            del place[name]
        else:
            place[name] = before


class Convolution(NamedTuple):
    """A function or a submodule that convolves."""

    place: dict[str, Any]  # in which another function can stand under its name
    name: str
    original: Callable[..., Any]
    time_last: bool  # whether it is given (B, C, T), and not (B, T, C)
    taps: int  # how many inputs it sees at once; 0: as its weight says
    called: str = "the convolution"  # in what is told of its past


class Edited(NamedTuple):
    """The past after a timestep was edited."""

    step: int
    past: Tensor  # (B, H), as it is put
    inputs: list[Tensor]  # of every convolution, (T, B, C), in which that past is


@dataclass
class Past:
    """What the convolutions of a layer have read in one of its calls."""

    inputs: list[Tensor] = field(default_factory=list)  # (T, B, C) of each, in the order of calls
    taps: list[int] = field(default_factory=list)
    called: str = ""  # what has read them
    edited: list[Edited] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Numbers of a state."""
        many = zip(self.inputs, self.taps, strict=True)
        return sum(x.shape[-1] * (taps - 1) for x, taps in many)

    def lies_beside(self, steps: int, sequences: int) -> bool:
        """Whether there is a past for every timestep of a scan."""
        shapes = {tuple(x.shape[:2]) for x in self.inputs}
        return shapes == {(steps, sequences)}

    def states(self) -> Tensor:
        """The past inputs after every timestep, (T, B, H), the oldest first."""
        states = self._states(self.inputs)
        for step, past, inputs in self.edited:
            rest = self._states(inputs)[step + 1 :]
            states = torch.cat([states[:step], past[None].to(rest), rest])
        return states

    def _states(self, inputs: list[Tensor]) -> Tensor:
        rows = []
        for x, taps in zip(inputs, self.taps, strict=True):
            every = torch.cat([x.new_zeros(taps - 1, *x.shape[1:]), x])
            rows += [every[k : k + len(x)] for k in range(1, taps)]
        return torch.cat(rows, -1)

    def edit(self, edits: Mapping[int, Change]) -> None:
        """Note what edits make of the past, in the order of timesteps."""
        for step in sorted(edits):
            inputs = self.edited[-1].inputs if self.edited else self.inputs
            before = self._states(inputs)[step]
            after = edits[step](PAST.id, before)
            if after is not before:
                self.edited.append(Edited(step, after, self._with(inputs, step, after)))

    def _with(self, inputs: list[Tensor], step: int, past: Tensor) -> list[Tensor]:
        """Inputs of which the last until a timestep are others."""
        put, first = list[Tensor](), 0
        for x, taps in zip(inputs, self.taps, strict=True):
            width = x.shape[-1]
            rows = past[:, first : first + width * (taps - 1)].unflatten(-1, (taps - 1, width))
            begin = max(0, step + 2 - taps)  # before the first word there is nothing to be put
            there = rows.movedim(1, 0)[taps - 1 - (step + 1 - begin) :]
            put.append(torch.cat([x[:begin], there.to(x), x[step + 1 :]]))
            first += width * (taps - 1)
        return put


def convolutions_of(module: nn.Module) -> tuple[Convolution, ...]:
    """The short convolutions and token shifts of a recurrent layer, each of whose channels goes by
    itself and sees no input to come.
    """
    found = list[Convolution]()
    own, around = getattr(module, _FUNCTION, None), _globals(module)
    if callable(own):
        found.append(Convolution(module.__dict__, _FUNCTION, own, True, 0))
    elif callable(around.get(_FUNCTION)):
        found.append(Convolution(around, _FUNCTION, around[_FUNCTION], True, 0))
    for part in module.modules():
        if isinstance(part, nn.Conv1d) and _is_causal(part):
            time_last = type(part).forward is nn.Conv1d.forward
            taps = part.kernel_size[0]
            found.append(Convolution(part.__dict__, "forward", part.forward, time_last, taps))
        elif isinstance(part, nn.ZeroPad2d) and part.padding == _SHIFT:
            found.append(
                Convolution(part.__dict__, "forward", part.forward, False, 2, "the token shift")
            )
    return tuple(found)


def _globals(module: nn.Module) -> dict[str, Any]:
    """What the code of a layer's class sees."""
    around: dict[str, Any] = getattr(own_code(type(module).forward), "__globals__", {})
    return around


def _is_causal(part: nn.Conv1d) -> bool:
    (taps,), padding = part.kernel_size, part.padding
    return (
        part.groups == part.in_channels == part.out_channels and taps > 1
        and part.stride == part.dilation == (1,) and padding in ((taps - 1,), taps - 1)
    )  # fmt: skip


@contextmanager
def listening(convolutions: tuple[Convolution, ...], edited: Past | None = None) -> Iterator[Past]:
    """What the convolutions of a layer are given while it runs, the first time that each is called;
    with `edited`, they return what they do of the past that was edited.
    """
    past, order = Past(), list[int]()  # which were called, in their order
    with ExitStack() as stack:
        for which, one in enumerate(convolutions):
            stand_in = _stand_in((which, one), past, order, edited)
            stack.enter_context(replaced(one.place, one.name, stand_in))
        yield past


def _stand_in(
    numbered: tuple[int, Convolution], past: Past, order: list[int], edited: Past | None
) -> Callable[..., Any]:
    which, one = numbered

    def timed(values: Tensor) -> Tensor:
        return values.permute(2, 0, 1) if one.time_last else values.transpose(0, 1)

    owner = get_ident()

    def call(*args: Any, **kwargs: Any) -> Any:
        key = next((name for name in _INPUTS if not args and name in kwargs), None)
        x = kwargs[key] if key else args[0] if args else None
        if get_ident() != owner or not isinstance(x, Tensor) or x.dim() != 3:
            return one.original(*args, **kwargs)
        if which not in order:
            order.append(which)
            past.inputs.append(timed(x).clone())
            past.taps.append(one.taps or _taps(args, kwargs))
            past.called = one.called
        result, axis = one.original(*args, **kwargs), 2 if one.time_last else 1
        number = order.index(which)
        for step, _, inputs in edited.edited if edited else ():
            put = inputs[number]
            put = put.permute(1, 2, 0) if one.time_last else put.transpose(0, 1)
            given = ((), kwargs | {key: put}) if key else ((put, *args[1:]), kwargs)
            result = _after(result, one.original(*given[0], **given[1]), step + 1, axis)
        return result

    return call


def _taps(args: Any, kwargs: Any) -> int:
    """How many inputs a function sees at once, by its weight (C, K)."""
    weight: Tensor = kwargs["weight"] if "weight" in kwargs else args[1]
    return weight.shape[-1]


def _after(before: Any, after: Any, step: int, axis: int) -> Any:
    """What was returned, with other values from a timestep on."""
    if isinstance(before, tuple):
        return (_after(before[0], after[0], step, axis), *before[1:])
    first = before.narrow(axis, 0, step)
    return torch.cat([first, after.narrow(axis, step, after.shape[axis] - step)], axis)
