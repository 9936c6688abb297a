"""The encoding of a state: from a distribution over labels to bars and a coloured rectangle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.view.colours import OTHER

_SHARE = 0.1  # of the labels take part in the rectangle: the paper's top-k is 10% of the vocabulary


@dataclass(frozen=True)
class Palette:
    """Every label's group and every group's colour."""

    groups: tuple[str, ...]
    colours: tuple[str, ...]  # of each group
    group_of: Tensor  # (V,) number of each label's group

    @classmethod
    def of(cls, labels: Sequence[str], grouping: Mapping[str, Any]) -> "Palette":
        """A grouping of colours.json, for these labels; labels it does not list are OTHER."""
        groups = tuple(grouping["colours"])
        number = {group: k for k, group in enumerate(groups)}
        if OTHER not in number:
            raise RnnlensError(f"the colours have no group {OTHER}; restore colours.json")
        listed = grouping["groups"]
        group_of = torch.tensor([number[listed.get(label, OTHER)] for label in labels])
        return cls(groups, tuple(grouping["colours"].values()), group_of)


@dataclass(frozen=True)
class Encodings:
    """The encodings of N states."""

    labels: Tensor  # (N, k) the most probable labels, most probable first
    probabilities: Tensor  # (N, k) of each
    group: Tensor  # (N,) the dominant group
    share: Tensor  # (N,) how much of the top labels' probability it holds
    rectangles: list[str]  # (N,) the colours of the rectangles, #rrggbb


def encode(logits: Tensor, palette: Palette, bars: int) -> Encodings:
    """Encode states given the logits (N, V) of their distributions.

    Rectangle: over the top K labels (10% of all, at least 1) add up probability by group; the group
    with the largest sum is dominant, and its colour fades to white by what the others hold.
    """
    p = logits.softmax(-1)  # (N, V)
    top = max(1, round(_SHARE * p.shape[-1]))
    values, labels = p.topk(min(max(top, bars), p.shape[-1]))
    groups = palette.group_of[labels[:, :top]]  # (N, K)
    sums = p.new_zeros(len(p), len(palette.groups)).scatter_add_(1, groups, values[:, :top])
    largest, group = sums.max(-1)
    share = largest / sums.sum(-1)
    colours = [palette.colours[g] for g in group.tolist()]
    faded = [fade(colour, s) for colour, s in zip(colours, share.tolist(), strict=True)]
    return Encodings(labels[:, :bars], values[:, :bars], group, share, faded)


def fade(colour: str, share: float) -> str:
    """Mix with white in each sRGB channel: share * colour + (1 - share) * white."""
    channels = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(share * c + (1 - share) * 255):02x}" for c in channels)
