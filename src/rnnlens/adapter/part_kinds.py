"""Kinds that are a part of another kind, such as one head of a memory: `"S1: b t (h:4* n)"` in
kinds= makes `S1.h0` to `S1.h3` of it.

They have states, probes and edits like others: an edit of a part is one of the whole, and the
recurrence goes on from there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from rnnlens.adapter.axes.shapes import Shape
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import States
from rnnlens.model.kinds import Edge, Kind
from rnnlens.model.lazy import LazyStates, at_hand, once
from rnnlens.model.traceable import StateEdit
from rnnlens.model.transition import Matrix


@dataclass(frozen=True)
class PartKind:
    """Some of the numbers of a kind, as a kind of its own."""

    id: str
    of: str  # the kind that it is a part of
    shape: Shape

    def numbers(self, width: int) -> Tensor:
        """Which numbers of the whole, that has so many, it has."""
        return self.shape.states([torch.arange(width).view(1, 1, -1)])[0, 0]

    def taken(self, states: States) -> Tensor:
        """Its states, from those of the whole."""
        whole = once(states, self.of)
        return whole[..., self.numbers(whole.shape[-1]).to(whole.device)]

    def edit(self, edit: StateEdit) -> StateEdit:
        """An edit of it as one of the whole."""

        def change(whole: Tensor) -> Tensor:
            numbers, changed = self.numbers(whole.shape[-1]).to(whole.device), whole.clone()
            changed[..., numbers] = edit.change(whole[..., numbers])
            return changed

        return edit._replace(kind=self.of, change=change)

    def matrix(self, whole: Matrix | None) -> Matrix | None:
        """Its shape where it is one head of a memory that is a matrix."""
        if whole is None:
            return None
        numbers, size = self.numbers(whole.numbers), whole.keys * whole.values
        first = int(numbers[0])
        is_head = first % size == 0 and torch.equal(numbers, torch.arange(first, first + size))
        return whole._replace(heads=1) if is_head else None


def with_parts(kinds: Sequence[Kind], parts: Mapping[str, PartKind]) -> tuple[Kind, ...]:
    """Kinds, each with its parts behind it; an error where a part is of none of them."""
    known = {kind.id for kind in kinds}
    for part in parts.values():
        if part.of not in known:
            raise RnnlensError(
                f"kinds= has {part.shape.written!r}, and there is neither a submodule nor a kind "
                f"{part.of!r}; kinds are {', '.join(sorted(known)[:12])}"
            )
    every = list[Kind]()
    for kind in kinds:
        every.append(kind)
        every += [
            replace(
                kind, id=part.id, name=f"{kind.name}, {part.id.rpartition('.')[2]}",
                equation=f"a part of {kind.id}", sources=(Edge(kind.id),), letter="", memory=None,
                output=False,
            )
            for part in parts.values() if part.of == kind.id
        ]  # fmt: skip
    return tuple(every)


def states_with_parts(states: States, parts: Mapping[str, PartKind]) -> States:
    """States, and those of parts, which are made when they are asked for."""
    if not parts:
        return states
    makes = {id_: partial(part.taken, states) for id_, part in parts.items()}
    makes |= {kind: partial(once, states, kind) for kind in states if kind not in at_hand(states)}
    return LazyStates([*states, *parts], at_hand(states), makes)
