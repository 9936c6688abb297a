"""A user's own code: what `rnnlens fit --model usermodels:NAME` may meet."""

import json
import os
from pathlib import Path

import torch
from torch import nn

import rnnlens

NAMES = json.loads(Path(__file__).with_name("names.json").read_text())
WORDS, TAGS = NAMES["words"], NAMES["tags"]


class Model(nn.Module):
    def __init__(self, labels=0, both=False, first=True):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(len(WORDS), 6)
        self.recurrence = nn.LSTM(6, 8, batch_first=first, bidirectional=both)
        self.readout = nn.Linear(16 if both else 8, labels or len(WORDS))

    def forward(self, words):
        return self.readout(self.recurrence(self.embedding(words))[0])


def language():
    return Model(), WORDS


def turned():
    return Model(first=False), WORDS


def tagger():
    return rnnlens.UserModel(Model(len(TAGS), both=True), TAGS, WORDS)


def prepared():
    return rnnlens.UserModel(Model(), WORDS, prepare=lambda ids: torch.tensor([ids]))


def batched():
    number = {word: k for k, word in enumerate(WORDS)}

    def batches(some):
        for sentence in some:
            ids = torch.tensor([[number[word] for word in sentence.words]])
            yield ids[:, :-1], ids[:, 1:]

    return rnnlens.UserModel(Model(), WORDS, batches=batches)


def other():
    torch.manual_seed(1)
    model = Model()
    nn.init.normal_(model.readout.weight)
    return model, WORDS


def unnamed():
    return Model()


def nothing():
    return None


def broken():
    raise ValueError("the weights\nare not there")


class Stuck(Model):
    def forward(self, words):
        raise RuntimeError("shapes do not fit")


def stuck():
    return Stuck(), WORDS


def nan():
    model = Model()
    nn.init.constant_(next(model.recurrence.parameters()), torch.nan)
    return model, WORDS


class TwoWays(Model):
    def __init__(self):
        super().__init__()
        self.back = nn.LSTM(6, 8, batch_first=True)

    def forward(self, words):
        read = self.embedding(words)
        return self.readout(self.recurrence(read)[0] + self.back(read.flip(1))[0].flip(1))


def two_ways():
    return TwoWays(), WORDS


class Masked(Model):
    def forward(self, words):
        made = super().forward(words)
        return made.index_fill(-1, torch.tensor([WORDS.index(".")]), -torch.inf)


def masked():
    return Masked(), WORDS


class Carried(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Model()

    def forward(self, words, hidden):
        return self.inner(words), hidden


def carried():
    return Carried(), WORDS


def marked():
    return rnnlens.UserModel(Model(len(TAGS) + 1, both=True), ["<pad>", *TAGS], WORDS)


def no_module():
    return rnnlens.UserModel("a model", WORDS)  # type: ignore[arg-type]


def odd_kinds():
    return rnnlens.UserModel(Model(), WORDS, kinds=[3])  # type: ignore[list-item]


def odd_order():
    return rnnlens.UserModel(Model(), WORDS, batch_first="yes")  # type: ignore[arg-type]


def gone():
    raise SystemExit(3)


def of_each_process():
    model = Model()
    nn.init.constant_(model.readout.bias, float(os.environ["RANK"]))
    return model, WORDS


def few():
    return Model(), WORDS[:3]


def bad_words():
    def words(text):
        yield from text.split()
        raise KeyError(text)

    return rnnlens.UserModel(Model(), WORDS, words=words)
