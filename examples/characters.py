"""A character-level LSTM in a loop of its own, with nn.LSTMCell: brackets that must be closed."""

import random

import torch
from torch import nn

import rnnlens

CHARACTERS = list("ab()[];")
NUMBER = {character: k for k, character in enumerate(CHARACTERS)}
LENGTH = 24


def line() -> str:
    """Letters and brackets, closed in the order they were opened in reverse."""
    text = ""
    open_: list[str] = []
    while len(text) < LENGTH:
        left = LENGTH - len(text)
        if open_ and (left <= len(open_) or random.random() < 0.4):
            text += open_.pop()
        elif len(open_) < min(3, left - 1) and random.random() < 0.4:
            bracket = random.choice(["()", "[]"])
            text += bracket[0]
            open_.append(bracket[1])
        else:
            text += random.choice("ab") if left > len(open_) else open_.pop()
    return text + ";"


class Characters(nn.Module):
    """A cell called step by step."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(CHARACTERS), 8)
        self.cell = nn.LSTMCell(8, width)
        self.readout = nn.Linear(width, len(CHARACTERS))

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        """(T, B) -> (T, B, V)"""
        state, made = None, []
        for x in self.embedding(characters):
            state = self.cell(x, state)
            made.append(self.readout(state[0]))
        return torch.stack(made)


def main() -> None:
    """Print what memory and output expect while a bracket is open."""
    random.seed(0)
    torch.manual_seed(0)
    data = [
        torch.tensor([[NUMBER[c] for c in line()] for _ in range(32)]).T.contiguous()
        for _ in range(30)
    ]
    batches = [(text[:-1], text[1:]) for text in data]
    model = Characters()
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    for characters, following in batches * 6:
        logits = model(characters)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    lens = rnnlens.fit(model, batches, CHARACTERS, words=list, semantic="output,input")
    grid = lens("a[b(a)b")
    for kind in ("c1@-1", "l1", "c1", "h1", "y"):
        print(kind, grid[kind][-1].top(3))


if __name__ == "__main__":
    main()
