"""Tracing every kind against the fused forward pass of the same batch."""

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from rnnlens.model.cells import CELLS
from rnnlens.model.network import Network, NetworkConfig


def seconds(function: Callable[[], object], rounds: int) -> float:
    """The median of several timings, after one to warm up."""
    function()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


@torch.no_grad()
def main() -> None:
    """Print the ratio for each cell; neither side computes the logits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    labels, time_steps, batch = 14_611, 25, 64
    for cell in CELLS:
        network = Network(NetworkConfig(cell), labels).initialise(0).eval()
        inputs = torch.randint(labels, (time_steps, batch))
        fused = seconds(partial(network.hidden, inputs), args.rounds)
        states = seconds(partial(network.trace, inputs), args.rounds)
        print(
            f"all {len(network.kinds)} kinds of a {cell} 300 x 2: {states / fused:.2f} times "
            "the fused forward pass (at most 4 is wanted)"
        )


if __name__ == "__main__":
    main()
