"""Give the probes of a run that an older version fitted their limits: which states are like those
of the fit, so that the page can say where one is not; and of numbers, what intervals are widened
by. Nothing else changes.

    python scripts/limits.py RUN [--corpus CORPUS]
    python scripts/limits.py src/rnnlens/bundled/waves

It takes a pass over the validation data. The bundled `waves` makes its own; another run that was
fitted in Python has to be fitted anew.
"""

import argparse
from pathlib import Path

import torch

from rnnlens.adapter.batches import check_batches
from rnnlens.probe.coverage import widths_of
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.inspect import inspect_module
from rnnlens.probe.limits import measured
from rnnlens.run.corpus_data import Moved, run_dataset
from rnnlens.run.folder import Run
from rnnlens.waves import batches


def dataset_of(run: Run, corpus: str | None) -> Dataset:
    """The data of a run; `waves` was fitted to series that it generates."""
    if run.path.name != "waves":
        return run_dataset(run, "auto", Moved(corpus))
    parts = {"train": (1600, 1), "valid": (320, 2), "test": (640, 3)}
    splits = {name: check_batches(batches(*how), name) for name, how in parts.items()}
    return inspect_module(run.module().user, splits)[1]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--corpus", help="where it is now")
    args = parser.parse_args()
    run = Run(args.run)
    dataset = dataset_of(run, args.corpus)
    limits = measured(run.probes().to(dataset.device), dataset)
    run.write_limits(limits, widths_of(run.probes(), dataset))
    for semantic, kinds in limits.items():
        for kind, (low, high) in kinds.items():
            print(f"{semantic:<10}{kind:<5}{low:>10.4f}{high:>10.4f}")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
