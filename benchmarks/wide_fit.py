"""A fit of probes to a Mamba with the shape of mamba-130m: of every layer the residual stream, the
read, the step size and the memory, by questions; 50,280 labels.

    python benchmarks/wide_fit.py --tokens 1000000 --device cuda
    python benchmarks/wide_fit.py --layers 2 --tokens 4096 --words 300 --width 32 --channels 64

Random weights, and words with a natural distribution of frequencies, or those of --text FILE by
their rank. Prints the seconds of each phase and the most memory that was held. Needs torch, numpy,
safetensors, tqdm and annotated_types, and no other package.
"""

import argparse
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import rnnlens
from rnnlens.adapter.user_model import UserModel
from rnnlens.model.traceable import Readout
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.families import Family
from rnnlens.probe.fitting import FitConfig, Fitter
from rnnlens.probe.inspect import inspect_module
from rnnlens.probe.memory_questions import Questions
from rnnlens.probe.moments import Moments

_TOGETHER = 16  # timesteps of a scan whose decay and write are computed at once
_LETTERS = ("h", "r", "d", "S")  # the residual stream, the read, the gate and the memory


def mamba_selective_scan(
    hidden_states: Tensor,
    dt: Tensor,
    A: Tensor,  # noqa: N803 - as transformers has it
    B: Tensor,  # noqa: N803
    C: Tensor,  # noqa: N803
    D: Tensor,  # noqa: N803
    z: Tensor | None = None,
) -> Tensor:
    """A selective scan: values and step sizes (B, C, T), keys and questions (B, N, T)."""
    state, outputs = hidden_states.new_zeros(*hidden_states.shape[:2], A.shape[1]), []
    for first in range(0, dt.shape[-1], _TOGETHER):
        part = slice(first, first + _TOGETHER)
        step, key = dt[..., part].permute(2, 0, 1), B[..., part].permute(2, 0, 1)
        decay = torch.exp(step[..., None] * A)  # (T, B, C, N)
        states = (step * hidden_states[..., part].permute(2, 0, 1))[..., None] * key[:, :, None]
        for t in range(len(states)):
            state = states[t].add_(decay[t].mul_(state))
        asked = C[..., part].permute(2, 0, 1)[:, :, None]
        outputs.append((states * asked).sum(-1).permute(1, 2, 0))
    out = torch.cat(outputs, -1) + D[:, None] * hidden_states
    return out if z is None else out * F.silu(z)


class Mixer(nn.Module):
    """A layer of Mamba."""

    def __init__(self, width: int, channels: int, numbers: int) -> None:
        super().__init__()
        self.rank, self.numbers = max(1, width // 16), numbers
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
    """A stack of them between an embedding and a readout of its last norm."""

    def __init__(self, layers: int, words: int, width: int, channels: int, numbers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Block(width, channels, numbers) for _ in range(layers))
        self.norm_f = nn.RMSNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Numbers (B, T) in, logits out."""
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.head(self.norm_f(x))
        return logits


class Phases:
    """Seconds by phase; what is within another is taken off it."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.seconds = device, defaultdict[str, float](float)
        self._open: list[str] = []
        self.began = self._since = time.perf_counter()

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """What is done within belongs to a phase."""
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def _turn(self) -> None:
        now = self._now()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def say(self, line: str) -> None:
        """Print a line with the time since the beginning."""
        print(f"{self._now() - self.began:7.1f} s  {line}", flush=True)


class TimedFitter(Fitter):
    """A fitter whose phases are timed."""

    phases: Phases

    def _questions(self, dataset: Dataset, readout: Readout | None) -> dict[str, Questions]:
        self.phases.say("learning questions")
        with self.phases.phase("questions"):
            return super()._questions(dataset, readout)

    def _moments(self, last: str) -> Moments:
        self.phases.say(f"first pass over {self.pairs:,} states of {len(self.kinds)} kinds")
        with self.phases.phase("first pass"):
            return super()._moments(last)

    def _family(
        self, moments: Moments, kinds: Sequence[str], readout: Readout | None, log_prior: Tensor
    ) -> Family:
        with self.phases.phase("closed form"):
            return super()._family(moments, kinds, readout, log_prior)

    def _learn(self, chosen: Any, number: int) -> None:
        with self.phases.phase("epochs"):
            super()._learn(chosen, number)
        if number % max(1, self.chunks // 8) == 0:
            self.phases.say(f"epoch {self.progress.epoch + 1}, chunk {number + 1}/{self.chunks}")

    def _validate(self) -> None:
        with self.phases.phase("validation"):
            super()._validate()
        best = self.progress.best
        mean = {letter: [b for k, b in zip(self.kinds, best, strict=True) if k[0] == letter]
                for letter in _LETTERS}  # fmt: skip
        told = ", ".join(f"{one} {np.mean(some):.3f}" for one, some in mean.items() if some)
        self.phases.say(f"validation, nats, mean over layers: {told}; prior "
                        f"{self._frequencies():.3f}")  # fmt: skip


def numbers_of(args: argparse.Namespace, count: int) -> np.ndarray:
    """So many words by their numbers."""
    if args.text is None:
        return np.asarray(np.random.default_rng(0).zipf(1.3, count) % args.words)
    words = Path(args.text).read_text(encoding="utf-8").split()
    ranks = {word: k for k, (word, _) in enumerate(Counter(words).most_common(args.words - 1), 1)}
    return np.resize(np.array([ranks.get(word, 0) for word in words]), count)


def batches_of(
    args: argparse.Namespace, count: int, side_by_side: int, device: torch.device
) -> list[tuple[Tensor, Tensor]]:
    """Sequences side by side, with the words that follow."""
    length = args.length
    ids = torch.from_numpy(numbers_of(args, count // length * length + 1)).to(device)
    rows, following = ids[:-1].view(-1, length), ids[1:].view(-1, length)
    return list(zip(rows.split(side_by_side), following.split(side_by_side), strict=True))


def peak(device: torch.device) -> str:
    """The most memory that was held."""
    process = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if device.type != "cuda":
        return f"peak memory {process:.1f} GiB"
    return (f"peak memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB on the GPU "
            f"({torch.cuda.max_memory_reserved() / 2**30:.1f} reserved), {process:.1f} of the "
            "process")  # fmt: skip


def main() -> None:
    """Fit, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("layers", 24), ("tokens", 1_000_000), ("words", 50280), ("width", 768),
                        ("channels", 1536), ("numbers", 16), ("length", 256), ("beside", 64),
                        ("epochs", 2), ("questions", 4), ("rank", 128)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--text", help="a file of words with spaces between")
    args = parser.parse_args()
    device = torch.device(args.device)
    phases = TimedFitter.phases = Phases(device)
    torch.manual_seed(0)
    with phases.phase("model and batches"):
        sizes = (args.layers, args.words, args.width, args.channels, args.numbers)
        model = Model(*sizes).to(device).eval().requires_grad_(False)
        train = batches_of(args, args.tokens, args.beside, device)
        valid = batches_of(args, max(4 * args.length, args.tokens // 50), args.beside, device)
    shape = f"{args.layers} x {args.channels} x {args.numbers}, {args.words:,} labels"
    versions = f"rnnlens {rnnlens.__version__}, torch {torch.__version__}"
    phases.say(f"{versions}: {shape}, {args.tokens:,} tokens")
    with phases.phase("how the module is read"):
        names = [f"w{number}" for number in range(args.words)]
        user = UserModel(model, labels=names)
        _, dataset, _ = inspect_module(user, {"train": train, "valid": valid}, follows=True)
        readout = dataset.classifier
    wanted = {f"{letter}{layer}" for letter in _LETTERS for layer in range(1, args.layers + 1)}
    last = {readout.kind} if readout else set()
    dataset.kinds = tuple(kind for kind in dataset.kinds if kind in wanted | last)
    phases.say(f"{len(dataset.kinds)} kinds; starts from the readout of {last or 'nothing'}")
    torch.set_float32_matmul_precision("high")  # from here on: what was verified is verified
    config = FitConfig(epochs=args.epochs, questions=args.questions, rank=args.rank)
    fitter = TimedFitter(dataset, "output", config)
    fitter.run(lambda: False, lambda: None)
    stack = fitter.result()
    total = phases._now() - phases.began
    for name, seconds in phases.seconds.items():
        print(f"{name:<24}{seconds:8.1f} s")
    if told := fitter.estimate:
        print(f"estimated beforehand: {told.before:.1f} s, and {told.epochs:.1f} s for the epochs")
    asked = {kind: some.weight.shape for kind, some in stack.questions.items()}
    numbers = sum(t.numel() for t in stack.tensors("output").values())
    each = tuple(next(iter(asked.values()), ()))
    print(f"questions to {len(asked)} memories, {each} each; {numbers:,} numbers in all")
    print(f"total {total:.1f} s; {peak(device)}")


if __name__ == "__main__":
    main()
