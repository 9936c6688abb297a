"""Steps are those of torch's own AdamW, bit by bit, and nothing of torch's compiler is imported."""

import subprocess
import sys
from typing import Any

import pytest
import torch

from rnnlens.model.train.adamw import AdamW, Group

# A training of three sentences, and whether torch's compiler came with it.
TRAIN = """
import sys
import torch
from rnnlens.corpus.split import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.training import Trainer, TrainingConfig

split = Split.joined([[1, 2, 3], [3, 1], [2, 2, 1, 3]])
network = Network(NetworkConfig("lstm", 4), 4).initialise(0)
trainer = Trainer(network, split, split, TrainingConfig(epochs=1), torch.device("cpu"))
assert trainer.run(lambda: False, lambda: None)
print("torch._dynamo" in sys.modules)
"""


def test_steps_are_those_of_torch_bit_by_bit():
    def made() -> list[torch.Tensor]:
        draw = torch.Generator().manual_seed(0)
        shapes = [(7, 5), (11,), (3, 2), (4,)]
        return [torch.randn(s, generator=draw).requires_grad_() for s in shapes]

    ours, theirs, rate = made(), made(), torch.tensor(0.0)
    stepping = AdamW([Group(ours[:2], 0.1), Group(ours[2:], 0.0)], rate)
    groups: list[dict[str, Any]] = [
        {"params": theirs[:2]},
        {"params": theirs[2:], "weight_decay": 0.0},
    ]
    reference = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.99), weight_decay=0.1, fused=True)
    draw = torch.Generator().manual_seed(1)
    for step in range(20):
        rate.fill_(0.01 * (step + 1))
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(a.shape, generator=draw)
            b.grad = a.grad.clone()
        ours[-1].grad = theirs[-1].grad = None  # a step leaves it as it is
        stepping.step()
        reference.step()
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert torch.equal(ours[-1], made()[-1])
    assert not torch.equal(ours[0], made()[0])
    for a, b in zip(ours[:-1], theirs[:-1], strict=True):
        known = reference.state[b]
        assert stepping.state[a].keys() == known.keys()
        assert all(torch.equal(value, known[name]) for name, value in stepping.state[a].items())


@pytest.mark.slow
def test_training_imports_nothing_of_torchs_compiler():
    done = subprocess.run([sys.executable, "-c", TRAIN], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
