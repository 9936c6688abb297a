"""Which rule tells a state that a probe was not fitted on from one that it was?

    python benchmarks/outside.py english-news --corpus amalgum_news.conllu.gz
    python benchmarks/outside.py english-tags --corpus amalgum_news.conllu.gz
    python benchmarks/outside.py brackets --corpus brackets/train.txt
    python benchmarks/outside.py waves

Limits are taken from validation states, so that one in a thousand is beyond them. On test states
that is a false alarm; on states that were zeroed, doubled, taken from another kind and the like it
is a hit. Every figure is of all kinds together.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import cache

import torch
from torch import Tensor

from rnnlens.adapter.batches import check_batches
from rnnlens.probe.dataset import Chunk, Dataset
from rnnlens.probe.inspect import inspect_module
from rnnlens.probe.limits import limit_of
from rnnlens.probe.probes import Probes
from rnnlens.run.corpus_data import Moved, run_dataset
from rnnlens.run.folder import Run, run_at
from rnnlens.waves import batches

_RIDGE = 0.1  # of the mean variance
_SMALL = 32  # directions
_FAR = 20  # deviations

Measure = Callable[[str, Tensor], Tensor]  # of standardised states (N, H) of a kind, (N,)


def measures(probes: Probes, semantic: str) -> dict[str, Measure]:
    """Ways to tell how far a state is from those of the fit."""
    stack = probes.stacks[semantic]

    def size(_: str, x: Tensor) -> Tensor:
        return x.square().mean(1).sqrt()

    @cache
    def axes(kind: str) -> Tensor:
        """The directions in which a kind varies most last, each over its deviation, (H, H)."""
        k = stack.kinds.index(kind)
        scale = stack.scale[k, : stack.widths[k]]
        correlation = probes.spreads[kind].covariance / torch.outer(scale, scale)
        values, vectors = torch.linalg.eigh(correlation)
        made: Tensor = vectors / (values.clamp_min(0) + _RIDGE * values.mean()).sqrt()
        return made

    def along(kind: str, x: Tensor, most: int) -> Tensor:
        return (x @ axes(kind)[:, -most:]).square().mean(1).sqrt()

    def seen(kind: str, x: Tensor) -> Tensor:
        k = stack.kinds.index(kind)
        rows = stack.map[k, : stack.rank or None, : x.shape[1]]
        z = x @ rows.T
        size: Tensor = (z - z.mean(1, keepdim=True) * (stack.labels is None)).norm(dim=1)
        return size

    return {
        "size": size,
        "whitened": lambda kind, x: along(kind, x, x.shape[1]),
        f"whitened, {_SMALL}": lambda kind, x: along(kind, x, _SMALL),
        "what the probe sees": seen,
    }


def changed(
    states: dict[str, Tensor], kind: str, draw: torch.Generator
) -> Iterator[tuple[str, Tensor]]:
    """States of a kind (N, H) as an edit might leave them."""
    v = states[kind]
    yield "zero", torch.zeros_like(v[:1])
    yield "twice", 2 * v
    yield "half", v / 2
    yield "minus", -v
    others = [k for k, w in states.items() if w.shape[1] == v.shape[1] and k != kind]
    if others:
        some = [others[int(n)] for n in torch.randint(len(others), (8,), generator=draw)]
        yield "other kind", torch.cat([states[k][: len(v) // 8] for k in some])
    noise = torch.randn(v.shape, generator=draw)
    yield "noise of its spread", v.mean(0) + v.std(0) * noise
    yield "mixed units", torch.stack([c[torch.randperm(len(v), generator=draw)] for c in v.T], 1)
    far = v.clone()
    units = torch.randint(v.shape[1], (len(v),), generator=draw)
    far[torch.arange(len(v)), units] += _FAR * v.std(0)[units]
    yield f"a unit {_FAR} off", far
    gone = v.clone()
    gone[torch.rand(v.shape, generator=draw) < 0.5] = 0
    yield "half the units zero", gone


def dataset_of(run: Run, corpus: str | None) -> Dataset:
    """The data of a bundled run."""
    if run.path.name != "waves":
        return run_dataset(run, "cpu", Moved(corpus))
    parts = {"train": (1600, 1), "valid": (320, 2), "test": (640, 3)}
    splits = {name: check_batches(batches(*how), name) for name, how in parts.items()}
    return inspect_module(run.module().user, splits)[1]


def states_of(dataset: Dataset, split: str, semantic: str, most: int) -> dict[str, Tensor]:
    """Some states of every kind."""
    chunks, count = list[Chunk](), 0
    for chunk in dataset.stream(split, semantic).chunks((0,)):
        chunks.append(chunk)
        count += len(chunk.labels)
        if count >= most:
            break
    return {kind: torch.cat([c.states[kind] for c in chunks]) for kind in dataset.kinds}


@torch.no_grad()
def main() -> None:
    """Print a line for each rule."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("--corpus")
    parser.add_argument("--states", type=int, default=20_000)
    args = parser.parse_args()
    run = run_at(args.run)
    probes, dataset = run.probes(), dataset_of(run, args.corpus)
    semantic = probes.semantics[0]
    stack = probes.stacks[semantic]
    valid, test = (states_of(dataset, s, semantic, args.states) for s in ("valid", "test"))
    draw = torch.Generator().manual_seed(0)
    tried = {kind: [("held out", test[kind]), *changed(test, kind, draw)] for kind in stack.kinds}
    print(f"{args.run}: {len(valid[stack.kinds[0]]):,} states for limits, "
          f"{len(test[stack.kinds[0]]):,} to try them")  # fmt: skip
    names = list(dict.fromkeys(name for some in tried.values() for name, _ in some))
    print(f"{'':<22}" + "".join(f"{name[:19]:>20}" for name in names))
    for rule, measure in measures(probes, semantic).items():
        found: dict[str, list[float]] = {name: [] for name in names}
        for k, kind in enumerate(stack.kinds):
            mean, scale = (t[k, : stack.widths[k]] for t in (stack.mean, stack.scale))
            low, high = limit_of(measure(kind, (valid[kind] - mean) / scale))
            for name, states in tried[kind]:
                r = measure(kind, (states - mean) / scale)
                found[name].append(float(((r < low) | (r > high)).float().mean()))
        shares = {name: sum(some) / len(some) for name, some in found.items()}
        print(f"{rule:<22}" + "".join(f"{share:>20.2%}" for share in shares.values()))


if __name__ == "__main__":
    main()
