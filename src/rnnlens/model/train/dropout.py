"""The regularisation that makes a small recurrent network good.

Locked dropout, weight drop and embedding dropout are those of Merity, Keskar and Socher,
"Regularizing and Optimizing LSTM Language Models" (2017). Masks are drawn from a generator that is
seeded anew for each step, and for the whole batch even when processes share it: a step gives the
same result whether or not training was interrupted and however many processes there are.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from rnnlens.model.train.training_config import DropoutConfig as DropoutConfig  # noqa: PLC0414


class Unknown(NamedTuple):
    """The unknown word, and how often each word stands in the training data."""

    number: int
    counts: Tensor  # (W,)

    def chances(self, share: float) -> Tensor:
        """How probable it is that each word is read as unknown, (W,)."""
        return share / (share + self.counts.clamp_min(1).float())


class Dropout:
    """The masks of a training step."""

    def __init__(
        self, config: DropoutConfig, device: torch.device, unknown: "Unknown | None" = None
    ) -> None:
        self.config = config
        self.chances = unknown.chances(config.unknown).to(device) if unknown else None
        self.number = unknown.number if unknown else 0
        self.generator = torch.Generator(device)
        self.columns, self.sentences = slice(None), 0

    def begin(self, seed: int, columns: slice, sentences: int) -> None:
        """Start a step on a batch of `sentences`, of which this process has only `columns`."""
        self.generator.manual_seed(seed)
        self.columns, self.sentences = columns, sentences

    def unknown(self, inputs: Tensor) -> Tensor:
        """Read some words (T, B) as unknown ones, rare words more often, so that training meets
        what it will not know later.
        """
        if self.chances is None or not self.config.unknown:
            return inputs
        draws = torch.rand(
            (len(inputs), self.sentences), generator=self.generator, device=inputs.device
        )
        return inputs.where(draws[:, self.columns] >= self.chances[inputs], self.number)

    def words(self, embedded: Tensor, inputs: Tensor, labels: int) -> Tensor:
        """Drop words of the vocabulary, wherever they stand in the batch."""
        keep = self._mask((labels, 1), self.config.dropout_words, embedded)
        return embedded if keep is None else embedded * keep[inputs]

    def locked(self, x: Tensor, share: float) -> Tensor:
        """Drop the same features of a sequence (T, B, H) at every timestep."""
        keep = self._mask((1, self.sentences, x.shape[-1]), share, x)
        return x if keep is None else x * keep[:, self.columns]

    def weight(self, w: Tensor) -> Tensor:
        """Drop single weights, for the whole step."""
        keep = self._mask(tuple(w.shape), self.config.dropout_weight, w)
        return w if keep is None else w * keep

    def _mask(self, shape: tuple[int, ...], share: float, like: Tensor) -> Tensor | None:
        if share == 0:
            return None
        mask = torch.empty(shape, dtype=like.dtype, device=like.device)
        return mask.bernoulli_(1 - share, generator=self.generator).div_(1 - share)
