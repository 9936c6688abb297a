"""Fitting probes: pairs a second and memory against a plain PyTorch loop, and how time grows.

On CUDA at the paper's scale (54,020 sentences, 14,787 labels, LSTM 300 x 2, 17 kinds), at a small
fraction of it on the CPU. The plain loop is full softmax under autograd, kind after kind.
"""

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from rnnlens.corpus.split import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.distributed import pick_device
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.fitting import FitConfig, Fitter

LABELS = 14_787


def corpus(sentences: int) -> Split:
    """Words with a natural distribution of frequencies, 20 or so a sentence."""
    random = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(random.integers(5, 42, sentences))])
    return Split(random.zipf(1.3, starts[-1]) % LABELS, starts)


def wait(device: torch.device) -> float:
    """The time, once the device has caught up."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def epoch(fitter: Fitter, device: torch.device) -> tuple[float, float]:
    """Seconds of one pass over all states as a fit has it after its first, and of a pass that only
    extracts them anew.
    """
    plan = fitter._plan()
    fitter._learn(plan[0], 0)  # compile, allocate
    began = wait(device)
    for number, chosen in enumerate(plan):
        fitter._learn(chosen, number)
    learnt = wait(device)
    for chosen in plan:
        chunk = fitter.train._read(chosen)
        for k, kind in enumerate(fitter.kinds):
            fitter.family.stack.prepare(k, chunk.states[kind])
    return learnt - began, wait(device) - learnt


def profile(dataset: Dataset, config: FitConfig, device: torch.device) -> None:
    """Print what the start and a pass over all states spend their time on, by kernel."""
    kinds = [torch.profiler.ProfilerActivity.CPU]
    kinds += [torch.profiler.ProfilerActivity.CUDA] if device.type == "cuda" else []
    fitters = list[Fitter]()
    steps: dict[str, Callable[[], object]] = {
        "start": lambda: fitters.append(Fitter(dataset, "output", config)),
        "a pass, then its extraction alone": lambda: epoch(fitters[-1], device),
    }
    for name, work in steps.items():
        work()  # compile, allocate
        with torch.profiler.profile(activities=kinds) as found:
            began = wait(device)
            work()
            seconds = wait(device) - began
        print(f"{name}: {seconds:.2f} s while it was watched")
        by = "self_cuda_time_total" if device.type == "cuda" else "self_cpu_time_total"
        print(found.key_averages().table(sort_by=by, row_limit=25, max_name_column_width=70))


def plain(fitter: Fitter, states: int, batch: int, device: torch.device) -> float:
    """Pairs a second of a plain loop over as many states of each kind."""
    chunk = fitter.train.chunk(fitter.train.plan((0,))[0])
    pairs, began = 0, wait(device)
    for kind in (fitter.kinds[0], *fitter.kinds):
        if kind == fitter.kinds[0]:  # the first time round is to warm up
            pairs, began = 0, wait(device)
        k = fitter.kinds.index(kind)
        x = fitter.family.stack.prepare(k, chunk.states[kind]).float()[:states]
        layer = nn.Linear(x.shape[1], LABELS, device=device)
        optimiser = torch.optim.AdamW(layer.parameters(), fused=True)
        for some, wanted in zip(x.split(batch), chunk.labels[:states].split(batch), strict=True):
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = nn.functional.cross_entropy(layer(some), wanted)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            pairs += len(some)
    return pairs / (wait(device) - began)


def main() -> None:
    """Print ratios; on CUDA also seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--sentences", type=int, default=0, help="0: 54,020 on CUDA, 200 on the CPU"
    )
    parser.add_argument("--profile", action="store_true", help="what takes the time, by kernel")
    args = parser.parse_args()
    device = pick_device(args.device)
    cuda = device.type == "cuda"
    train, valid = corpus(args.sentences or (54_020 if cuda else 200)), corpus(60)
    network = Network(NetworkConfig(), LABELS).initialise(0).eval().requires_grad_(False).to(device)
    config = FitConfig(epochs=4, batch=16384 if cuda else 4096)
    dataset = Dataset(
        network, {"train": Sentences(train), "valid": Sentences(valid)}, network.label_count
    )

    if args.profile:
        profile(dataset, config, device)
        return
    began = wait(device)
    fitter = Fitter(dataset, "output", config)
    started = wait(device) - began
    whole, extraction = epoch(fitter, device)
    pairs = fitter.pairs * len(fitter.kinds)
    ours = pairs / whole
    bare = plain(fitter, 65536 if cuda else 2048, fitter.recipe.batch, device)
    print(f"{pairs:,} pairs on {device}: {ours / bare:.2f} times the plain loop's pairs a second")
    if cuda:
        print(f"start {started:.2f} s, extraction {extraction:.2f} s, one epoch {whole:.2f} s")
        print(f"peak GPU memory {torch.cuda.max_memory_allocated() / 1e9:.2f} GB")
        began = wait(device)
        fitter = Fitter(dataset, "output", config)
        fitter.run(lambda: False, lambda: None)
        print(f"whole fit, extraction included: {wait(device) - began:.2f} s, "
              f"{fitter.progress.epoch} epochs")  # fmt: skip
    grow(network, train, config, device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process {peak:,.0f} MB")


def grow(network: Network, train: Split, config: FitConfig, device: torch.device) -> None:
    """How time grows from one to eight times the data."""
    base = None
    for times in (1, 2, 4, 8):
        part = Split.of(train.ids, train.starts, np.arange(len(train) * times // 8))
        dataset = Dataset(
            network, {"train": Sentences(part), "valid": Sentences(part)}, network.label_count
        )
        fitter = Fitter(dataset, "output", config)
        batch = min(config.batch, 1024 if device.type == "cpu" else config.batch)
        fitter.recipe = replace(fitter.recipe, batch=batch)
        seconds, _ = epoch(fitter, device)
        each = seconds / fitter.pairs
        base = base or each
        print(f"{times}x the data: {seconds / (base * fitter.pairs):.2f} times linear growth")


if __name__ == "__main__":
    main()
