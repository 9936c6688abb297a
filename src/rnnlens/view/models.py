"""What a lens needs of a model, be it ours or a user's own module."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from rnnlens.corpus.batches import Split
from rnnlens.corpus.read.text import words_of
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.model.cells import States
from rnnlens.model.kinds import Kind
from rnnlens.model.network import Network
from rnnlens.probe.stream import Source
from rnnlens.probe.subject import NetworkSubject
from rnnlens.view.memory import Memory


class Model(ABC):
    """Words go in; the states of every kind come out, and the model's own prediction."""

    kinds: tuple[Kind, ...]
    prediction: Kind
    labels: tuple[str, ...]
    counts: tuple[int, ...]  # of each label in training
    description: str  # such as LSTM 300 × 2
    causal: bool  # whether a row depends on nothing after it
    difference: float | None = None  # of a user's module, between real and recomputed outputs
    examples: tuple[str, ...] | None = None  # texts to begin with; None: whatever it knows
    follows: bool  # whether labels are the words that follow, so that a text tells what came
    mark: int | None = None  # what is read in front of a text, in place of its last word

    @property
    def device(self) -> torch.device:
        """Where the states of `source` are."""
        return torch.device("cpu")

    def came(self, ids: list[int]) -> list[int]:
        """The labels that a text's words are, in the order of what is read; -1: it does not tell.

        Of a model that reads a mark first, a state stands beside the word that it predicts.
        """
        if not self.follows:
            return [-1] * len(ids)
        return ids if self.mark is None else [self.mark, *ids]

    @abstractmethod
    def words(self, text: str) -> tuple[str, ...]:
        """The words of a text somebody typed."""

    @abstractmethod
    def encode(self, words: Iterable[str]) -> list[int]:
        """What the model reads for them."""

    @abstractmethod
    def is_unknown(self, number: int) -> bool:
        """Whether the model has no word of its own for it."""

    @abstractmethod
    def taken_for(self, number: int) -> str:
        """The word as the model knows it."""

    @abstractmethod
    def read(self, ids: Sequence[int], first: int, last: int) -> tuple[States, States]:
        """States (T, H) of every kind and of `y` after the words first..last-1, and the kinds that
        others read one step back as they were before `first`.
        """

    @abstractmethod
    def own(self, y: Tensor) -> Tensor:
        """The model's own logits (N, V), from the states of `y`."""

    @abstractmethod
    def source(self, data: list[Any]) -> Callable[[str], Source]:
        """The states of data to be measured on, by semantic."""

    def forget(self) -> None:  # noqa: B027 - not every model remembers
        """Have nothing at hand any more."""


class NetworkModel(Model):
    """A language model of ours."""

    causal = follows = True

    def __init__(self, network: Network, vocabulary: Vocabulary) -> None:
        self.network, self.vocabulary, self.memory = network, vocabulary, Memory(network)
        self.kinds, self.prediction = network.kinds, network.prediction
        self.labels, self.counts = vocabulary.labels, vocabulary.counts
        config = network.config
        self.description = f"{config.cell.upper()} {config.width} × {config.layers}"

    def words(self, text: str) -> tuple[str, ...]:
        unknown = self.vocabulary.unknown
        return words_of(text, lambda word: self.vocabulary.encode([word]) != [unknown])

    def encode(self, words: Iterable[str]) -> list[int]:
        return self.vocabulary.encode(words)

    def is_unknown(self, number: int) -> bool:
        return number == self.vocabulary.unknown

    def taken_for(self, number: int) -> str:
        return self.labels[number]

    def read(self, ids: Sequence[int], first: int, last: int) -> tuple[States, States]:
        return self.memory.read(ids, first, last)

    def own(self, y: Tensor) -> Tensor:
        return self.network.predict(y)

    def source(self, data: list[Any]) -> Callable[[str], Source]:
        words = [self.words(given) if isinstance(given, str) else given for given in data]
        split = Split.joined([self.encode(some) for some in words if some])
        subject = NetworkSubject(self.network, {"test": split}, self.network.bias.device)
        return lambda semantic: subject.source("test", semantic)

    def forget(self) -> None:
        self.memory.forget()
