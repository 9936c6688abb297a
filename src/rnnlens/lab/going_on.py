"""Going on from a timestep with other states: many at once, and only what has to be computed.

A batch of contexts, equally long, is read once. Whoever puts other states into a kind at a timestep
then goes on from there: below that kind's layer all stays as it was, so that only its layer and
those above are computed, from that timestep on.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import Change, States
from rnnlens.model.traceable import RecurrentLayer, StateEdit, Traceable

Put = Callable[[Tensor], Tensor]  # from the states of copies (R * B, H) to others


class Contexts:
    """Some contexts, as many words each, and their states."""

    def __init__(self, model: Traceable, words: Tensor) -> None:
        """`words` (T, B)."""
        self.model, self.words = model, words
        with torch.no_grad():
            trace = model.trace(words)
        self.states, self.y = trace.states, trace.prediction
        self.layers = _plain_layers(model)
        self.kind_layer = {k: n for n, one in enumerate(self.layers) for k in one.ids.values()}

    def __len__(self) -> int:
        return self.words.shape[1]

    def after(self, kind: str, step: int, put: Put, copies: int = 1, *, always: bool = False,
              learning: bool = False) -> Tensor:  # fmt: skip
        """What the last prediction is made of, (copies * B, ...), with other states at a timestep,
        or from it on, `always`; `put` is given the states of all copies, one after the other.
        """
        layer = self.kind_layer.get(kind)
        with torch.set_grad_enabled(learning):
            if layer is None:
                return self._traced(kind, step, put, copies, always, learning)
            return self._from_layer(layer, kind, step, put, copies, always, learning)

    def _traced(
        self, kind: str, step: int, put: Put, copies: int, always: bool, learning: bool
    ) -> Tensor:
        """All layers again, from the timestep on."""
        words = self.words[step:].repeat(1, copies)
        steps = range(len(words)) if always else range(1)
        edits = [StateEdit(kind, k, put, learning) for k in steps]
        start = self._start(step, copies, self.model.carried, learning) if step else None
        return self.model.trace(words, start, edits).prediction[-1]

    def _start(self, step: int, copies: int, kinds: Sequence[str], learning: bool) -> States:
        start = {kind: self.states[kind][step - 1].repeat(copies, 1) for kind in kinds}
        return {k: v.requires_grad_() for k, v in start.items()} if learning else start

    def _from_layer(
        self, number: int, kind: str, step: int, put: Put, copies: int, always: bool, learning: bool
    ) -> Tensor:
        """The kind's layer and those above it, from the timestep on."""
        x = self.states[self.layers[number].below[0]][step:].repeat(1, copies, 1)
        letters = {name: letter for letter, name in self.layers[number].ids.items()}

        def change(letter: str, value: Tensor) -> Tensor:
            return put(value) if letter == letters[kind] else value

        edits: dict[int, Change] = dict.fromkeys(range(len(x)) if always else range(1), change)
        for layer in self.layers[number:]:
            ids = [layer.ids[letter] for letter in layer.cell.carried]
            if step:
                start = self._start(step, copies, ids, learning)
            else:
                zeros = layer.cell.start(layer.weights, x.shape[1])
                start = {layer.ids[letter]: zeros[letter] for letter in layer.cell.carried}
                start = {k: v.requires_grad_(learning) for k, v in start.items()}
            carried = {letter: start[layer.ids[letter]] for letter in layer.cell.carried}
            states = layer.cell.states(x, carried, layer.weights, edits)
            x, edits = states[layer.cell.output.id], {}
        return x[-1]


def _plain_layers(model: Traceable) -> tuple[RecurrentLayer, ...]:
    """The layers of a model that is a stack of them and no more, each on the one before; of any
    other none, so that all of it is computed.
    """
    try:
        anatomy = model.anatomy()
    except RnnlensError:
        return ()
    layers = anatomy.layers
    stacked = all(one.below == (below.output,) for below, one in pairwise(layers))
    plain = all(len(one.below) == 1 and not one.reverse for one in layers)
    return layers if stacked and plain and layers and anatomy.tops == (layers[-1].output,) else ()
