"""A long sequence that is no text, drawn: 1,000 frames of sound through two layers of 300 cells.

python benchmarks/frames.py    its time beside that of the module's own forward, five times in turn
"""

import statistics
import time
import warnings

import torch
from torch import Tensor, nn

import rnnlens

FRAMES, WIDTH, LABELS, TIMES = 1000, 40, 12, 5


class Listener(nn.Module):
    """As people write one."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrence = nn.LSTM(WIDTH, 300, num_layers=2, batch_first=True)
        self.readout = nn.Linear(300, LABELS)

    def forward(self, frames: Tensor) -> Tensor:
        """Logits of every frame."""
        said: Tensor = self.readout(self.recurrence(frames)[0])
        return said


def main() -> None:
    """Measure both in turns, on what neither has read before."""
    torch.manual_seed(0)
    module = Listener()
    data = [(torch.randn(8, 60, WIDTH), torch.randint(0, LABELS, (8, 60))) for _ in range(10)]
    with warnings.catch_warnings(action="ignore"):  # it is untrained
        lens = rnnlens.fit(module, data, [f"p{k}" for k in range(LABELS)], epochs=1)
    wall, processor, plain = list[float](), list[float](), list[float]()
    for _ in range(TIMES):
        frames, targets = torch.randn(1, FRAMES, WIDTH), torch.randint(0, LABELS, (1, FRAMES))
        began, used = time.perf_counter(), time.process_time()
        lens.grid((frames, targets))
        wall.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
        used = time.process_time()
        with torch.no_grad():
            module(frames)
        plain.append(time.process_time() - used)
    drawn, own = statistics.median(processor), statistics.median(plain)
    print(
        f"{FRAMES:,} frames: {statistics.median(wall):.2f} s, of the processor {drawn:.2f} s, "
        f"{drawn / own:.0f} times the module's forward ({own:.3f} s)"
    )


if __name__ == "__main__":
    main()
