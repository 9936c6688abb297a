"""A GRU language model of your own: train it as ever, then look inside in three lines."""

import random

import torch
from torch import nn

import rnnlens

WORDS = "<unk> . a the dog dogs cat cats sees see chases chase and it they".split()
NUMBER = {word: k for k, word in enumerate(WORDS)}


def sentence() -> list[str]:
    """Subjects agree with their verbs, also across `and`."""
    many = random.random() < 0.5
    noun = random.choice(["dogs", "cats"] if many else ["dog", "cat"])
    verb = random.choice(["see", "chase"] if many else ["sees", "chases"])
    again = random.choice(["see", "chase"] if many else ["sees", "chases"])
    return ["the", noun, verb, "a", "cat", "and", "they" if many else "it", again, "a", "dog", "."]


class LanguageModel(nn.Module):
    """Embedding, recurrence, readout: nothing here knows of rnnlens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), 16)
        self.recurrence = nn.GRU(16, 32, num_layers=2, batch_first=True)
        self.readout = nn.Linear(32, len(WORDS))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """(B, T) -> (B, T, V)"""
        logits: torch.Tensor = self.readout(self.recurrence(self.embedding(words))[0])
        return logits


def trained(batches: list[tuple[torch.Tensor, torch.Tensor]]) -> LanguageModel:
    """The usual loop."""
    model = LanguageModel()
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(4):
        for words, following in batches:
            loss = nn.functional.cross_entropy(model(words).flatten(0, 1), following.flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


def main() -> None:
    """Print what the states say of the verb that is to come."""
    random.seed(0)
    torch.manual_seed(0)
    data = [torch.tensor([[NUMBER[w] for w in sentence()] for _ in range(16)]) for _ in range(40)]
    batches = [(words[:, :-1], words[:, 1:]) for words in data]
    model = trained(batches)

    lens = rnnlens.fit(model, batches, WORDS)
    grid = lens("the dogs chase a cat and they")
    print(grid)
    for kind in ("x", "h1", "k2", "w2", "h2", "y"):
        print(kind, grid[kind][-1].top(2))


if __name__ == "__main__":
    main()
