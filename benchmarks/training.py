"""Training throughput against a bare torch loop over the same fused LSTM and softmax.

Both see the same batches of random words: 300 x 2, 14,611 labels, sentences of 5 to 45 words.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from rnnlens.corpus.split import Batch, Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.distributed import pick_device
from rnnlens.model.train.training import Trainer, TrainingConfig

WIDTH, LAYERS, LABELS, BATCH = 300, 2, 14_611, 64


def random_split(sentences: int) -> Split:
    """Random words in sentences of random length."""
    random = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(random.integers(5, 46, sentences))])
    return Split(random.integers(0, LABELS, starts[-1]), starts)


def our_step(split: Split, device: torch.device, *, eager: bool) -> Callable[[Batch], None]:
    """The trainer's own step: dropout of every sort, clipping, averaging."""
    network = Network(NetworkConfig("lstm", WIDTH, LAYERS), LABELS).initialise(0)
    trainer = Trainer(network, split, split, TrainingConfig(batch=BATCH), device)
    if eager:
        trainer.compute = trainer._compute
    return trainer._step


def bare_step(device: torch.device) -> Callable[[Batch], None]:
    """Embedding, nn.LSTM, tied softmax, AdamW; nothing else."""
    lstm = nn.LSTM(WIDTH, WIDTH, LAYERS).to(device)
    embedding = nn.Parameter(torch.empty(LABELS, WIDTH, device=device).uniform_(-0.1, 0.1))
    bias = nn.Parameter(torch.zeros(LABELS, device=device))
    optimiser = torch.optim.AdamW([embedding, bias, *lstm.parameters()], fused=True)

    def step(batch: Batch) -> None:
        h = lstm(F.embedding(batch.inputs.to(device), embedding))[0].flatten(0, 1)
        logits = F.linear(h, embedding, bias)
        loss = F.cross_entropy(logits, batch.targets.to(device).flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def throughput(
    step: Callable[[Batch], None], split: Split, steps: int, device: torch.device
) -> float:
    """Words a second over `steps` batches, after one round over the same shapes to warm up."""
    groups = split.shuffled(BATCH, (0,))[:steps]
    warm_up = groups if device.type == "cuda" else groups[:2]
    for group in warm_up:
        step(split.batch(group))
    _wait(device)
    began, pairs = time.perf_counter(), 0
    for group in groups:
        batch = split.batch(group)
        step(batch)
        pairs += batch.pairs
    _wait(device)
    return pairs / (time.perf_counter() - began)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Print words a second of both and their ratio, the median of several rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0, help="0: 300 on CUDA, 12 on the CPU")
    parser.add_argument("--eager", action="store_true", help="without CUDA graphs")
    args = parser.parse_args()
    device = pick_device(args.device)
    steps = args.steps or (300 if device.type == "cuda" else 12)
    split = random_split(steps * BATCH)
    ratios = []
    for _ in range(args.rounds):
        ours = throughput(our_step(split, device, eager=args.eager), split, steps, device)
        bare = throughput(bare_step(device), split, steps, device)
        ratios.append(ours / bare)
        print(f"{device}: ours {ours:,.0f}, bare loop {bare:,.0f} words/s, ratio {ours / bare:.2f}")
    print(f"training on {device}: median ratio {np.median(ratios):.2f} (at least 0.90 is wanted)")


if __name__ == "__main__":
    main()
