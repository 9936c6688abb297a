"""Networks that tag and classify are trained as language models are."""

from pathlib import Path

import numpy as np
import pytest
import torch

from rnnlens.corpus.split import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.distributed import Processes
from rnnlens.model.train.dropout import Dropout, DropoutConfig, Unknown
from rnnlens.model.train.training import (
    Trainer,
    TrainingConfig,
    load_checkpoint,
    save_checkpoint,
)

WORDS, CPU = 10, torch.device("cpu")


def split(sentences: int, seed: int) -> Split:
    """The label of a word is whether the word after it is large: only reading back can tell."""
    random = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(random.integers(1, 8, sentences))])
    ids = random.integers(0, WORDS, starts[-1])
    labels = (np.append(ids[1:], 0) >= WORDS // 2).astype(np.int64)
    labels[starts[1:] - 1] = 0
    return Split(ids, starts, labels)


def trainer(bidirectional: bool = True, **settings: float) -> Trainer:
    shape = NetworkConfig("lstm", 8, 1, tied=False, bidirectional=bidirectional)
    network = Network(shape, 2, WORDS).initialise(0)
    config = TrainingConfig(**{"epochs": 4, "batch": 16, "unknown": 0.2, **settings})  # type: ignore[arg-type]
    train = split(160, 0)
    unknown = Unknown(0, torch.bincount(torch.from_numpy(train.ids)))
    return Trainer(network, train, split(40, 1), config, CPU, unknown=unknown)


@pytest.mark.slow
def test_only_a_network_that_reads_back_learns_what_stands_behind():
    perplexities = []
    for both in (True, False):
        made = trainer(
            both, unknown=0, epochs=8, learning_rate=3e-2, dropout_input=0, dropout_output=0
        )
        made.run(lambda: False, lambda: None)
        assert made.progress.best is not None
        perplexities.append(made.progress.best)
    assert perplexities[0] < 1.15
    assert perplexities[1] > 1.6


def test_continuing_is_bit_identical(tmp_path: Path):
    whole, begun, continued = trainer(), trainer(), trainer()
    whole.run(lambda: False, lambda: None)
    steps = iter(range(100))
    begun.run(lambda: next(steps) == 13, lambda: None)
    save_checkpoint(begun, tmp_path / "c", "this")
    load_checkpoint(continued, tmp_path / "c", "this")
    continued.run(lambda: False, lambda: None)
    for name, p in whole.best.items():
        assert torch.equal(p, continued.best[name])


def test_processes_share_a_batch_without_changing_what_is_dropped():
    batch = split(40, 2).batch(np.arange(8))
    made = Dropout(DropoutConfig(unknown=5.0), CPU, Unknown(0, torch.ones(WORDS)))
    made.begin(3, slice(None), 8)
    whole = made.unknown(batch.inputs)
    made.begin(3, slice(4, 8), 8)
    assert torch.equal(made.unknown(batch.inputs[:, 4:]), whole[:, 4:])
    assert Processes().first


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_rare_words_are_read_as_unknown_more_often(share):
    counts = torch.tensor([1, 1, 9])
    made = Dropout(DropoutConfig(unknown=share), CPU, Unknown(0, counts))
    made.begin(0, slice(None), 4000)
    read = made.unknown(torch.tensor([[1], [2]]).expand(2, 4000))
    lost = (read == 0).float().mean(1).tolist()
    assert lost == pytest.approx([0.5, 0.1] if share else [0, 0], abs=0.03)
