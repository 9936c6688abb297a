"""Perplexity against a plain float64 loop and against numbers worked by hand."""

import math

import pytest
import torch

from rnnlens.corpus.split import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train import perplexity as module
from rnnlens.model.train.perplexity import model_perplexity, perplexity

CPU = torch.device("cpu")


def naive(network: Network, split: Split) -> float:
    """One sentence at a time, one word at a time."""
    nll, tokens = 0.0, 0
    for start, end in zip(split.starts[:-1], split.starts[1:], strict=True):
        words = split.ids[start:end].tolist()
        logits = network.predict(network.trace(torch.tensor(words[:-1])[:, None]).prediction)[
            :, 0
        ].tolist()
        for row, target in zip(logits, words[1:], strict=True):
            nll += math.log(sum(math.exp(value) for value in row)) - row[target]
            tokens += 1
    return math.exp(nll / tokens)


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize(("sentences", "chunk"), [(256, 2048), (7, 11)])
def test_model_perplexity_equals_a_plain_loop(cell, sentences, chunk, random_split, monkeypatch):
    monkeypatch.setattr(module, "_SENTENCES", sentences)
    monkeypatch.setattr(module, "_CHUNK", chunk)
    network = Network(NetworkConfig(cell, width=6), 12).initialise(0).double()
    split = random_split(sentences=30)
    expected = naive(network.requires_grad_(False), split)
    assert model_perplexity(network, split, CPU) == pytest.approx(expected, rel=1e-10)


def test_model_perplexity_in_single_precision_is_close_to_that_in_double(corpus):
    network = Network(NetworkConfig(width=16), len(corpus.vocabulary)).initialise(0)
    single = model_perplexity(network, corpus.splits["valid"], CPU)
    double = model_perplexity(network.double(), corpus.splits["valid"], CPU)
    assert single == pytest.approx(double, rel=1e-5)


def test_a_uniform_model_is_as_perplexed_as_there_are_labels(random_split):
    network = Network(NetworkConfig(width=4, tied=False), 12).initialise(0)
    torch.nn.init.zeros_(network.readout)
    assert model_perplexity(network, random_split(), CPU) == pytest.approx(12)


@pytest.mark.parametrize(
    ("nll", "tokens", "expected"),
    [(0.0, 5, 1.0), (math.log(8) * 3, 3, 8.0), (1e9, 1, math.inf), (math.nan, 4, math.inf)],
)
def test_perplexity_is_the_exponential_of_the_mean(nll, tokens, expected):
    assert perplexity(nll, tokens) == pytest.approx(expected)
