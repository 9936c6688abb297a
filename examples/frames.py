"""A network that reads no words: frames of sound, 24 bands each, and says which sound it hears.

Rising and falling tones pass through the same frames, so that only a state that remembers can
tell them apart. Given the name of a file, `python examples/frames.py frames.svg`, it also draws the
grid.
"""

import sys

import torch
from torch import nn

import rnnlens

BANDS, STEPS, LONG = 24, 60, 12  # of a frame, of a recording, of a sound
SOUNDS = ["silence", "low", "high", "rising", "falling"]


def recording(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Sounds one after the other: frames (T, F), and which sound each is of (T,)."""
    frames, targets = [], []
    for sound in torch.randint(len(SOUNDS), (STEPS // LONG,), generator=generator).tolist():
        at = torch.arange(LONG) / (LONG - 1) * (BANDS - 8) + 4
        centre = [at, 0 * at + 5, 0 * at + BANDS - 6, at, at.flip(0)][sound]
        tone = torch.exp(-0.3 * (torch.arange(BANDS) - centre[:, None]) ** 2) * (sound > 0)
        frames.append(tone + 0.15 * torch.randn(LONG, BANDS, generator=generator))
        targets += [sound] * LONG
    return torch.cat(frames), torch.tensor(targets)


def batch(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """What the module is fed, (B, T, F), and its targets, (B, T)."""
    frames, targets = zip(*(recording(generator) for _ in range(16)), strict=True)
    return torch.stack(frames), torch.stack(targets)


class Listener(nn.Module):
    """An LSTM over frames, and a linear map to the sounds."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrence = nn.LSTM(BANDS, 24, batch_first=True)
        self.readout = nn.Linear(24, len(SOUNDS))

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, T, F) -> (B, T, V)"""
        sounds: torch.Tensor = self.readout(self.recurrence(frames)[0])
        return sounds


def main() -> None:
    """Print what the frame and what the memory know of a falling tone, halfway down."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    batches = [batch(generator) for _ in range(30)]
    model = Listener()
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for frames, sounds in batches * 3:
        loss = nn.functional.cross_entropy(model(frames).flatten(0, 1), sounds.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    lens = rnnlens.fit(model, batches, SOUNDS, name="sounds")
    heard = batches[0]
    row, step = (heard[1] == SOUNDS.index("falling")).nonzero()[LONG // 2].tolist()
    grid = lens.grid(heard, row, names=lambda t: f"{t / 100:.2f} s")
    for kind in ("x", "c1", "h1", "y"):
        print(kind, grid[kind][step])
    if len(sys.argv) > 1:
        grid.save(sys.argv[1], kinds=["x", "c1", "h1", "y"])


if __name__ == "__main__":
    main()
