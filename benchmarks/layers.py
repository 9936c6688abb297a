"""A grid of a model of many layers, one column a layer: what it costs beside the model's own
forward pass, in processor time, and by the clock.

    python benchmarks/layers.py --labels 50280

The model has the shape of mamba-130m and random weights; it needs the library transformers. Probes
are shared ones with random numbers: what they say does not matter here.
"""

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import nn

from rnnlens.adapter.modules import Watch
from rnnlens.adapter.user_model import UserModel
from rnnlens.lens.lens import Lens
from rnnlens.probe.inspect import counted, inspect_module
from rnnlens.probe.probes import Probes
from rnnlens.reading.encoding import palettes_of
from rnnlens.reading.session import Session
from rnnlens.reading.subject import Subject

LAYERS, WIDTH, WORDS, TIMES = 24, 768, 50, 3


def mamba(labels: int) -> nn.Module:
    """The model, with random weights."""
    transformers: Any = import_module("transformers")
    torch.manual_seed(0)
    config = transformers.MambaConfig(
        vocab_size=labels, hidden_size=WIDTH, num_hidden_layers=LAYERS, state_size=16
    )
    model: nn.Module = transformers.MambaForCausalLM(config).eval()
    return model


def lens_of(module: nn.Module, words: tuple[str, ...], rank: int) -> Lens:
    """A lens with random probes of the residual stream and of what each layer gives to it."""
    user = UserModel.of(module, labels=words, inputs=words)
    pairs = [(torch.randint(0, len(words), (2, 12)),) * 2 for _ in range(2)]
    model, dataset, vocabulary = inspect_module(user, {"train": pairs[:1], "valid": pairs[1:]})
    kinds = tuple(kind.id for kind in model.kinds if kind.letter in ("x", "h", "o"))
    tensors = {"output/labels": torch.randn(len(words), rank) / rank}
    for kind in kinds:
        tensors[f"output/{kind}/weight"] = torch.randn(rank, WIDTH) / WIDTH
        tensors[f"output/{kind}/bias"] = torch.zeros(rank)
        tensors[f"output/{kind}/label_bias"] = torch.zeros(len(words))
    probes = Probes.of("shared", kinds, ("output",), len(words), tensors)
    text = model.text(counted(vocabulary, dataset))
    palettes = palettes_of(text.labels, text.vocabulary.counts)
    return Lens(Subject("mamba", Session(model, text), palettes, probes), {})


def least(work: Callable[[], Any]) -> tuple[float, float]:
    """The least processor time of a few, and the least by the clock."""
    times = []
    for _ in range(TIMES):
        start = time.process_time(), time.perf_counter()
        work()
        times.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    processor, clock = zip(*times, strict=True)
    return min(processor), min(clock)


def main() -> None:
    """Measure, and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=50_280)
    parser.add_argument("--rank", type=int, default=128)
    args = parser.parse_args()
    words = tuple(f"w{k}" for k in range(args.labels))
    module = mamba(args.labels)
    lens = lens_of(module, words, args.rank)

    def grid(**options: Any) -> dict[str, Any]:
        ids = torch.randint(0, args.labels, (WORDS,)).tolist()
        return lens(" ".join(words[k] for k in ids), **options).part()

    drawn = grid()
    shown = sum(state is not None for state in drawn["rows"][0])
    with torch.inference_mode():
        ids = torch.randint(0, args.labels, (1, WORDS))
        forward, clock = least(lambda: module(ids, use_cache=False))
    print(f"the model's forward pass: {forward:.2f} s of processor, {clock:.2f} by the clock")
    watch = Watch(module)
    parts = {
        f"grid of {WORDS} words, {shown} of {len(drawn['columns'])} columns": least(grid),
        "the same with an edit": least(lambda: grid(edits=["h3@10=0"])),
        "whether the weights have changed": least(watch.is_unchanged),
    }
    for name, (seconds, clock) in parts.items():
        print(f"{name}: {seconds / forward:.2f} of the model's forward pass ({seconds:.2f} s of "
              f"processor, {clock:.2f} by the clock)")  # fmt: skip


if __name__ == "__main__":
    main()
