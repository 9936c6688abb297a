"""What a lens's model computes with, and whether that is all: the same is computed anew with it."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.model.cell import States, in_precision
from rnnlens.model.directions import side_by_side
from rnnlens.model.kinds import EMBEDDING, JOINED, PREDICTION
from rnnlens.model.text import TextSide, text_states
from rnnlens.model.traceable import Anatomy, RecurrentLayer
from rnnlens.reading.subject import Subject

_MANY = 200  # words of a text to try a model on, longer than what most are trained on at once
_NEAR = 1e-3  # of the largest number, by which rounding may differ


@torch.no_grad()
def checked_anatomy(subject: Subject) -> Anatomy:
    """What the model of a lens computes with; an error where there is more to it."""
    model, side, texts = subject.session.model, subject.session.text, _texts(subject)
    text_states(model, side, texts[0])  # a model that is not at hand says so itself
    try:
        anatomy = model.anatomy()
        tried = [
            (recomputed(anatomy, subject, ids), text_states(model, side, ids)) for ids in texts
        ]
        for states, real in tried:
            _check_states(states, real)
        return _with_prediction(anatomy, subject, tried) if anatomy.maps else anatomy
    except RnnlensError as error:
        raise RnnlensError(
            f"{subject.name} cannot be computed outside of Python: {error}; save grids of single "
            'texts instead: lens("a text").save("grid.html")'
        ) from error


def _check_states(states: States, real: States) -> None:
    for kind, values in states.items():
        if kind in real and not _close(values, real[kind]):
            raise RnnlensError(f"its {kind} is more than its recurrent cells make of its input")


def _texts(subject: Subject) -> list[list[int]]:
    """The numbers of the words of all examples, and of a long text of words from everywhere."""
    session = subject.session
    examples = [session.numbers(one, session.words(one)) for one in subject.examples()]
    return [*filter(None, examples), _long_text(session.text, examples)]


def _long_text(text: TextSide, examples: Sequence[Sequence[int]]) -> list[int]:
    """Words that models may take for something else, the first and the unknown one, and others, but
    none that is called padding; of a model that reads numbers, those of the examples.
    """
    names = text.vocabulary.inputs
    known = [k for k, name in enumerate(names) if name.strip("<>[]_").lower() != "pad"] or [0]
    odd = {0, text.vocabulary.unknown or 0} & set(known)
    if text.features:
        odd, known = set(), [number for ids in examples for number in ids] or [0]
    places = torch.randint(len(known), (_MANY,), generator=torch.Generator().manual_seed(0))
    return [*odd, *(known[place] for place in places.tolist())]


def recomputed(anatomy: Anatomy, subject: Subject, ids: Sequence[int]) -> States:
    """The states (T, H) of every kind after each word, from the anatomy alone."""
    states: States = {EMBEDDING.id: _input(anatomy, subject.session.text, ids)}
    for layer in anatomy.layers:
        if not layer.cell.in_browser:
            raise RnnlensError(f"the page has no equations of the cell {layer.cell.name!r}")
        states |= _layer(layer, side_by_side([states[kind] for kind in layer.below]))
    for kind in subject.model.kinds:
        if kind.letter == JOINED:
            states[kind.id] = side_by_side([states[edge.kind] for edge in kind.sources])
    return states


def _input(anatomy: Anatomy, text: TextSide, ids: Sequence[int]) -> Tensor:
    read = list(ids) if text.mark is None else [text.mark, *ids[:-1]]
    if anatomy.embedding is None:
        return torch.tensor([text.values(number) for number in read], dtype=torch.float32)
    return anatomy.embedding.float().cpu()[read]


def _layer(layer: RecurrentLayer, x: Tensor) -> States:
    weights = in_precision(layer.weights, torch.float32)
    read = x.flip(0) if layer.reverse else x
    found = layer.cell.states(read[:, None], layer.cell.start(weights, 1), weights)
    return {
        layer.ids[letter]: values[:, 0].flip(0) if layer.reverse else values[:, 0]
        for letter, values in found.items()
    }


def _with_prediction(
    anatomy: Anatomy, subject: Subject, tried: Sequence[tuple[States, States]]
) -> Anatomy:
    """An anatomy that says whether the prediction is one for a whole text."""
    for whole in (False, True):
        if all(
            _close(
                _said(subject, _predicted(anatomy, states, whole)),
                _said(subject, _of_model(subject, real[PREDICTION])),
            )
            for states, real in tried
        ):
            return anatomy._replace(whole=whole)
    raise RnnlensError(f"its prediction is more than a linear map of {anatomy.tops[0]}")


def _predicted(anatomy: Anatomy, states: States, whole: bool) -> Tensor:
    """The prediction after each word; `whole`: the same everywhere, that of the last one read."""
    (top,) = anatomy.tops
    backwards = {layer.output for layer in anatomy.layers if layer.reverse}
    y = states[top]
    if whole:
        y = y[0 if top in backwards else -1].expand_as(y)
    for one in anatomy.maps:
        bias = None if one.bias is None else one.bias.float().cpu()
        y = F.linear(y, one.weight.float().cpu(), bias)
    return y


def _of_model(subject: Subject, y: Tensor) -> Tensor:
    """What the model itself predicts, before numbers become bins."""
    return y if subject.session.text.labels.scale else subject.model.predict(y)


def _said(subject: Subject, y: Tensor) -> Tensor:
    """A prediction as far as it is seen: of one label of many, logits only beside one another."""
    labels = subject.session.text.labels
    return y if labels.scale or labels.several else y.log_softmax(-1)


def _close(ours: Tensor, theirs: Tensor) -> bool:
    size = float(theirs.abs().amax()) if theirs.numel() else 0.0
    return ours.shape == theirs.shape and bool(
        torch.allclose(ours, theirs.float(), rtol=_NEAR, atol=_NEAR * max(size, 1e-6))
    )
