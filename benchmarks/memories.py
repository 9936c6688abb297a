"""The memory of a Mamba with the shape of mamba-130m: all states of all layers, and what they take.

    python benchmarks/memories.py --layers 24 --tokens 512

Random weights; the layers are plain torch, so that nothing else need be installed. The time of all
states is told as a multiple of the model's own forward pass in the same run, memory by layer and by
what the process has held at most, before and after.
"""

import argparse
import resource
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import rnnlens
from rnnlens.adapter.adapter import Adapter


def mamba_selective_scan(
    hidden_states: Tensor,
    dt: Tensor,
    A: Tensor,  # noqa: N803 - as the library has it
    B: Tensor,  # noqa: N803
    C: Tensor,  # noqa: N803
    D: Tensor,  # noqa: N803
    z: Tensor | None = None,
) -> Tensor:
    """The scan as transformers does it on a CPU: everything at once but the steps."""
    decay = torch.exp(A[None, :, None, :] * dt[..., None])  # (B, C, T, N)
    written = dt[..., None] * B.transpose(1, 2)[:, None] * hidden_states[..., None]
    state, outputs = torch.zeros_like(decay[:, :, 0]), []
    for t in range(dt.shape[-1]):
        state = decay[:, :, t] * state + written[:, :, t]
        outputs.append(torch.matmul(state, C[:, :, t, None])[..., 0])
    out = torch.stack(outputs, -1) + D[:, None] * hidden_states
    return out if z is None else out * F.silu(z)


class Mixer(nn.Module):
    """A layer of Mamba."""

    def __init__(self, width: int, channels: int, numbers: int) -> None:
        super().__init__()
        self.rank, self.numbers = width // 16, numbers
        self.into = nn.Linear(width, 2 * channels, bias=False)
        self.conv = nn.Conv1d(channels, channels, 4, groups=channels, padding=3)
        self.small = nn.Linear(channels, self.rank + 2 * numbers, bias=False)
        self.step = nn.Linear(self.rank, channels)
        self.rate = nn.Parameter(torch.arange(1.0, numbers + 1).log().repeat(channels, 1))
        self.skip = nn.Parameter(torch.ones(channels))
        self.out = nn.Linear(channels, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, width) in and out."""
        u, z = self.into(x).transpose(1, 2).chunk(2, 1)
        u = F.silu(self.conv(u)[..., : x.shape[1]])
        sizes = [self.rank, self.numbers, self.numbers]
        step, b, c = self.small(u.transpose(1, 2)).split(sizes, -1)
        dt = F.softplus(self.step(step)).transpose(1, 2)
        b, c = b.transpose(1, 2), c.transpose(1, 2)
        read = mamba_selective_scan(u, dt, -self.rate.exp(), b, c, D=self.skip, z=z)
        made: Tensor = self.out(read.transpose(1, 2))
        return made


class Block(nn.Module):
    """A layer with its norm and residual."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.norm, self.mixer = nn.RMSNorm(sizes[0]), Mixer(*sizes)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, width) in and out."""
        made: Tensor = x + self.mixer(self.norm(x))
        return made


class Model(nn.Module):
    """A stack of them between an embedding and its transpose."""

    def __init__(self, layers: int, words: int, width: int, channels: int, numbers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Block(width, channels, numbers) for _ in range(layers))
        self.norm_f = nn.RMSNorm(width)

    def forward(self, ids: Tensor) -> Tensor:
        """Numbers (B, T) in, logits out."""
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm_f(x), self.embed.weight)


def peak() -> float:
    """The most memory that this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@torch.no_grad()
def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("layers", 24), ("tokens", 512), ("words", 50280), ("width", 768),
                        ("channels", 1536), ("numbers", 16), ("rounds", 3)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Model(args.layers, args.words, args.width, args.channels, args.numbers).eval()
    ids = torch.randint(args.words, (1, args.tokens))
    adapter = Adapter(model)
    adapter.trace(ids)  # the first is checked
    before, own, traced, spent = peak(), list[float](), list[float](), list[float]()
    for _ in range(args.rounds):
        began = time.perf_counter()
        model(ids)
        own.append(time.perf_counter() - began)
        began = time.perf_counter()
        states = adapter.trace(ids).states
        traced.append(time.perf_counter() - began)
        sizes = [states[f"S{layer}"].nbytes / 2**20 for layer in range(1, args.layers + 1)]
        spent.append(time.perf_counter() - began)
        del states
    print(f"rnnlens {rnnlens.__version__}: {args.layers} x {args.channels} x {args.numbers}, "
          f"{args.tokens} tokens")  # fmt: skip
    quickest = min(own)
    print(f"trace without memories {min(traced) / quickest:.2f}, all memories "
          f"{min(spent) / quickest:.2f} of the model's own forward pass")  # fmt: skip
    more = (peak() - before) / args.layers
    print(f"states of one layer {max(sizes):.1f} MB; asking for all adds {more:.1f} MB a layer to "
          f"the most that the process held, {before:.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
