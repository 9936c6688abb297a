"""The memory of a recurrent layer, split over the words that wrote it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.rules import message
from rnnlens.model.cell import BEFORE, States, in_precision
from rnnlens.model.traceable import RecurrentLayer

Parts = NDArray[np.float64]
_CLOSE = 1e-3  # share of a state's size: how well a split must give it back


class UnknownWayError(Exception):
    """Why a reading cannot be given, in one line."""


class Direction(NamedTuple):
    """A linear map from one state of a text to one number."""

    kind: str  # its id
    step: int
    weight: Tensor  # (H,), float64
    constant: float

    def split(self, kinds: Sequence[str]) -> list["Direction"]:
        """A direction for each of the states that stand side by side in this one, equally wide."""
        weights = self.weight.chunk(len(kinds))
        rest = [self.constant] + [0.0] * (len(kinds) - 1)
        return [
            Direction(kind, self.step, weight, constant)
            for kind, weight, constant in zip(kinds, weights, rest, strict=True)
        ]


def added(readings: Iterable[tuple[Parts, float]]) -> tuple[Parts, float]:
    """The parts and rests of several states together."""
    parts, rests = zip(*readings, strict=True)
    return np.sum(parts, 0), sum(rests)


def stored(
    layers: Sequence[RecurrentLayer], states: States, direction: Direction
) -> tuple[Parts, float]:
    """What each word has written of the number that a state is mapped to, and the rest.

    The memory is a sum over words of what each wrote, carried through all later words. States are
    (T, 1, H).
    """
    layer, letter = _of(layers, direction.kind)
    cell, memory = layer.cell, layer.cell.memory_behind(letter)
    if memory is None:
        raise UnknownWayError(message("no_additive_memory", kind=direction.kind))
    at, w, rest = _Own(layer, states), layer.weights, direction.constant
    if memory not in cell.large:
        _check_memory(at, memory, direction.kind)
    through = direction.weight  # what a unit of the memory at this step counts for
    step, parts = at.place(direction.step), torch.zeros(at.length, dtype=torch.float64)
    if letter == cell.memories[memory].kept:
        through = cell.carry_back(memory, through, at[step], w)
        step -= 1
    elif letter != memory:
        is_read = letter == cell.read_kind
        unstored = cell.read_kind_unstored if is_read else cell.unstored
        back = cell.read_kind_back if is_read else cell.read_back
        if (beside := unstored(at[step], w)) is not None:
            rest += float(through @ beside)
        through = back(through, at[step], w)
        step -= cell.reads_before
    for t in range(step, -1, -1):
        now = at[t]
        parts[t] = through @ cell.written(memory, now, w)
        through = cell.carry_back(memory, through, now, w)
    split: Parts = (parts.flip(0) if layer.reverse else parts).numpy()
    _check_whole(split.sum() + rest, states, direction, _changed_between(direction.kind))
    return split, rest


def path(
    layers: Sequence[RecurrentLayer],
    states: States,
    direction: Direction,
    instead: Sequence[Mapping[str, Tensor]],
) -> tuple[Parts, float]:
    """What each word's input counts for in that number, and the rest, with all gates held.

    `instead` are the inputs that stand in a word's place where it is taken away, by kind; without
    them it is zero.
    """
    _of(layers, direction.kind)
    if not all(layer.below for layer in layers):
        raise UnknownWayError(_no_path(direction.kind))
    leaves = {kind: states[kind][:, :1].double().cpu() for kind in states if _is_leaf(kind, layers)}
    base = {kind: torch.zeros_like(x) for kind, x in leaves.items()}
    for t, inputs in enumerate(instead):
        for kind, x in base.items():
            x[t, 0] = inputs[kind].double().cpu()
    with torch.enable_grad():
        inputs = {kind: x.clone().requires_grad_() for kind, x in base.items()}
        number = _held(layers, states, leaves, inputs, direction)
        slopes: Sequence[Tensor | None] = [None] * len(inputs)
        if number.requires_grad:  # what was kept of nothing depends on no word
            slopes = torch.autograd.grad(number, list(inputs.values()), allow_unused=True)
    parts = torch.zeros(len(next(iter(states.values()))), dtype=torch.float64)
    for (kind, x), slope in zip(leaves.items(), slopes, strict=True):
        if slope is not None:
            parts += (slope * (x - base[kind])).sum((1, 2))
    split: Parts = parts.numpy()
    rest = float(number.detach())
    _check_whole(split.sum() + rest, states, direction, _no_path(direction.kind))
    return split, rest


def _is_leaf(kind: str, layers: Sequence[RecurrentLayer]) -> bool:
    """Whether it is what a layer reads that no layer gives."""
    outputs = {layer.output for layer in layers}
    return any(kind in layer.below for layer in layers) and kind not in outputs


def _of(layers: Sequence[RecurrentLayer], kind: str) -> tuple[RecurrentLayer, str]:
    """The layer whose memory, what is read of it, or output a kind is, and its letter."""
    for layer in layers:
        letters = {id_: letter for letter, id_ in layer.ids.items()}
        if kind in letters:
            memories = layer.cell.memories.items()
            known = [one for memory, carried in memories for one in (carried.kept, memory)]
            if known or kind == layer.output:
                known += [*filter(None, [layer.cell.read_kind]), layer.cell.output.id]
            if letters[kind] in known:
                return layer, letters[kind]
            named = ", ".join(dict.fromkeys(layer.ids[one] for one in known))
            raise UnknownWayError(
                message("no_memory", kind=kind, known=named or message("no_memories"))
            )
    raise UnknownWayError(message("no_recurrence", kind=kind))


class _Own:
    """The states of one layer in its own order of reading, by letter, in float64; of those that are
    large only what they follow from. What is carried is there as it was before, too.
    """

    def __init__(self, layer: RecurrentLayer, states: States) -> None:
        self.layer = layer
        self.length = len(states[layer.output])
        large, start = layer.cell.large, layer.cell.start(layer.weights, 1)
        own = {letter: states[id_][:, 0].double().cpu() for letter, id_ in layer.ids.items()
               if letter not in large}  # fmt: skip
        self.states = {k: v.flip(0) if layer.reverse else v for k, v in own.items()}  # (T, H)
        for letter in layer.cell.carried:
            if letter in self.states and (now := self.states[letter]) is not None:
                first = start[letter].double().cpu()
                self.states[letter + BEFORE] = torch.cat([first, now[:-1]])

    def __getitem__(self, step: int) -> States:
        return {letter: values[step] for letter, values in self.states.items()}

    def place(self, step: int) -> int:
        return self.length - 1 - step if self.layer.reverse else step


def _check_memory(at: _Own, letter: str, kind: str) -> None:
    """Refuse a memory that is not what was kept and what was written, from nothing on."""
    cell, memory = at.layer.cell, at.states[letter]
    kept, before = at.states[cell.memories[letter].kept], torch.zeros_like(memory)
    before[1:] = memory[:-1]
    size = max(1e-6, float(memory.abs().max()))
    left = cell.carry(letter, before, at.states, at.layer.weights)
    if float((kept - left).abs().max()) > _CLOSE * size:
        raise UnknownWayError(_changed_between(kind))


def _changed_between(kind: str) -> str:
    return (
        f"the module changes the memory of {kind} between words or begins with one, so that it "
        "cannot be split; `without` can still be asked"
    )


def _no_path(kind: str) -> str:
    return (
        f"between the words and {kind} the module does more than its recurrent parts, so that no "
        "path can be followed; `without` can still be asked"
    )


def _held(
    layers: Sequence[RecurrentLayer],
    states: States,
    leaves: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    direction: Direction,
) -> Tensor:
    """The number with other inputs and all gates held."""
    held: States = dict(inputs)
    for layer in layers:
        read = torch.cat([_real(kind, states, leaves) for kind in layer.below], -1)
        x = torch.cat([held[kind] for kind in layer.below], -1)
        real = {letter: _real(id_, states, leaves) for letter, id_ in layer.ids.items()}
        weights = in_precision(layer.weights, torch.float64)
        if layer.reverse:
            read, x = read.flip(0), x.flip(0)
            real = {letter: values.flip(0) for letter, values in real.items()}
        for letter, values in layer.cell.held(x, weights, read, real).items():
            held[layer.ids[letter]] = values.flip(0) if layer.reverse else values
        if direction.kind in layer.ids.values():
            break
    return held[direction.kind][direction.step, 0] @ direction.weight + direction.constant


def _real(kind: str, states: States, leaves: Mapping[str, Tensor]) -> Tensor:
    return leaves[kind] if kind in leaves else states[kind][:, :1].double().cpu()


def _check_whole(total: float, states: States, direction: Direction, why: str) -> None:
    """Refuse parts that do not add up to what the state really says."""
    state = states[direction.kind][direction.step, 0].double().cpu()
    real = float(state @ direction.weight) + direction.constant
    size = 1 + float((state * direction.weight).abs().sum())
    if abs(total - real) > _CLOSE * size:
        raise UnknownWayError(why)
