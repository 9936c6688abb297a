"""Semantics: which label a state is asked about."""

import re

import numpy as np
from numpy.typing import NDArray

from rnnlens.corpus.batches import Split
from rnnlens.errors import RnnlensError

_FORM = re.compile(r"input|output(?:[+-][1-9]\d{0,3})?")


def offset(semantic: str) -> int:
    """How many words after the one just read the label stands: 0 for `input`, 1 for `output`."""
    if not _FORM.fullmatch(semantic):
        raise RnnlensError(
            f"{semantic!r} is no semantic; give output, input, output+N or output-N, comma between"
        )
    return 0 if semantic == "input" else 1 + int(semantic.removeprefix("output") or 0)


def parse(text: str) -> tuple[str, ...]:
    """The semantics of a list with commas, each once."""
    named = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for semantic in named:
        offset(semantic)
    return named


def labels(split: Split, chosen: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """The label of every state of these sentences, (T, B); -1 where there is none.

    A state follows each word but the last, as in training.
    """
    lengths, starts = split.lengths[chosen], split.starts[chosen]
    time = np.arange(lengths.max() - 1)[:, None]  # (T, 1)
    at = time + shift
    there = (time < lengths - 1) & (at >= 0) & (at < lengths)
    source = split.ids if split.others is None else split.others
    return np.where(there, source[np.where(there, starts + at, 0)], -1)


def count(split: Split, shift: int) -> int:
    """How many states of a split have such a label."""
    first, last = max(0, -shift), np.minimum(split.lengths - 1, split.lengths - shift)
    return int(np.maximum(0, last - first).sum())
