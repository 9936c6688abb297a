"""Modules of somebody's own that read letters, and batches of letters for them."""

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

WORDS = ["<unk>", "a", "b", "c", "d", "e"]
V = len(WORDS)


class LanguageModel(nn.Module):
    def __init__(
        self, batch_first: bool = True, cell: Any = nn.LSTM, labels: int = V, **options: Any
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(V, 7)
        self.recurrence = cell(7, 9, batch_first=batch_first, **options)
        self.readout = nn.Linear(9 * (2 if options.get("bidirectional") else 1), labels)

    def forward(self, words: Tensor) -> Any:
        return self.readout(self.recurrence(self.embedding(words))[0])


class Classifier(LanguageModel):
    """One prediction for a whole sequence."""

    def forward(self, words: Tensor) -> Any:
        return self.readout(self.recurrence(self.embedding(words))[0][:, -1])


class Packed(LanguageModel):
    """Reads sequences of other lengths, packed, and returns the longest's timesteps."""

    def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
        x = self.embedding(words)
        x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.readout(pad_packed_sequence(self.recurrence(x)[0], batch_first=True)[0])


class Turning(nn.Module):
    """Batches first outside, timesteps first inside, and a readout that is not linear."""

    def __init__(self, flat: bool) -> None:
        super().__init__()
        self.embedding, self.recurrence = nn.Embedding(V, 7), nn.LSTM(7, 9)
        self.readout = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, V))
        self.flat = flat

    def forward(self, words: Tensor) -> Tensor:
        states = self.recurrence(self.embedding(words).transpose(0, 1))[0].transpose(0, 1)
        made = self.readout(states)
        return cast("Tensor", made.reshape(-1, V) if self.flat else made)


class Flipped(LanguageModel):
    """Reads every sequence from its end."""

    def forward(self, words: Tensor) -> Any:
        return self.readout(self.recurrence(self.embedding(words).flip(1))[0].flip(1))


class Sorted(LanguageModel):
    """Sorts its sequences by their last word before it reads them; what it reads is the embedding
    itself, unless that is scaled.
    """

    def __init__(self, scaled: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.scale = 2.0 if scaled else 1.0

    def forward(self, words: Tensor) -> Any:
        order = words[:, -1].argsort(stable=True)
        read = self.recurrence(self.embedding(words[order]) * self.scale)[0]
        return self.readout(read[order.argsort()])


class BothWays(nn.Module):
    """Two parts, of which the second reads from the end."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(V, 7)
        self.there, self.back = nn.GRU(7, 9, batch_first=True), nn.GRU(7, 9, batch_first=True)
        self.readout = nn.Linear(18, V)

    def forward(self, words: Tensor) -> Any:
        x = self.embedding(words)
        return self.readout(torch.cat([self.there(x)[0], self.back(x.flip(1))[0].flip(1)], -1))


def batches(
    batch_first: bool = True, count: int = 12, size: int = 8, length: int = 7, seed: int = 0
) -> list[tuple[Any, Tensor]]:
    """Letters in the order of the alphabet, from a random one on; targets are the next."""
    random = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(count):
        words = 1 + (torch.randint(5, (size, 1), generator=random) + torch.arange(length + 1)) % 5
        inputs, targets = words[:, :-1].clone(), words[:, 1:].clone()
        if not batch_first:
            inputs, targets = inputs.T.contiguous(), targets.T.contiguous()
        made.append((inputs, targets))
    return made


def trained(model: Any, data: list[tuple[Any, Tensor]], rounds: int = 15) -> Any:
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for inputs, targets in data * rounds:
        made = model(*inputs) if isinstance(inputs, tuple) else model(inputs)
        loss = F.cross_entropy(made.flatten(0, -2), targets.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model
