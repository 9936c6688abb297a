"""A bidirectional LSTM that tags words: what does each direction know about a word's tag?

Given the name of a file, `python examples/tagger.py tags.svg`, it also draws the grid.
"""

import random
import sys

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import rnnlens

WORDS = "<pad> <unk> the a old dog dogs man boats run runs fast slowly".split()
TAGS = ["DET", "ADJ", "NOUN", "VERB", "ADV"]
NUMBER = {word: k for k, word in enumerate(WORDS)}
PADDING = -1


def sentence() -> list[tuple[str, str]]:
    """`the old man the boats`: old and man are an adjective and a noun only sometimes."""
    if random.random() < 0.3:
        return [("the", "DET"), ("old", "NOUN"), ("man", "VERB"), ("the", "DET"), ("boats", "NOUN")]
    many = random.random() < 0.5
    words = [("the", "DET")] + [("old", "ADJ")] * (random.random() < 0.5)
    words += [(random.choice(["dogs", "boats"] if many else ["dog", "man"]), "NOUN")]
    words += [("run" if many else "runs", "VERB"), (random.choice(["fast", "slowly"]), "ADV")]
    return words


class Tagger(nn.Module):
    """Reads (words, lengths), so that padding is never looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), 12, padding_idx=0)
        self.recurrence = nn.LSTM(12, 16, bidirectional=True, batch_first=True)
        self.readout = nn.Linear(32, len(TAGS))

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(B, T) and (B,) -> (B, T, V)"""
        packed = pack_padded_sequence(
            self.embedding(words), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.recurrence(packed)[0], batch_first=True)
        logits: torch.Tensor = self.readout(states)
        return logits


def batch() -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
    """What the module is fed, and its targets; -1 where a sentence has ended."""
    sentences = [sentence() for _ in range(16)]
    longest = max(map(len, sentences))
    words, tags = torch.zeros(16, longest, dtype=torch.long), torch.full((16, longest), PADDING)
    for row, pairs in enumerate(sentences):
        words[row, : len(pairs)] = torch.tensor([NUMBER[word] for word, _ in pairs])
        tags[row, : len(pairs)] = torch.tensor([TAGS.index(tag) for _, tag in pairs])
    return (words, torch.tensor([len(pairs) for pairs in sentences])), tags


def main() -> None:
    """Print who already knows that `old` is a noun here."""
    random.seed(0)
    torch.manual_seed(0)
    batches = [batch() for _ in range(60)]
    model = Tagger()
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for inputs, tags in batches * 2:
        loss = nn.functional.cross_entropy(
            model(*inputs).flatten(0, 1), tags.flatten(), ignore_index=PADDING
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    lens = rnnlens.fit(
        model, batches, TAGS, inputs=WORDS,
        prepare=lambda numbers: (torch.tensor([numbers]), torch.tensor([len(numbers)])),
    )  # fmt: skip
    grid = lens("the old man the boats")
    for kind in ("x", "h1", "h1<", "y"):
        print(kind, grid[kind][1])
    if len(sys.argv) > 1:
        grid.save(sys.argv[1], kinds=["x", "h1", "h1<", "y"])


if __name__ == "__main__":
    main()
