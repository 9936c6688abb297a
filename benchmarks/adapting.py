"""Reading a user's module against our own trace of the same network and batch."""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from rnnlens.adapter import Adapter
from rnnlens.model.cells import CELLS
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.traceable import Traceable

PARTS: dict[str, Callable[..., nn.RNNBase]] = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


class Model(nn.Module):
    """A language model as many are written, with the weights of one of ours."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        width, layers = network.config.width, network.config.layers
        self.embedding = nn.Embedding(network.label_count, width)
        self.recurrent = PARTS[network.config.cell](width, width, layers)
        self.readout = nn.Linear(width, network.label_count)
        classifier = network.classifier()
        assert classifier is not None
        self.readout.weight = nn.Parameter(classifier.weight)
        self.readout.bias = network.bias
        self.embedding.weight = network.embedding
        for cell, weights in zip(network.recurrent, self.recurrent.all_weights, strict=True):
            for mine, theirs in zip(cell.weights().values(), weights, strict=True):
                theirs.copy_(mine)

    def forward(self, words: Tensor) -> Tensor:
        """(T, B) -> (T, B, V)"""
        hidden: Tensor = self.recurrent(self.embedding(words))[0]
        logits: Tensor = self.readout(hidden)
        return logits


def seconds(functions: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The quickest of several timings of each, taken in turn: others may load the machine."""
    times: list[list[float]] = [[] for _ in functions]
    for at in range(-1, rounds):
        for function, mine in zip(functions, times, strict=True):
            began = time.perf_counter()
            function()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if at >= 0:
                mine.append(time.perf_counter() - began)
    return [min(mine) for mine in times]


def whole(model: Traceable, inputs: Tensor) -> object:
    """Every kind and the logits, which a network of ours computes only when asked."""
    return model.trace(inputs).logits


@torch.no_grad()
def main() -> None:
    """Print the ratio for each cell: few labels, where states are the work, and many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for cell in CELLS:
        for labels in (50, 14_611):
            network = Network(NetworkConfig(cell, tied=False), labels).initialise(0).eval()
            adapter = Adapter(Model(network).to(device))
            network.to(device)
            inputs = torch.randint(labels, (25, 64), device=device)
            traced = adapter.trace(inputs)
            gap = max(float((traced.states[kind] - values).abs().max())
                      for kind, values in network.trace(inputs).states.items())  # fmt: skip
            both = [partial(whole, model, inputs) for model in (adapter, network)]
            ours, own = seconds(both, args.rounds)
            print(
                f"a module's {cell} 300 x 2, {labels} labels, {device}: {ours / own:.2f} times our "
                f"own trace, {own * 1e3:.1f} ms (at most 1.3 is wanted); states differ by {gap:.0e}"
            )


if __name__ == "__main__":
    main()
