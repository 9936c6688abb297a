"""States of a user's own module, batch by batch, with the labels they are asked about."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.adapter import Adapter
from rnnlens.adapter.axes.axes import Axes
from rnnlens.adapter.axes.targets import NONE, Batch, words_of
from rnnlens.errors import RnnlensError
from rnnlens.model.cells import States
from rnnlens.model.traceable import Trace
from rnnlens.probe import semantics
from rnnlens.probe.stream import OWN, Chunk, Source, joined

_ROOM = 256 * 2**20  # bytes of states kept at hand


class ModuleStates(Source):
    """All states of a module on batches of its owner; the pieces are batches."""

    def __init__(
        self,
        adapter: Adapter,
        arrangement: Axes,
        batches: Sequence[Batch],
        semantic: str,
        labels: int,
        size: int,
        *,
        with_own: bool = False,
        tally: dict[int, Tensor] | None = None,
        drawn: tuple[int, NDArray[np.int64]] | None = None,
    ) -> None:
        """`tally` keeps how often each label was met in each batch, for whoever shares it; `drawn`
        is a seed and frequencies, by which labels are drawn instead of those that are right.
        """
        self.drawn = drawn
        self.with_own = with_own  # whether chunks hold the module's own logits too
        self.adapter, self.arrangement, self.batches = adapter, arrangement, batches
        self.labels, self.size, self.kinds = labels, size, arrangement.kinds
        # A target belongs to its state, so `output` is no step away.
        self.shift = None if semantic == "input" else semantics.offset(semantic) - 1
        self._tally = {} if tally is None else tally
        self._kept: dict[int, tuple[States, Tensor]] = {}
        self._room = _ROOM

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.array([self.arrangement.states_of(batch) for batch in self.batches], np.int64)

    @property
    def pairs(self) -> int:
        return int(self.counts.sum())

    def frequencies(self) -> NDArray[np.int64]:
        for number in range(len(self.batches)):
            if number not in self._tally:
                self._piece(number)
        return torch.stack(list(self._tally.values())).sum(0).numpy()

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
        wanted = self._wanted(inputs, targets, traced)
        held = {kind: self._beside(traced.states[kind], kind, wanted) for kind in self.kinds}
        if self.with_own and traced.logits is not None:
            logits = traced.logits
            whole = len(logits) == 1 < len(wanted)
            held[OWN] = self._beside(
                logits.expand(len(wanted), -1, -1) if whole else logits, "its logits", wanted
            )
        keep = wanted.flatten() >= 0
        labels = wanted.flatten()[keep]
        if self.drawn:
            seed, frequencies = self.drawn
            random, share = np.random.default_rng((seed, number)), frequencies / frequencies.sum()
            some = random.choice(self.labels, len(labels), p=share)
            labels = torch.from_numpy(some).to(labels.device)
        states = {kind: v.flatten(0, 1)[keep].float() for kind, v in held.items()}
        self._tally[number] = torch.bincount(labels, minlength=self.labels).cpu()
        size = sum(v.numel() * v.element_size() for v in states.values())
        if self._room >= size:
            self._room -= size
            self._kept[number] = dict(states), labels
        return states, labels

    def own(self, chunk: Chunk) -> Tensor | None:
        return chunk.states.get(OWN) if self.shift == 0 else None

    def _beside(self, values: Tensor, name: str, wanted: Tensor) -> Tensor:
        if values.shape[:2] != wanted.shape:
            raise RnnlensError(
                f"{name} has {len(values)} timesteps of {values.shape[1]} sequences in a batch "
                f"where targets have {len(wanted)} of {wanted.shape[1]}, unlike in the first; give "
                "batches that are alike"
            )
        return values

    def _wanted(self, inputs: Any, targets: Tensor, traced: Trace) -> Tensor:
        """The label of every state, (T, B); negative where there is none."""
        found = self.arrangement.in_time(targets, traced)
        if self.shift is None:
            words = words_of(inputs, targets)
            if words is None:
                raise RnnlensError(
                    "the semantic input needs batches that hold the words as whole numbers, as "
                    "many as there are targets; leave input out"
                )
            found = torch.where(found >= 0, self.arrangement.in_time(words, traced), NONE)
        elif self.shift:
            moved = torch.full_like(found, NONE)
            steps = len(found) - abs(self.shift)
            if steps > 0 and self.shift > 0:
                moved[:steps] = found[self.shift :]
            elif steps > 0:
                moved[-steps:] = found[:steps]
            found = torch.where(found >= 0, moved, NONE)
        if found.numel() and found.max() >= self.labels:
            raise RnnlensError(
                f"a target is {int(found.max())}, and there are {self.labels} labels, 0 to "
                f"{self.labels - 1}; mend the targets, or give labels= the names of all"
            )
        return found
