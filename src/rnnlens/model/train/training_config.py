"""How a network is trained; read without torch, for the flags of a command."""

import math
from dataclasses import dataclass

from rnnlens.base.flags import Options, option


@dataclass(frozen=True)
class DropoutConfig(Options):
    """The shares that training drops of each."""

    dropout_words: float = option(0.1, "words, whole (embedding dropout)", least=0, below=1)
    dropout_input: float = option(0.3, "input of the first layer", least=0, below=1)
    dropout_hidden: float = option(0.2, "between the layers", least=0, below=1)
    dropout_output: float = option(0.3, "output of the last layer", least=0, below=1)
    dropout_weight: float = option(0.2, "recurrent weights (weight drop)", least=0, below=1)
    unknown: float = option(
        0.0, "read a word seen n times as UNK with the chance X / (X + n)", least=0, below=10**6
    )


@dataclass(frozen=True)
class TrainingConfig(DropoutConfig):
    """How a network is trained; the defaults were chosen by measuring (docs/results.md)."""

    epochs: int = option(30, "passes over the training data, at most", least=1, most=10**6)
    batch: int = option(64, "sentences a step", least=1, most=10**6)
    learning_rate: float = option(1e-2, "its highest value", above=0, below=math.inf)
    warmup: float = option(
        0.1, "share of all steps in which the learning rate rises", least=0, below=1
    )
    weight_decay: float = option(0.1, "of AdamW", least=0, below=math.inf)
    clip: float = option(1.0, "largest norm of a gradient", above=0, below=math.inf)
    average: float = option(0.999, "decay of the running average of the weights", least=0, below=1)
    patience: int = option(
        5, "stop after so many epochs without a better validation", least=1, most=10**6
    )
    keep: int = option(
        0, "checkpoints to keep as runs of their own, spread over training", least=0, most=1000
    )
    seed: int = option(0, "of weights, order and dropout", least=0, below=2**63)
