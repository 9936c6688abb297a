"""A small network and sentences for it to read."""

import numpy as np
import pytest
import torch

from rnnlens.corpus.split import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.training import Trainer, TrainingConfig
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Dataset

LABELS = 23


def make_split(sentences: int, seed: int) -> Split:
    """Words that follow one another in a noisy circle, so that there is something to predict."""
    random = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(random.integers(3, 12, sentences))])
    steps = random.choice([1, 2, 7], size=starts[-1], p=[0.6, 0.3, 0.1])
    return Split(np.cumsum(steps) % LABELS, starts)


@pytest.fixture(scope="session")
def train() -> Split:
    return make_split(300, 0)


@pytest.fixture(scope="session")
def valid() -> Split:
    return make_split(80, 1)


@pytest.fixture(scope="session")
def network(train, valid) -> Network:
    network = Network(NetworkConfig("lstm", width=12), LABELS).initialise(0)
    config = TrainingConfig(epochs=8, batch=16, dropout_words=0)
    trainer = Trainer(network, train, valid, config, torch.device("cpu"))
    trainer.run(lambda: False, lambda: None)
    return trainer.average.eval().requires_grad_(False)


def dataset_of(network: Network, **splits: Split) -> Dataset:
    return Dataset(
        network, {name: Sentences(split) for name, split in splits.items()}, network.label_count
    )
