"""A memory whose truth is known: pairs of a key and a value are read, and wherever a key comes
again, its value of last time has to be told: 3 after `b 3 d 7 b`, and 5 after `b 3 b 5 b`.

The layer is a matrix that is asked by keys, with the delta rule, which erases what it says of a key
before it writes, or without. Which word must have been stored is known, so that what rnnlens says
of the memory can be counted. `python examples/recall.py` takes a minute on an idle CPU;
`python examples/recall.py 1500 all` also has networks that do not erase.
"""

import random
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

import rnnlens

KEYS, VALUES = list("abcdefgh"), list("0123456789")
WORDS = [*KEYS, *VALUES]
PAIRS = 7  # of a text, before its last key


class Memory(nn.Module):
    """A matrix of keys by values that decays, is written to and asked at every word."""

    def __init__(self, width: int, size: int, delta: bool) -> None:
        super().__init__()
        self.delta = delta
        self.question, self.key = (nn.Linear(width, size, bias=False) for _ in range(2))
        self.value = nn.Linear(width, size, bias=False)
        self.strength, self.decay = nn.Linear(width, 1), nn.Linear(width, 1)

    def parts(self, x: Tensor) -> dict[str, Tensor]:
        """What the memory is given, (B, T, ...)."""
        decay, strength = (self.decay(x) + 4).sigmoid(), self.strength(x).sigmoid()
        key, value = normalize(self.key(x), dim=-1), self.value(x)
        if not self.delta:  # how much is written is in the value then
            value = strength * value
        return {"question": normalize(self.question(x), dim=-1), "key": key, "value": value,
                "decay": decay, "strength": strength}  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, width) in, what is read out."""
        given, memory = self.parts(x), x.new_zeros(len(x), *[self.key.out_features] * 2)
        reads = []
        for t in range(x.shape[1]):
            q, k, v, a, b = (part[:, t] for part in given.values())
            memory = a[..., None] * memory
            if self.delta:
                v = b * (v - (k[:, None] @ memory)[:, 0])
            memory = memory + k[..., None] * v[:, None]
            reads.append((q[:, None] @ memory)[:, 0])
        return torch.stack(reads, 1)


class Recall(nn.Module):
    """A layer with a memory; every word is seen beside the one before."""

    def __init__(self, delta: bool, width: int = 48, size: int = 16) -> None:
        super().__init__()
        self.embed, self.pair = nn.Embedding(len(WORDS), width), nn.Linear(2 * width, width)
        self.memory = Memory(width, size, delta)
        self.head = nn.Linear(size, len(WORDS))

    def forward(self, ids: Tensor) -> Tensor:
        """Numbers of words (B, T) in, logits out."""
        x = self.embed(ids)
        before = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
        logits: Tensor = self.head(self.memory(torch.tanh(self.pair(torch.cat([x, before], -1)))))
        return logits


def recurrence(delta: bool) -> rnnlens.Recurrence:
    """Where decay, write and read are in the layer."""
    names = ("question", "key", "value", "decay", *(("strength",) if delta else ()))
    where: dict[str, Any] = {
        name: lambda layer, x, name=name: layer.parts(x)[name] for name in names
    }
    return rnnlens.Recurrence(Memory, **where)


def texts(count: int, seed: int, again: bool) -> Iterator[list[str]]:
    """Pairs, then a key that came before; with `again`, keys may be given another value."""
    draw = random.Random(seed)
    for _ in range(count):
        keys = [draw.choice(KEYS) for _ in range(PAIRS)] if again else draw.sample(KEYS, PAIRS)
        pairs = [word for key in keys for word in (key, draw.choice(VALUES))]
        yield [*pairs, draw.choice(keys)]


def stored_at(words: list[str], row: int) -> int | None:
    """The row of the value that the key at a row must be followed by; None where there is none."""
    if words[row] not in KEYS:
        return None
    before = [t for t in range(row) if words[t] == words[row]]
    return before[-1] + 1 if before else None


def batch(count: int, seed: int, again: bool) -> tuple[Tensor, Tensor]:
    """Texts as numbers, and what has to be told: a value at every key that came before."""
    every = list(texts(count, seed, again))
    ids = torch.tensor([[WORDS.index(word) for word in words] for words in every])
    targets = torch.full_like(ids, -1)
    for row, words in enumerate(every):
        for t in range(len(words)):
            if (place := stored_at(words, t)) is not None:
                targets[row, t] = ids[row, place]
    return ids, targets


def trained(delta: bool, steps: int, again: bool = True) -> Recall:
    """A network that tells values."""
    torch.manual_seed(0)
    model = Recall(delta)
    optimiser = torch.optim.AdamW(model.parameters(), 5e-3)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = 5e-3 * (1 - step / steps)
        ids, targets = batch(64, step, again)
        loss = cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=-1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


def lens_of(model: Recall, again: bool = True, batches: int = 20) -> rnnlens.Lens:
    """Probes of everything in the network."""
    data = [batch(64, 10_000 + seed, again) for seed in range(batches)]
    own = [recurrence(model.memory.delta)]
    return rnnlens.fit(model, data, WORDS, inputs=WORDS, recurrences=own, epochs=8)


def counted(lens: rnnlens.Lens, count: int, again: bool = True) -> dict[str, float]:
    """The share of texts in which each reading of the memory names what must have been stored.

    At the last key: `read`, the value that the read's probe says; `stored`, whether the word that
    has put most of it there is the value's own. And of the memory before the last key, `asked`, the
    share of all keys so far to which it answers with their last value.
    """
    found: dict[str, list[bool]] = {"read": [], "stored": [], "asked": []}
    for words in texts(count, 99_999, again):
        last = len(words) - 1
        place = stored_at(words, last)
        assert place is not None
        grid, value = lens(" ".join(words)), words[place]
        found["read"].append(grid["r1"][last].top(1)[0][0] == value)
        stored = grid["r1"][last].written_by(value).stored
        found["stored"].append(stored is not None and int(stored.argmax()) == place)
        for key in {*words[:last:2]}:
            truth = words[max(t for t in range(last) if words[t] == key) + 1]
            answer = grid["S1"][last - 1].asked(key)
            found["asked"].append(answer.top(1)[0][0] == truth)
    return {name: sum(some) / len(some) for name, some in found.items()}


if __name__ == "__main__":
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    every = ((True, True), (False, True), (False, False))
    for delta, again in every if "all" in sys.argv else every[:1]:
        model = trained(delta, steps, again)
        ids, targets = batch(512, 77_777, again)
        right = (model(ids).argmax(-1) == targets)[targets >= 0].float().mean()
        rule = "delta rule" if delta else "no erasing"
        told = counted(lens_of(model, again), 100, again)
        shares = ", ".join(f"{name} {share:.0%}" for name, share in told.items())
        print(f"{rule}, keys {'come again' if again else 'come once'}: the network is right in "
              f"{right:.1%}; {shares}")  # fmt: skip
