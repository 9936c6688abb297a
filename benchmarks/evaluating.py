"""What a model is worth, measured without its states, for linear memories in pieces that stay in a
CPU's cache, over the same by a trace: every state, on a CPU one timestep after the other. In turns,
in one run.

    python benchmarks/evaluating.py --cells lstm,gru,mamba --threads 1

*Reading* is the recurrence alone; *all* has the readout and the softmax of every label, too, as
`rnnlens eval` and the end of `rnnlens train` have it.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import torch

from rnnlens.corpus.split import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.network_config import CELL_NAMES
from rnnlens.model.traceable import Traceable
from rnnlens.model.train.distributed import pick_device
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import model_scores
from rnnlens.work.recipes import CELL_RECIPES

LABELS = 14_635  # of the news corpus


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """Of one call, by the clock."""
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def measure(cell: str, args: argparse.Namespace) -> None:
    """Print the medians of a cell, and their ratios."""
    layers = CELL_RECIPES.get(cell, {}).get("layers", 2)
    config = NetworkConfig(cell, width=args.width, layers=layers)
    network = Network(config, LABELS).initialise(0).eval().requires_grad_(False).to(args.device)
    texts = np.random.default_rng(0).integers(0, LABELS, (args.texts, args.words))
    words = torch.from_numpy(texts.T.copy()).to(args.device)
    split = Sentences(Split.joined(texts.tolist()))
    dataset = Dataset(network, {"train": split, "test": split}, LABELS)
    ways = {
        "reading": lambda: network.prediction_alone(words),
        "all": lambda: model_scores(dataset),
    }
    told = []
    for name, work in ways.items():
        times: tuple[list[float], list[float]] = [], []
        for turn in range(args.turns + 1):  # the first is not counted
            with torch.no_grad():
                one = seconds(work, args.device)
                with patch.object(Network, "prediction_alone", Traceable.prediction_alone):
                    other = seconds(work, args.device)
            if turn:
                times[0].append(one)
                times[1].append(other)
        now, before = map(statistics.median, times)
        told.append(f"{name} {1000 * now:7.1f} ms of {1000 * before:7.1f}, {now / before:.2f}")
    print(f"{cell:<9} {layers} layers  {'   '.join(told)}", flush=True)


def main() -> None:
    """Measure the cells that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=lambda names: names.split(","), default=list(CELL_NAMES))
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--words", type=int, default=20, help="of each text")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", type=pick_device, default=pick_device("auto"))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    for cell in args.cells:
        measure(cell, args)


if __name__ == "__main__":
    main()
