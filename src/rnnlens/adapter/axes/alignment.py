"""Where each word of a batch is read: found by changing single words and seeing what changes.

A shape tells which axis is time only while there are not as many timesteps as sequences, and no
shape tells that a module sorts or flips its sequences. What changes with a word tells all of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter.adapter import Adapter
from rnnlens.errors import RnnlensError
from rnnlens.model.traceable import Trace

_TRIED = 6  # words

Place = tuple[int, int]


@dataclass(frozen=True)
class Alignment:
    """What changing words told of a module."""

    sequences_first: bool | None  # in the words; None where nothing changes with them
    astray: frozenset[str]  # kinds of parts that sort or flip their sequences


def aligned(adapter: Adapter, batch: Any, words: Tensor, there: Tensor) -> Alignment:
    """How `words`, a tensor (B, T) or (T, B) of the batch, lie beside the module's states.

    `there` is where words have a target, in the same order: these are tried first. Settled on the
    way: in which order the module returns tensors that could be read in either.
    """
    right: dict[str, list[tuple[bool, Any, int]]] = {}
    wrong: dict[str, str] = {}
    told = 0  # words that changed something
    with adapter.orders.assumed(True):
        before = adapter.trace(batch)
        for place in _places(there):
            changed = _changed(batch, words, place)
            heard = _heard(adapter, before, adapter.trace(changed))
            for kind, where in heard.items():
                steps, column = where[:, 0].tolist(), int(where[0, 1])
                for first in (True, False):
                    if _is_at(place, first, steps, column):
                        right.setdefault(kind, []).append((first, changed, column))
                        break
                else:
                    wrong[kind] = (
                        f"the module reads word {list(place)} of a batch as timestep {steps[0]} of "
                        f"sequence {column} in {kind}: it sorts or turns its sequences, so that "
                        "states and targets are not beside each other; sort before, in the "
                        "batches, or not at all"
                    )
            told += bool(heard)
            if told == _TRIED:
                break
    astray = adapter.beside(wrong)  # the states of a flipped part may be right by chance
    found = [one for kind, some in right.items() if kind not in astray for one in some]
    if wrong and not found:
        raise RnnlensError(next(iter(wrong.values())))
    orders = {first for first, _, _ in found}
    if len(orders) == 1:
        changes = {id(changed): (changed, column) for _, changed, column in found}
        _settle(adapter, batch, list(changes.values()))
    return Alignment(orders.pop() if len(orders) == 1 else None, astray)


def _is_at(place: Place, first: bool, steps: list[int], column: int) -> bool:
    sequence, step = place if first else place[::-1]
    return column == sequence and step in steps


def _places(there: Tensor) -> Iterator[Place]:
    """Words to try, never (i, i): late in their rows and columns, so that a flip would show.

    These may all be padding, that no part reads; so then early ones, then such as have no target.
    """
    for where in (there, ~there):
        places = [(i, j) for i, j in where.nonzero().tolist() if i != j]
        places.sort(key=lambda place: -min(place))
        step = max(1, len(places) // 2 // _TRIED)
        yield from places[: _TRIED * step : step]
        yield from places[: -_TRIED - 1 : -1]


def _changed(batch: Any, words: Tensor, place: Place) -> Any:
    """The batch with another of its words in a place."""
    others = words[words != words[place]]
    made = words.clone()
    if len(others):
        made[place] = others[0]
    return _replaced(batch, words, made)


def _replaced(value: Any, old: Tensor, new: Tensor) -> Any:
    if value is old:
        return new
    if isinstance(value, Mapping):
        return {key: _replaced(inner, old, new) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        made = [_replaced(inner, old, new) for inner in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


def _heard(adapter: Adapter, before: Trace, after: Trace) -> dict[str, Tensor]:
    """Where the inputs and outputs of parts changed, within one sequence; by kind."""
    found = {}
    for kind in adapter.kinds:
        if kind.id.rpartition(".")[2][0] in "xh":
            where = _differs(before.states[kind.id], after.states[kind.id])
            if len(set(where[:, 1].tolist())) == 1:  # else nothing, or sequences are mixed
                found[kind.id] = where
    return found


def _differs(a: Tensor, b: Tensor) -> Tensor:
    """The places (N, 2) at which two traces differ, timestep and sequence."""
    if a.shape != b.shape:
        return torch.zeros(0, 2, dtype=torch.long)
    return (a != b).any(-1).nonzero()


def _settle(adapter: Adapter, batch: Any, changes: list[tuple[Any, int]]) -> None:
    """Keep the order in which a changed word changes nothing in other sequences."""
    names = sorted(adapter.orders.doubtful)
    right: dict[str, set[bool]] = {name: set() for name in names}
    for order in (True, False) if names else ():
        with adapter.orders.assumed(order):
            before = adapter.trace(batch)
            wrong = set()
            for changed, column in changes:
                after = adapter.trace(changed)
                for name in names:
                    a, b = _named(before, name), _named(after, name)
                    if a is not None and b is not None:
                        others = _differs(a, b)[:, 1] != column
                        wrong |= {name} if bool(others.any()) else set()
        for name in set(names) - wrong:
            right[name].add(order)
    for name, orders in right.items():
        if len(orders) == 1:
            adapter.orders.learn(name, orders.pop())


def _named(traced: Trace, name: str) -> Tensor | None:
    return traced.logits if name == "logits" else traced.states.get(name)
