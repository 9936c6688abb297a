"""How far apart two states are: the Jensen-Shannon divergence of what they predict."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.reading.source import LONGEST, GridSource

_MOST = 2 * LONGEST  # words of all texts together


class End(NamedTuple):
    """One state of a pair."""

    column: str
    row: int
    text: str
    semantic: str | None
    edits: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, str | None, tuple[str, ...]]:
        """What is to be read for it."""
        return self.text, self.semantic, self.edits


@torch.inference_mode()
def divergences(lens: GridSource, pairs: Sequence[tuple[End, End]]) -> list[float]:
    """The divergence of each pair of states in bits, exact: over all labels."""
    ends = dict.fromkeys(end for pair in pairs for end in pair)
    texts = {
        (text, semantic, edits): lens.request(text, semantic, None, edits)
        for text, semantic, edits in dict.fromkeys(end.read for end in ends)
    }
    words = sum(len(asked.ids) for asked in texts.values())
    if words > _MOST:
        raise RnnlensError(
            f"the states to compare are of texts with {words:,} words together; compare fewer, "
            f"at most {_MOST:,} words"
        )
    if len({texts[end.read].answers.names for end in ends}) > 1:
        raise RnnlensError("states that are asked about different labels cannot be compared")
    found = {
        end: texts[end.read]
        .answers.pooled(lens.logits(texts[end.read], end.column, end.row).double())
        .softmax(0)
        for end in ends
    }
    return [jensen_shannon(found[a], found[b]) for a, b in pairs]


def jensen_shannon(p: Tensor, q: Tensor) -> float:
    """Between 0 (the same) and 1 (nothing in common) bits, of distributions (V,)."""
    middle = (p + q) / 2
    entropy = [torch.special.entr(d).sum() for d in (middle, p, q)]
    nats = float(entropy[0] - (entropy[1] + entropy[2]) / 2)
    return min(1.0, max(0.0, nats / math.log(2)))
