"""Semantics: which label a state is asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rnnlens.base.errors import RnnlensError
from rnnlens.base.later import Later

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = Later("torch")

NONE = -1  # the label of a state that has none; any other negative number means the same
INPUT, OUTPUT, TAG = "input", "output", "tag"
_FORM = re.compile(r"input|(?!input[+-])([a-z][a-z0-9_]{0,30})([+-][1-9]\d{0,3})?")


def _parts(semantic: str) -> tuple[str, int]:
    """Whose labels it asks for, and how many steps later than a state stands beside."""
    match = _FORM.fullmatch(semantic)
    if not match:
        raise RnnlensError(
            f"{semantic!r} is no semantic; give output, input, output+N or output-N, or the name "
            "of other targets, such as tag, comma between"
        )
    return match[1] or INPUT, int(match[2] or 0)


def base(semantic: str) -> str:
    """Whose labels it asks for: `output` of `output+2`."""
    return _parts(semantic)[0]


def shift(semantic: str) -> int:
    """How many steps after a state's place among its targets the label stands: 2 of `output+2`."""
    return _parts(semantic)[1]


def of_model(semantic: str) -> bool:
    """Whether it asks for labels of the model itself: what it predicts, or the words it reads."""
    return base(semantic) in (INPUT, OUTPUT)


def offset(semantic: str) -> int:
    """How many words after the one just read the label stands: 0 for `input`, 1 for `output`."""
    name, steps = _parts(semantic)
    return steps + (name == OUTPUT)


def parse(text: str) -> tuple[str, ...]:
    """The semantics in a list with commas, without repetitions."""
    semantics = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for semantic in semantics:
        offset(semantic)
    return semantics


def labels_at(labels: Tensor, places: Tensor) -> Tensor:
    """Of labels that stand in time's order, (T, ...), those at some places (N,), NONE where a place
    is before the first or after the last. All labels that are asked for are shifted by this.
    """
    inside = (places >= 0) & (places < len(labels))
    nothing = labels.new_full((1, *labels.shape[1:]), NONE)
    return torch.cat([labels, nothing])[torch.where(inside, places, len(labels))]


def label_at(labels: Sequence[int], place: int) -> int:
    """Of the labels of one text, that at a place, as `labels_at` gives it; quick for a few."""
    return labels[place] if 0 <= place < len(labels) else NONE
