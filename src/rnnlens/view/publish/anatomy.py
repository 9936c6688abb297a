"""What a lens's model computes with, and whether that is all: the same is computed anew with it."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.model.cell import States
from rnnlens.model.directions import side_by_side
from rnnlens.model.kinds import EMBEDDING, JOINED, PREDICTION
from rnnlens.model.text import TextSide, text_states
from rnnlens.model.traceable import Anatomy, RecurrentLayer
from rnnlens.view.source import GridSource

_FEW = 3  # words to try a model on that has no example
_NEAR = 1e-3  # of the largest number, by which rounding may differ


@torch.no_grad()
def checked_anatomy(lens: GridSource) -> Anatomy:
    """What the model of a lens computes with; an error where there is more to it."""
    session = lens.session
    ids = _some_words(lens)
    real = text_states(session.model, session.text, ids)
    try:
        anatomy = session.model.anatomy()
        states = recomputed(anatomy, lens, ids)
        _check_states(states, real)
        return _with_prediction(anatomy, lens, states, real) if anatomy.maps else anatomy
    except RnnlensError as error:
        raise RnnlensError(
            f"{lens.name} cannot be computed outside of Python: {error}; save grids of single "
            'texts instead: lens("a text").save("grid.html")'
        ) from error


def _check_states(states: States, real: States) -> None:
    for kind, values in states.items():
        if kind in real and not _close(values, real[kind]):
            raise RnnlensError(f"its {kind} is more than its recurrent cells make of its input")


def _some_words(lens: GridSource) -> list[int]:
    """The numbers of words that the model can read."""
    text = lens.session.text
    for example in lens.examples():
        ids = text.encode(lens.session.words(example))
        if len(ids) > 1:
            return ids
    count = max(1, len(text.vocabulary.inputs))
    return [number % count for number in range(_FEW)]


def recomputed(anatomy: Anatomy, lens: GridSource, ids: Sequence[int]) -> States:
    """The states (T, H) of every kind after each word, from the anatomy alone."""
    states: States = {EMBEDDING.id: _input(anatomy, lens.session.text, ids)}
    for layer in anatomy.layers:
        states |= _layer(layer, side_by_side([states[kind] for kind in layer.below]))
    for kind in lens.model.kinds:
        if kind.letter == JOINED:
            states[kind.id] = side_by_side([states[edge.kind] for edge in kind.sources])
    return states


def _input(anatomy: Anatomy, text: TextSide, ids: Sequence[int]) -> Tensor:
    read = list(ids) if text.mark is None else [text.mark, *ids[:-1]]
    if anatomy.embedding is None:
        return torch.tensor([text.values(number) for number in read], dtype=torch.float32)
    return anatomy.embedding.float().cpu()[read]


def _layer(layer: RecurrentLayer, x: Tensor) -> States:
    weights = layer.weights.single()
    width = {"h": weights.w_h.shape[1], "c": len(weights.w_x) // layer.cell.gates}
    start = {kind: x.new_zeros(1, width[kind]) for kind in layer.cell.carried}
    read = x.flip(0) if layer.reverse else x
    found = layer.cell.states(read[:, None], start, weights)
    return {
        layer.ids[letter]: values[:, 0].flip(0) if layer.reverse else values[:, 0]
        for letter, values in found.items()
    }


def _with_prediction(anatomy: Anatomy, lens: GridSource, states: States, real: States) -> Anatomy:
    """The same, which says whether the prediction is one for a whole text."""
    (top,) = anatomy.tops
    backwards = {layer.ids["h"] for layer in anatomy.layers if layer.reverse}
    last = states[top][0 if top in backwards else -1].expand_as(states[top])
    for whole, rows in ((False, states[top]), (True, last)):
        y = rows
        for one in anatomy.maps:
            bias = None if one.bias is None else one.bias.float().cpu()
            y = F.linear(y, one.weight.float().cpu(), bias)
        if _close(_said(lens, y), _said(lens, _of_model(lens, real[PREDICTION]))):
            return anatomy._replace(whole=whole)
    raise RnnlensError(f"its prediction is more than a linear map of {top}")


def _of_model(lens: GridSource, y: Tensor) -> Tensor:
    """What the model itself predicts, before numbers become bins."""
    return y if lens.session.text.labels.scale else lens.model.predict(y)


def _said(lens: GridSource, y: Tensor) -> Tensor:
    """A prediction as far as it is seen: of one label of many, logits only beside one another."""
    labels = lens.session.text.labels
    return y if labels.scale or labels.several else y.log_softmax(-1)


def _close(ours: Tensor, theirs: Tensor) -> bool:
    size = float(theirs.abs().amax()) if theirs.numel() else 0.0
    return ours.shape == theirs.shape and bool(
        torch.allclose(ours, theirs.float(), rtol=_NEAR, atol=_NEAR * max(size, 1e-6))
    )
