"""Sequences that a module sorts inside its forward, put back into the order of the batch.

What a recurrent part reads is compared with what the batch gives, column by column: its words as
the module's embedding has them, or its features as they are.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.adapter.axes.layout import Layout, is_whole, tensors, within
from rnnlens.errors import RnnlensError

_FEW = 4  # features that are compared first


def restored(
    x: Tensor, layout: Layout, batch: Any, embedding: nn.Embedding | None
) -> Tensor | None:
    """For each sequence of the batch its column in x (T, B, I); None where it is the same one."""
    if layout.batch < 2:
        return None
    lengths = layout.lengths
    if lengths is None:
        lengths = torch.full((layout.batch,), layout.steps, device=x.device)
    given = next(_lengths(batch, lengths), None)
    for source in _sources(batch, layout, embedding, x):
        found = _columns(x, lengths, source, lengths if given is None else given)
        if found is not None:
            same = bool((found == torch.arange(len(found), device=found.device)).all())
            return None if same else found.argsort()
    if given is not None and is_suspicious(layout) and not torch.equal(given, lengths):
        raise RnnlensError(
            "the module sorts its sequences by their lengths, and how they lie then cannot be "
            "told; leave the sorting to pack_padded_sequence(..., enforce_sorted=False)"
        )
    return None


def is_suspicious(layout: Layout) -> bool:
    """Whether sequences come from the longest to the shortest, as a module that sorts has them."""
    packed, lengths = layout.packed, layout.lengths
    if packed is None or packed.sorted_indices is not None or lengths is None:
        return False
    return bool((lengths[:-1] >= lengths[1:]).all())


def _sources(
    batch: Any, layout: Layout, embedding: nn.Embedding | None, x: Tensor
) -> Iterator[Tensor]:
    """What the batch gives to be read, as (T, B, I), in every order that its shape allows."""
    for _, values in tensors(batch):
        given = values
        if embedding is not None and values.dim() == 2 and is_whole(values):
            if values.min() < 0 or values.max() >= embedding.num_embeddings:
                continue
            given = F.embedding(values.long().to(x.device), embedding.weight)
        fit = layout.arrange(given) if given.dim() == 3 and given.shape[-1] == x.shape[-1] else None
        if fit is not None:
            yield from (one.to(x) for one in (fit.values, fit.other) if one is not None)


def _lengths(batch: Any, lengths: Tensor) -> Iterator[Tensor]:
    """Tensors of a batch that hold these very lengths (B,), in whatever order."""
    for _, given in tensors(batch):
        if given.shape == lengths.shape and is_whole(given):
            values = given.to(lengths)
            if torch.equal(values.sort()[0], lengths.sort()[0]):
                yield values


def _columns(x: Tensor, lengths: Tensor, source: Tensor, given: Tensor) -> Tensor | None:
    """For each column of x the one of the source that it is; None where some are none.

    `lengths` (B,) are those of x, and `given` those of the source.
    """
    valid = within(len(x), lengths)[..., None]  # (T, B, 1)
    read = torch.where(valid, x, 0)
    if torch.equal(lengths, given) and torch.equal(read, torch.where(valid, source, 0)):
        return torch.arange(x.shape[1], device=x.device)
    few, of = x[..., :_FEW, None], source[..., :_FEW, None].transpose(1, 3)  # (T, B, F, 1 or B)
    alike = ((few == of) | ~valid[..., None]).all(2).all(0)  # (B, B)
    if not torch.equal(lengths, given):
        alike &= lengths[:, None] == given
    chosen = torch.zeros(x.shape[1], dtype=torch.long, device=x.device)
    for column in lengths.argsort(descending=True, stable=True).tolist():
        left = alike[column].nonzero()
        if not len(left):
            return None
        chosen[column] = left[0, 0]
        alike[:, chosen[column]] = False  # a shorter one may be the beginning of this one
    return chosen if torch.equal(read, torch.where(valid, source[:, chosen], 0)) else None
