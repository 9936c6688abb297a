"""States of a user's own module, batch by batch, with the labels they are asked about."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.model.adapter import Adapter, Traced
from rnnlens.model.cells import States
from rnnlens.probe import semantics
from rnnlens.probe.stream import OWN, Chunk, Source, joined

Batch = tuple[Any, Tensor]  # what the module is fed, and its targets; negative: none
_NONE = -1
_MOSTLY = 0.9
_ROOM = 256 * 2**20  # bytes of states kept at hand


class ModuleStates(Source):
    """All states of a module on batches of its owner; the pieces are batches."""

    def __init__(
        self,
        adapter: Adapter,
        batches: Sequence[Batch],
        semantic: str,
        labels: int,
        size: int,
        *,
        with_own: bool = False,
    ) -> None:
        self.with_own = with_own  # whether chunks hold the module's own logits too
        self.adapter, self.batches, self.labels, self.size = adapter, batches, labels, size
        self.kinds = tuple(kind.id for kind in adapter.kinds)
        # A target belongs to its state, so `output` is no step away.
        self.shift = None if semantic == "input" else semantics.offset(semantic) - 1
        self._kept: dict[int, tuple[States, Tensor]] = {}
        self._room = _ROOM
        self._sequences_first: bool | None = None  # in targets, once a batch has told

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.array([int((targets >= 0).sum()) for _, targets in self.batches], np.int64)

    @property
    def pairs(self) -> int:
        return int(self.counts.sum())

    def frequencies(self) -> NDArray[np.int64]:
        found = torch.cat([targets[targets >= 0].flatten() for _, targets in self.batches])
        return torch.bincount(found, minlength=self.labels).numpy()

    def chunk(self, chosen: NDArray[np.int64]) -> Chunk:
        """Trace batches and keep the states that have a label."""
        found = [self._piece(int(number)) for number in chosen]
        return joined([states for states, _ in found], [labels for _, labels in found])

    def _piece(self, number: int) -> tuple[States, Tensor]:
        """The states (N, H) of one batch and their labels; small data is traced once only."""
        if number in self._kept:
            states, labels = self._kept[number]
            return dict(states), labels
        inputs, targets = self.batches[number]
        traced = self.adapter.trace(inputs)
        wanted = self._wanted(inputs, targets, traced).flatten()
        keep = wanted >= 0
        held = {kind: traced.states[kind] for kind in self.kinds}
        if self.with_own and traced.logits is not None:
            held[OWN] = traced.logits.expand(len(wanted) // traced.logits.shape[1], -1, -1)
        states = {kind: v.flatten(0, 1)[keep].float() for kind, v in held.items()}
        size = sum(v.numel() * v.element_size() for v in states.values())
        if self._room >= size:
            self._room -= size
            self._kept[number] = dict(states), wanted[keep]
        return states, wanted[keep]

    def own(self, chunk: Chunk) -> Tensor | None:
        return chunk.states.get(OWN) if self.shift == 0 else None

    def follows(self, inputs: Any, targets: Tensor, traced: Traced) -> bool:
        """Whether the targets of a batch are the words that come next in it."""
        try:
            read = self._in_time(words_of(inputs, targets), traced)
        except RnnlensError:
            return False
        wanted = self._in_time(targets, traced)
        there = wanted[:-1] >= 0
        right = (wanted[:-1] == read[1:])[there].float()
        return bool(len(right) and right.mean() > _MOSTLY)

    def fed(self, inputs: Any, traced: Traced) -> tuple[int, ...] | None:
        """The shape in which the numbers of one sequence are fed, going by how a batch was.

        None where a batch is more, or something else, than one tensor of whole numbers.
        """
        steps, batch, _ = next(iter(traced.states.values())).shape
        if not isinstance(inputs, Tensor) or inputs.is_floating_point():
            return None
        if inputs.dim() == 1:
            return (-1,)
        if tuple(inputs.shape) not in ((steps, batch), (batch, steps)):
            return None
        first = tuple(inputs.shape) == (batch, steps)
        if steps == batch:
            first = bool(self._sequences_first)
        return (1, -1) if first else (-1, 1)

    def _wanted(self, inputs: Any, targets: Tensor, traced: Traced) -> Tensor:
        """The label of every state, (T, B); negative where there is none."""
        found = self._in_time(targets, traced)
        if self.shift is None:
            read = self._in_time(words_of(inputs, targets), traced)
            found = torch.where(found >= 0, read, _NONE)
        elif self.shift:
            moved = torch.full_like(found, _NONE)
            steps = len(found) - abs(self.shift)
            if steps > 0 and self.shift > 0:
                moved[:steps] = found[self.shift :]
            elif steps > 0:
                moved[-steps:] = found[:steps]
            found = torch.where(found >= 0, moved, _NONE)
        if found.max() >= self.labels:
            raise RnnlensError(
                f"a target is {int(found.max())}, and there are {self.labels} labels, 0 to "
                f"{self.labels - 1}; mend the targets, or give labels= the names of all"
            )
        return found

    def _in_time(self, targets: Tensor, traced: Traced) -> Tensor:
        """Targets as (T, B), without what lies past a sequence's end."""
        steps, batch, _ = next(iter(traced.states.values())).shape
        device = next(iter(traced.states.values())).device
        targets = targets.to(device).long()
        if targets.dim() == 1 and len(targets) == batch:  # one label for a whole sequence
            found = targets.expand(steps, batch)
        elif tuple(targets.shape) in ((steps, batch), (batch, steps)):
            found = targets.T if self._are_sequences_first(targets, traced) else targets
        elif targets.dim() == 1 and (len(targets), 1) == (steps, batch):
            found = targets[:, None]
        else:
            raise RnnlensError(
                f"targets of shape {tuple(targets.shape)} do not fit states of {steps} timesteps "
                f"and {batch} sequences; give one target for each state, or one for each sequence"
            )
        if traced.lengths is not None:
            time = torch.arange(steps, device=device)[:, None]
            found = torch.where(time < traced.lengths.to(device), found, _NONE)
        return found

    def _are_sequences_first(self, targets: Tensor, traced: Traced) -> bool:
        steps, batch, _ = next(iter(traced.states.values())).shape
        if steps != batch:
            self._sequences_first = tuple(targets.shape) == (batch, steps)
        elif self._sequences_first is None:
            self._sequences_first = _likelier_turned(targets, traced)
        return self._sequences_first


def _likelier_turned(targets: Tensor, traced: Traced) -> bool:
    """Of a square batch: whether the module's own prediction fits its targets better turned."""
    logits = traced.logits
    if logits is None or logits.shape[:2] != targets.shape:
        raise RnnlensError(
            f"{len(targets)} sequences of {len(targets)} timesteps do not tell which come first in "
            "the targets; give a batch of another shape first"
        )
    flat = logits.flatten(0, 1).float()
    straight, turned = (
        F.cross_entropy(flat, t.flatten().clamp_min(_NONE), ignore_index=_NONE)
        for t in (targets, targets.T)
    )
    return bool(turned < straight)


def check_batches(batches: Sequence[Any]) -> None:
    """Refuse what is no batch."""
    for batch in batches:
        if not (isinstance(batch, tuple | list) and len(batch) == 2 and _are_targets(batch[1])):
            raise RnnlensError(
                "every batch must be a pair: what the module is fed, and a tensor of targets as "
                f"whole numbers; one is {type(batch).__name__}"
            )


def _are_targets(value: Any) -> bool:
    return isinstance(value, Tensor) and not value.is_floating_point() and value.dim() in (1, 2)


def words_of(inputs: Any, targets: Tensor) -> Tensor:
    """The words a batch reads: a tensor of whole numbers, shaped as its targets."""
    given = inputs.values() if isinstance(inputs, dict) else inputs
    for one in [given] if isinstance(given, Tensor) else given:
        if isinstance(one, Tensor) and one.shape == targets.shape and not one.is_floating_point():
            return one
    raise RnnlensError(
        "the semantic input needs batches that hold the words as whole numbers, as many as there "
        "are targets; leave input out"
    )
