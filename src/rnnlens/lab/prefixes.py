"""Many sentences read together, each beginning that several have once.

The beginnings of sentences are a tree. It is read level by level: at each timestep all beginnings
of that length are one batch, and each goes on from the states of the one that it continues. So
nothing is computed twice, nothing is padded, and what all kinds say is at hand at every node.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint
from rnnlens.base.threads import threads_for
from rnnlens.model.cell import States
from rnnlens.model.text import TextSide
from rnnlens.model.traceable import StateEdit, Traceable

Ints = NDArray[np.int64]
_NODES = 2_048  # that are read together
_AT_ONCE = 4_096  # sentences whose states are held
_ROOM = {"cpu": 2**24, "cuda": 2**31}  # bytes of logits at once: so few stay near the processor


class Level(NamedTuple):
    """All beginnings of one length."""

    depth: int  # words of each
    node_of: Ints  # (S,) the number of each sentence's beginning among them; -1: it is shorter
    states: States  # of the kinds that are asked for, (N, H)
    y: Tensor  # what the prediction after each is made of, (N, ...)


class Tree:
    """The beginnings of some sentences."""

    def __init__(self, sentences: Sequence[Sequence[int]]) -> None:
        longest = max(map(len, sentences), default=0)
        table = np.full((len(sentences), longest), -1, np.int64)
        for row, ids in zip(table, sentences, strict=True):
            row[: len(ids)] = ids
        order = np.lexsort(table.T[::-1]) if longest else np.arange(len(sentences))
        rows = table[order]
        # A beginning is another one from the first word on in which it differs from the row above.
        apart = np.ones(rows.shape, bool)
        apart[1:] = np.logical_or.accumulate(rows[1:] != rows[:-1], axis=1)
        self.words: list[Ints] = []  # of each level, the last word of every node
        self.parents: list[Ints] = []  # and the node of the level before that it continues
        self.nodes = np.full(table.shape, -1, np.int64)  # (S, T)
        for depth in range(longest):
            there = rows[:, depth] >= 0
            new = apart[:, depth] & there
            numbers = np.where(there, np.cumsum(new) - 1, -1)
            self.nodes[order, depth] = numbers
            self.words.append(rows[new, depth])
            above = self.nodes[order[new], depth - 1] if depth else np.zeros(int(new.sum()), int)
            self.parents.append(above)


def _joined(parts: Sequence[States]) -> States:
    """States of several batches, one after the other."""
    return {kind: torch.cat([part[kind] for part in parts]) for kind in parts[0]}


class Reader:
    """A model that reads many sentences together, where it can, or else one after the other."""

    def __init__(self, model: Traceable, side: TextSide) -> None:
        model.check_reads("reading a suite")
        self.model, self.side = model, side
        self.together = bool(
            model.causal and model.carried and side.side_by_side and side.mark is None
        )
        #: Whether the prediction after a word is of the next; else it is of the word itself, which
        #: the model has not read yet then.
        self.ahead = side.mark is None
        self._edit: tuple[str, Callable[[Tensor], Tensor]] | None = None

    def editing(self, kind: str, change: Callable[[Tensor], Tensor]) -> "Reader":
        """A reader that changes a kind's states (N, H) after every word, and goes on from there."""
        other = copy(self)
        other._edit = kind, change  # noqa: SLF001 - its own class
        return other

    def batch(self, ids: Sequence[int]) -> Any:
        """One sentence as the model is given it, where it computes."""
        batch = self.side.batch(list(ids))
        return batch.to(self.model.device) if isinstance(batch, Tensor) else batch

    def _edits(self, steps: int) -> list[StateEdit]:
        if self._edit is None:
            return []
        return [StateEdit(self._edit[0], step, self._edit[1]) for step in range(steps)]

    def levels(
        self, sentences: Sequence[Sequence[int]], kinds: Sequence[str] = ()
    ) -> Iterator[tuple[int, Level]]:
        """Every length's beginnings, with the number of the first sentence that they are of: some
        sentences at a time. Of `kinds` the states are given.
        """
        size = _AT_ONCE if self.together else 1
        for first in range(0, len(sentences), size):
            some = sentences[first : first + size]
            found = self._levels(some, kinds) if self.together else self._alone(some[0], kinds)
            for level in found:
                checkpoint()
                yield first, level

    def _levels(self, sentences: Sequence[Sequence[int]], kinds: Sequence[str]) -> Iterator[Level]:
        tree, carried = Tree(sentences), States()
        for depth, words in enumerate(tree.words):
            parts = list[tuple[States, Tensor, States]]()
            for begin in range(0, len(words), _NODES):
                some = slice(begin, begin + _NODES)
                parents = torch.from_numpy(tree.parents[depth][some]).to(self.model.device)
                start = {kind: v[parents] for kind, v in carried.items()} if depth else None
                parts.append(self._read(words[some], start, kinds))
            states = _joined([part[0] for part in parts])
            carried = _joined([part[2] for part in parts])
            y = torch.cat([part[1] for part in parts])
            yield Level(depth + 1, tree.nodes[:, depth], states, y)

    @torch.no_grad()
    def _read(
        self, words: Ints, start: States | None, kinds: Sequence[str]
    ) -> tuple[States, Tensor, States]:
        """One word after some beginnings: states, what is predicted from, and what is carried."""
        inputs = torch.from_numpy(words).to(self.model.device)[None]
        trace = self.model.trace(inputs, start, self._edits(1))
        states = {kind: trace.states[kind][0] for kind in kinds}
        return states, trace.prediction[0], trace.last

    @torch.no_grad()
    def _alone(self, ids: Sequence[int], kinds: Sequence[str]) -> Iterator[Level]:
        """One sentence, whose every word is a level."""
        trace = self.model.trace(self.batch(ids), edits=self._edits(len(ids)))
        y = trace.prediction
        if len(y) < len(ids):
            raise RnnlensError(
                "the model has one prediction for a whole text, and a suite asks for that of every "
                "word; give a language model"
            )
        for step in range(len(ids)):
            states = {kind: trace.states[kind][step] for kind in kinds}
            yield Level(step + 1, np.zeros(1, np.int64), states, y[step])

    def log_probabilities(self, y: Tensor, nodes: Ints, words: Ints) -> NDArray[np.float64]:
        """Of each word, after the beginning of that number, (N,), in nats."""
        if not len(nodes):
            return np.zeros(0)
        unique, inverse = np.unique(nodes, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        found = np.zeros(len(nodes))
        labels = len(self.side.labels.names)
        size = max(1, _ROOM.get(y.device.type, 2**26) // (4 * labels))
        with torch.no_grad(), threads_for(labels * y.shape[-1]):
            for first in range(0, len(unique), size):
                low, high = np.searchsorted(inverse[order], (first, first + size))
                here = order[low:high]
                rows = torch.from_numpy(unique[first : first + size]).to(y.device)
                log_p = self.model.predict(y[rows]).float().log_softmax(-1)
                places = torch.from_numpy(inverse[here] - first).to(y.device)
                which = torch.from_numpy(words[here]).to(y.device)
                found[here] = log_p[places, which].double().cpu().numpy()
        return found
