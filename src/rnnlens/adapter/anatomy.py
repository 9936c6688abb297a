"""All that a user's module computes with, where its parts are known."""

from collections.abc import Sequence

from torch import nn

from rnnlens.adapter import modules
from rnnlens.base.errors import RnnlensError
from rnnlens.model.kinds import EMBEDDING, JOINED, Kind
from rnnlens.model.traceable import Affine, Anatomy, Readout, RecurrentLayer


def anatomy_of(
    module: nn.Module,
    kinds: Sequence[Kind],
    recurrence: Sequence[RecurrentLayer],
    readout: Readout | None,
    reads_words: bool,
) -> Anatomy:
    """The anatomy of a module with these kinds and layers; an error where a part is not known.

    That it computes no more than this is for whoever goes by it to check.
    """
    there = {kind.id for kind in kinds}
    layers = [layer for layer in recurrence if {*layer.ids.values()} <= there]
    known = {kind for layer in layers for kind in layer.ids.values()} | {EMBEDDING.id}
    for kind in kinds:
        if kind.id not in known and kind.letter != JOINED:
            raise RnnlensError(f"its {kind.id} is the {kind.equation}, which is no recurrent cell")
    embedding = modules.embedding(module)
    if reads_words and (embedding is None or kinds[0].equation != EMBEDDING.equation):
        raise RnnlensError("what its recurrent part reads is not just a row of one embedding")
    if reads_words and embedding is not None and embedding.max_norm is not None:
        raise RnnlensError(
            "its embedding has a max_norm, by which torch changes a word's row when it is read"
        )
    words = embedding.weight if embedding and reads_words else None
    if readout is None:
        return Anatomy(words, tuple(layers))
    maps = (Affine(readout.weight, readout.bias),)
    return Anatomy(words, tuple(layers), (readout.kind,), maps)
