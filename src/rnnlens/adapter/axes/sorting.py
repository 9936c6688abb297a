"""Puts sequences that a module sorts inside its forward back into the order of the batch.

It compares what a recurrent part reads with the batch, column by column: with the vectors that the
module's embedding has for its words, or with its features as they are.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.adapter.axes.layout import Layout, is_whole, tensors, within
from rnnlens.base.errors import RnnlensError

_FEW = 4  # features that are compared first, of each vector


def restored(
    x: Tensor, layout: Layout, batch: Any, embedding: nn.Embedding | None
) -> Tensor | None:
    """For each sequence of the batch its column in x (T, B, I); None where nothing is sorted."""
    if layout.batch < 2:
        return None
    lengths = layout.lengths
    if lengths is None:
        lengths = torch.full((layout.batch,), layout.steps, device=x.device)
    in_batch = next(_lengths(batch, lengths), None)
    for source in _sources(batch, layout, embedding, x):
        columns = _columns(x, lengths, source, lengths if in_batch is None else in_batch)
        if columns is not None:
            same = bool((columns == torch.arange(len(columns), device=columns.device)).all())
            return None if same else columns.argsort()
    if in_batch is not None and is_suspicious(layout) and not torch.equal(in_batch, lengths):
        raise RnnlensError(
            "the module sorts its sequences by their lengths, and how they lie then cannot be "
            "told; leave the sorting to pack_padded_sequence(..., enforce_sorted=False)"
        )
    return None


def is_suspicious(layout: Layout) -> bool:
    """Whether sequences come from the longest to the shortest, as in a module that sorts them."""
    packed, lengths = layout.packed, layout.lengths
    if packed is None or packed.sorted_indices is not None or lengths is None:
        return False
    return bool((lengths[:-1] >= lengths[1:]).all())


def _sources(
    batch: Any, layout: Layout, embedding: nn.Embedding | None, x: Tensor
) -> Iterator[Tensor]:
    """What x may be read from, as (T, B, I), in every order that the shape in the batch allows."""
    for _, tensor in tensors(batch):
        values = tensor
        if embedding is not None and tensor.dim() == 2 and is_whole(tensor):
            if tensor.min() < 0 or tensor.max() >= embedding.num_embeddings:
                continue
            values = F.embedding(tensor.long().to(x.device), embedding.weight)
        if values.dim() == 3 and values.shape[-1] == x.shape[-1]:
            fit = layout.arrange(values)
            readings = () if fit is None else (fit.values, fit.other)
            yield from (reading.to(x) for reading in readings if reading is not None)


def _lengths(batch: Any, lengths: Tensor) -> Iterator[Tensor]:
    """Tensors of a batch that hold these very lengths (B,), in whatever order."""
    for _, tensor in tensors(batch):
        if tensor.shape == lengths.shape and is_whole(tensor):
            values = tensor.to(lengths)
            if torch.equal(values.sort()[0], lengths.sort()[0]):
                yield values


def _columns(x: Tensor, lengths: Tensor, source: Tensor, in_source: Tensor) -> Tensor | None:
    """For each column of x the equal one of the source; None where one has no equal.

    `lengths` (B,) are those of x, and `in_source` those of the source.
    """
    valid = within(len(x), lengths)[..., None]  # (T, B, 1)
    read = torch.where(valid, x, 0)
    if torch.equal(lengths, in_source) and torch.equal(read, torch.where(valid, source, 0)):
        return torch.arange(x.shape[1], device=x.device)
    few, of = x[..., :_FEW, None], source[..., :_FEW, None].transpose(1, 3)  # (T, B, F, 1 or B)
    alike = ((few == of) | ~valid[..., None]).all(2).all(0)  # (B, B)
    if not torch.equal(lengths, in_source):
        alike &= lengths[:, None] == in_source
    chosen = torch.zeros(x.shape[1], dtype=torch.long, device=x.device)
    for column in lengths.argsort(descending=True, stable=True).tolist():
        left = alike[column].nonzero()
        if not len(left):
            return None
        chosen[column] = left[0, 0]
        alike[:, chosen[column]] = False  # a shorter one may be the beginning of this one
    return chosen if torch.equal(read, torch.where(valid, source[:, chosen], 0)) else None
