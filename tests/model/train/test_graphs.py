"""CUDA graphs replay exactly what the plain step computes. Needs a GPU."""

import numpy as np
import pytest
import torch

from rnnlens.corpus.batches import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.training import Trainer, TrainingConfig

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def trained(cell: str, *, graphed: bool) -> dict[str, torch.Tensor]:
    random = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(random.integers(3, 9, 200))])
    split = Split(random.integers(0, 50, starts[-1]), starts)
    network = Network(NetworkConfig(cell, width=24), 50).initialise(1)
    trainer = Trainer(
        network, split, split, TrainingConfig(epochs=3, batch=16), torch.device("cuda")
    )
    if not graphed:
        trainer.compute = trainer._compute
    trainer.run(lambda: False, lambda: None)
    return {name: p.cpu() for name, p in trainer.average.named_parameters()}


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_replayed_steps_equal_plain_steps(cell):
    replayed, plain = trained(cell, graphed=True), trained(cell, graphed=False)
    for name in plain:
        torch.testing.assert_close(replayed[name], plain[name], rtol=0, atol=0)
