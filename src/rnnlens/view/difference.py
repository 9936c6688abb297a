"""What an edit changes in what states predict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.corpus.answers import Answers

Floats = NDArray[np.float64]
_TINY = 1e-38  # whose logarithm is finite, and nothing times it is nothing


@dataclass(frozen=True)
class Difference:
    """Of each state, how far what it predicts lies from what it predicted before."""

    bits: Floats  # (N,) Jensen-Shannon
    label: NDArray[np.int64]  # (N,) that was the most probable
    was: Floats  # (N,) its probability before
    now: Floats  # (N,) and after

    @classmethod
    def of(cls, after: Tensor, before: Tensor, answers: Answers | None = None) -> "Difference":
        """Of states with these logits, (N, V) each."""
        if answers and answers.several:
            return cls._of_several(after, before, answers)
        p, q = after.softmax(1), before.softmax(1)
        middle = (p + q).div_(2)
        nats = -torch.linalg.vecdot(middle, middle.clamp_min(_TINY).log_()).double()
        label = before.argmax(1)
        nats -= (_entropy(p, after, after.argmax(1)) + _entropy(q, before, label)) / 2
        was, now = (d.gather(1, label[:, None])[:, 0].double().numpy() for d in (q, p))
        bits = (nats / math.log(2)).clamp(0, 1).numpy()
        same = (after == before).all(1).numpy()
        return cls(np.where(same, 0.0, bits), label.numpy(), was, now)

    @classmethod
    def _of_several(cls, after: Tensor, before: Tensor, answers: Answers) -> "Difference":
        """The same where each label holds or not by itself: the mean over the labels."""
        bits = cls.of(answers.pooled(after), answers.pooled(before)).bits
        label = before.argmax(1)
        was, now = (
            v.sigmoid().gather(1, label[:, None])[:, 0].double().numpy() for v in (before, after)
        )
        return cls(bits, label.numpy(), was, now)

    @classmethod
    def join(cls, parts: Sequence["Difference"]) -> "Difference":
        """Several, one after the other."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})


def _entropy(p: Tensor, logits: Tensor, top: Tensor) -> Tensor:
    """In nats, of rows of probabilities with these logits and most probable labels.

    What all logits of a row are larger by than the logarithms follows from one label: no need to
    take the logarithms of all.
    """
    highest, most = (values.gather(1, top[:, None])[:, 0].double() for values in (logits, p))
    nats: Tensor = highest - most.log() - torch.linalg.vecdot(p, logits).double()
    return nats
