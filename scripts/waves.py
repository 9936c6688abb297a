"""Rebuild the bundled run `waves`: generate series, train a forecaster, fit its probes, measure.

    python scripts/waves.py

About a minute without a GPU. The same seeds give the same run on the same machine and torch.
"""

import argparse
import shutil
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F

import rnnlens
from rnnlens.run.folder import Run
from rnnlens.waves import Forecaster, batches

SHIPPED = Path(__file__).parents[1] / "src/rnnlens/bundled/waves"
EPOCHS, RATE = 30, 1e-2
TRAIN, VALID, TEST = (1600, 1), (320, 2), (640, 3)  # how many series, and their seed


def trained() -> Forecaster:
    """The forecaster, after some epochs of Adam with a falling learning rate."""
    torch.manual_seed(0)
    module, data = Forecaster(), batches(*TRAIN)
    steps = EPOCHS * len(data)
    optimiser = torch.optim.Adam(module.parameters(), RATE)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, steps)
    for epoch in range(EPOCHS):
        for number in torch.randperm(len(data)).tolist():
            numbers, following = data[number]
            loss = F.mse_loss(module(numbers), following)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            plan.step()
        print(f"epoch {epoch + 1}: mean squared error {loss.item():.4f}", flush=True)
    return module.eval()


def main() -> None:
    """Build, and say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path, default=SHIPPED, help="where to put what is shipped")
    args = parser.parse_args()
    torch.set_num_threads(1)
    lens = rnnlens.fit(
        trained(), batches(*TRAIN), valid=batches(*VALID), semantic="output,output+4,output-4",
        name="waves",
    )  # fmt: skip
    for score in lens.evaluate(batches(*TEST)):
        error = f", error {score.error.probe:.3f}" if score.error else ""
        print(f"{score.semantic:<10}{score.kind:<4} perplexity {score.perplexity:.2f}{error}")
    card = (args.to / "README.md").read_text() if (args.to / "README.md").exists() else ""
    shutil.rmtree(args.to, ignore_errors=True)
    run = Run(lens.save(args.to, model="rnnlens.waves:forecaster"))
    first, *others = run.examples() or []
    # The states of one tell whether the code reads as it did, which is always there for the others.
    run.write_examples([first, *(replace(one, states={}) for one in others)])
    if card:
        (args.to / "README.md").write_text(card)
    size = sum(path.stat().st_size for path in args.to.iterdir() if path.is_file())
    print(f"{args.to}: {size:,} bytes")


if __name__ == "__main__":
    main()
