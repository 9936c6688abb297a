"""Some texts, each at a timestep of its own, where other states are put and the model goes on."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.model.traceable import StateEdit, Trace, Traceable
from rnnlens.probe.data import Batch
from rnnlens.probe.dataset import Dataset

_AT_ONCE = 64  # sequences that are read together


class Places:
    """Some sequences of a batch, each at one of its timesteps, and their predictions there and at
    the next ones, with the states that they have or with others.
    """

    def __init__(
        self, model: Traceable, inputs: Any, there: Tensor, steps: Tensor, trace: Trace, later: int
    ) -> None:
        """`there` (T, B): whether there is a prediction that counts; `steps` (B,): where each
        sequence is looked at, negative: nowhere; `later`: how many predictions behind that, too.
        """
        self.model, self.inputs = model, inputs
        self.columns = (steps >= 0).nonzero()[:, 0]
        self.steps = steps[self.columns]
        self.states = {kind: v[self.steps, self.columns] for kind, v in trace.states.items()}
        self.later = later if len(trace.prediction) > 1 else 0
        window = self.steps + torch.arange(1 + self.later, device=steps.device)[:, None]
        self.window = window.clamp_max(len(there) - 1)  # (1 + later, B)
        self.counts = there[self.window, self.columns] & (window < len(there))
        self.logits = self._predicted(trace.prediction, self.later)  # (1 + later, B, V)
        self.start = {}
        if model.causal:
            before = (self.steps - 1).clamp_min(0)
            begun = (self.steps > 0)[:, None]
            self.start = {k: trace.states[k][before, self.columns] * begun for k in model.carried}

    def __len__(self) -> int:
        return len(self.columns)

    def _predicted(self, y: Tensor, later: int) -> Tensor:
        """The logits at each sequence's own timestep and after it."""
        if len(y) == 1:  # one for a whole sequence
            return self.model.predict(y[:, self.columns])
        return self.model.predict(y[self.window[: 1 + later], self.columns])

    def predictions(self, kind: str, values: Tensor, later: int = 0) -> Tensor:
        """The logits (K, 1 + later, B, V) with other states (K, B, H) in the places of a kind's."""
        later = min(later, self.later)
        if self.model.causal:
            return self._side_by_side(kind, values, later)
        return torch.stack([self._anew(kind, some, later) for some in values])

    def _side_by_side(self, kind: str, values: Tensor, later: int) -> Tensor:
        """All of them together, from what is carried into each sequence's timestep."""
        count, batch = values.shape[:2]
        words = self.inputs[self.window[: 1 + later], self.columns].repeat(1, count)
        start = {kind: v.repeat(count, 1) for kind, v in self.start.items()}
        if values.requires_grad:  # or states would be computed in place
            start = {kind: v.requires_grad_() for kind, v in start.items()}
        put = StateEdit(kind, 0, lambda _: values.flatten(0, 1), values.requires_grad)
        y = self.model.trace(words, start, [put]).prediction
        return self.model.predict(y).view(1 + later, count, batch, -1).transpose(0, 1)

    def _anew(self, kind: str, values: Tensor, later: int) -> Tensor:
        """The whole sequences again, of a model that cannot go on from a timestep."""
        edits = []
        for step in self.steps.unique().tolist():
            here = (self.steps == step).nonzero()[:, 0]
            columns, some = self.columns[here], values[here]

            def put(state: Tensor, columns: Tensor = columns, some: Tensor = some) -> Tensor:
                return state.index_copy(0, columns, some.to(state.dtype))

            edits.append(StateEdit(kind, step, put, values.requires_grad))
        return self._predicted(self.model.trace(self.inputs, edits=edits).prediction, later)

    def interchanged(self, kind: str, later: int = 0) -> tuple[Tensor, Tensor]:
        """Another sequence's state in the place of each: that state (B, H), and the logits
        (1 + later, B, V) with it.
        """
        other = self.states[kind].roll(1, 0)
        return other, self.predictions(kind, other[None], later)[0]


def places(dataset: Dataset, sentences: int, seed: int, later: int = 0) -> Iterator[Places]:
    """Groups of test sequences, each at a timestep of its own that is drawn at random; the first is
    left out, since nothing was carried into it.
    """
    draw = np.random.default_rng((seed, 2))
    left = sentences
    for batch in drawn(dataset, sentences, draw):
        if left <= 0:
            return
        found = _placed(dataset.model, batch, draw, left, later)
        left -= len(found)
        if len(found):
            yield found


def drawn(dataset: Dataset, sentences: int, draw: np.random.Generator) -> Iterator[Batch]:
    """Batches of test sequences, about so many or, where pieces are whole batches, all of them.

    A group of sentences is one batch, however long they are: a state is put where another of its
    group was, so that of a sentence by itself there is nothing to put.
    """
    data = dataset.splits["test"]
    order = draw.permutation(np.flatnonzero(data.counts > 0))
    order = order[: sentences if not data.whole_pieces else None]
    if not data.whole_pieces:
        order = order[np.argsort(data.counts[order], kind="stable")]
    size = 1 if data.whole_pieces else _AT_ONCE
    for first in range(0, len(order), size):
        yield from data.together(order[first : first + size], dataset.device)


def _placed(
    model: Traceable, batch: Batch, draw: np.random.Generator, most: int, later: int
) -> Places:
    """A batch with a timestep for each of its sequences that has one."""
    trace = model.trace(batch.inputs)
    there = (model.in_time(batch.targets, lambda: trace) >= 0).to(model.device)
    allowed = there.cpu().numpy().copy()
    allowed[0] &= not model.causal
    weights = np.where(allowed, draw.random(allowed.shape), -1.0)
    steps = np.where(allowed.any(0), weights.argmax(0), -1)
    steps[np.flatnonzero(steps >= 0)[most:]] = -1
    chosen = torch.from_numpy(steps).to(model.device)
    return Places(model, batch.inputs, there, chosen, trace, later)
