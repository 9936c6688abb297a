"""The regularisation that makes a small recurrent network good.

Locked dropout, weight drop and embedding dropout are those of Merity, Keskar and Socher,
"Regularizing and Optimizing LSTM Language Models" (2017). Every mask is drawn from a generator of
our own, seeded anew for each step, and for the whole batch even when processes share it: a step
gives the same result whether or not training was interrupted and however many processes there are.
"""

from dataclasses import dataclass, field, fields

import torch
from torch import Tensor

from rnnlens.errors import RnnlensError


@dataclass(frozen=True)
class DropoutConfig:
    """Shares of what is dropped while training."""

    dropout_words: float = field(default=0.1, metadata={"help": "words, whole (embedding dropout)"})
    dropout_input: float = field(default=0.3, metadata={"help": "input of the first layer"})
    dropout_hidden: float = field(default=0.2, metadata={"help": "between the layers"})
    dropout_output: float = field(default=0.3, metadata={"help": "output of the last layer"})
    dropout_weight: float = field(default=0.2, metadata={"help": "recurrent weights (weight drop)"})

    def check(self) -> None:
        """Refuse shares outside [0, 1)."""
        for option in fields(DropoutConfig):
            share = getattr(self, option.name)
            if not 0 <= share < 1:
                flag = option.name.replace("_", "-")
                raise RnnlensError(f"--{flag} {share}: give a share from 0 up to, not including, 1")


class Dropout:
    """The masks of a training step."""

    def __init__(self, config: DropoutConfig, device: torch.device) -> None:
        self.config = config
        self.generator = torch.Generator(device)
        self.columns, self.sentences = slice(None), 0

    def begin(self, seed: int, columns: slice, sentences: int) -> None:
        """Start a step whose batch has so many sentences, some columns of which are here."""
        self.generator.manual_seed(seed)
        self.columns, self.sentences = columns, sentences

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
