"""A training step of sLSTM, whose output feeds back, by its own recurrence against autograd's of
one step after the other, in the same run: its layers alone, forward and back, and a whole step of
the trainer. On CUDA both are CUDA graphs.

    python benchmarks/feeding_back.py --device cuda --words 17 --texts 64

What the two read, and their gradients, are compared with double precision beforehand.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from rnnlens.corpus.split import Split
from rnnlens.model.cell import States
from rnnlens.model.cells.slstm import SLSTM
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.distributed import pick_device
from rnnlens.model.train.training import Graphs, Trainer, TrainingConfig

LABELS, REPLAYS = 14_611, 20


def stepped(cell: SLSTM, sums: Tensor, start: States, weights: Tensor) -> Tensor:
    """What is read, one step after the other as autograd sees it."""
    now, reads = start, list[Tensor]()
    for a in sums:
        now = cell.step(a, now, {"w_h": weights})
        reads.append(now["r"])
    return torch.stack(reads)


@contextmanager
def way(plain: bool) -> Iterator[None]:
    """Within it, networks have the recurrence of the package, or the plain one."""
    with patch.object(SLSTM, "reads", stepped if plain else SLSTM.reads):
        yield


def gradients(network: Network, words: Tensor) -> list[Tensor]:
    """The last layer's outputs, and the gradients of what the layers learn."""
    learnt = [p for layer in network.recurrent for p in layer.parameters()]
    h = network.hidden(words)
    slopes = torch.cos(torch.arange(h.numel(), device=h.device)).view_as(h)
    return [h.detach(), *torch.autograd.grad(h, learnt, slopes.to(h))]


def compare(network: Network, words: Tensor) -> None:
    """Print how far either way is from double precision, of the largest number of each tensor."""
    torch.set_float32_matmul_precision("highest")
    found = {}
    for name, plain in (("own", False), ("plain", True)):
        with way(plain):
            found[name] = gradients(network, words)
    with way(plain=True):
        exact = gradients(network.double(), words)
    network.float()
    for name, tensors in found.items():
        apart = [
            float((one - other).abs().max() / other.abs().max())
            for one, other in zip(tensors, exact, strict=True)
        ]
        print(f"{name} against double precision: outputs {apart[0]:.1e}, gradients "
              f"{max(apart[1:]):.1e} at most")  # fmt: skip


def layers_step(network: Network, words: Tensor) -> Callable[[], None]:
    """Layers alone, forward and back."""

    def compute(words: Tensor) -> None:
        gradients(network, words)

    if words.is_cuda:
        graphs = Graphs(compute, torch.Generator(words.device))
        return lambda: graphs(words)
    return lambda: compute(words)


def whole_step(network: Network, words: Tensor) -> Callable[[], None]:
    """A step of the trainer, dropout, readout, optimiser and all."""
    texts = words.shape[1]
    ids = np.random.default_rng(0).integers(0, LABELS, texts * (len(words) + 1))
    split = Split(ids, np.arange(0, len(ids) + 1, len(words) + 1))
    trainer = Trainer(network, split, split, TrainingConfig(batch=texts), words.device)
    batch = split.batch(split.shuffled(texts, (0,))[0])
    return lambda: trainer._step(batch)


def milliseconds(step: Callable[[], None], device: torch.device) -> float:
    """Of one of several steps in a row, by the clock; of the processor where there is no GPU."""
    if device.type == "cpu":
        began = time.process_time()
        step()
        return 1e3 * (time.process_time() - began)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(REPLAYS):
        step()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - began) / REPLAYS


def measure(name: str, steps: dict[bool, Callable[[], None]], device: torch.device, rounds: int,
            ) -> None:  # fmt: skip
    """Print the medians of either way, which take turns, and of their ratios."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds + 1):  # in the first, steps warm up and are recorded
        for plain, step in steps.items():
            with way(plain):
                for _ in range(4 if device.type == "cuda" and not times[plain] else 0):
                    step()
                times[plain].append(milliseconds(step, device))
    own, slow = (times[plain][1:] for plain in (False, True))
    ratio = statistics.median(b / a for a, b in zip(own, slow, strict=True))
    print(f"{name}: own {statistics.median(own):.2f} ms, plain {statistics.median(slow):.2f} ms, "
          f"ratio {ratio:.2f}")  # fmt: skip


def main() -> None:
    """Compare and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    for name, value in (("width", 300), ("heads", 6), ("layers", 2), ("words", 17), ("texts", 64),
                        ("rounds", 5)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    device = pick_device(args.device)
    torch.set_num_threads(1)  # which is what processor time can be told of
    trained = torch.get_float32_matmul_precision()  # of products, in training
    config = NetworkConfig("slstm", args.width, args.layers, heads=args.heads)
    words = torch.randint(LABELS, (args.words, args.texts), device=device)

    def network() -> Network:
        return Network(config, LABELS).initialise(0).to(device)

    compare(network(), words)
    torch.set_float32_matmul_precision(trained)
    for name, made in (("layers", layers_step), ("whole step", whole_step)):
        steps = {plain: made(network(), words) for plain in (False, True)}
        measure(f"{name}, {args.texts} texts of {args.words} words, {device}", steps, device,
                args.rounds)  # fmt: skip


if __name__ == "__main__":
    main()
