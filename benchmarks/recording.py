"""Recording states, against plain writes of the same bytes; and looking through many of them.

python benchmarks/recording.py                      recording, 2 GB, three times each in turn
python benchmarks/recording.py --gigabytes 10 --times 1 --look    and a lens of them: its time, and
    the most memory of it, through every pass; --kinds 1 --width 128 has more rows in as many bytes
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import rnnlens

STEPS = 25
KINDS = tuple(f"{letter}{layer}" for layer in (1, 2) for letter in "fiogcslh")


def sequences(
    count: int, kinds: tuple[str, ...], width: int, labels: int
) -> list[dict[str, np.ndarray]]:
    """States as a network of the paper's size has them, of which some are given again and again."""
    chance = np.random.default_rng(0)
    means = chance.normal(size=(labels, width)).astype(np.float32)
    some = []
    for _ in range(count):
        words = chance.integers(labels, size=STEPS)
        noise = 0.5 * chance.normal(size=(len(kinds), STEPS, width)).astype(np.float32)
        some.append(
            {"words": words}
            | {kind: means[np.roll(words, -1)] + noise[k] for k, kind in enumerate(kinds)}
        )
    return some


def plain(folder: Path, some: list[dict[str, np.ndarray]], count: int) -> None:
    """The same bytes as fast as a loop can write them, and on the disk at the end."""
    with (folder / "plain").open("wb") as file:
        for k in range(count):
            for name, values in some[k % len(some)].items():
                if name != "words":
                    file.write(values.data)
        file.flush()
        os.fsync(file.fileno())


def recorded(folder: Path, some: list[dict[str, np.ndarray]], count: int) -> None:
    """What a user would write."""
    names = [f"w{k}" for k in range(1 + max(int(one["words"].max()) for one in some))]
    with rnnlens.record(folder / "states", words=names) as to:
        for k in range(count):
            one = some[k % len(some)]
            to.add({name: rows for name, rows in one.items() if name != "words"}, one["words"])


_LOOK = """
import resource, sys, time, rnnlens
began = time.perf_counter()
lens = rnnlens.from_states(sys.argv[1], probe="shared", epochs=1)
fitted = time.perf_counter()
lens("#17")
drawn = time.perf_counter()
lens.evaluate()
done = time.perf_counter()
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
kept = lens.subject.model.kept
print(f"{len(kept):,} sequences, {kept.rows:,} rows; "
      f"opened and fitted, one epoch: {fitted - began:.0f} s; a grid {1000 * (drawn - fitted):.0f} "
      f"ms; measured {done - drawn:.0f} s; at most {most:.2f} GB of memory")
"""


def main() -> None:
    """Measure in turns, so that what else the machine does meets both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--look", action="store_true")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--kinds", type=int, default=len(KINDS))
    parser.add_argument("--width", type=int, default=300, help="units of a state")
    parser.add_argument("--labels", type=int, default=1000, help="different words")
    parser.add_argument("--folder", default=None, help="on the disk to be measured")
    args = parser.parse_args()
    kinds = KINDS[: args.kinds]
    some = sequences(64, kinds, args.width, args.labels)
    size = sum(some[0][kind].nbytes for kind in kinds)
    count = int(args.gigabytes * 1e9 / size)
    seconds: dict[str, list[float]] = {"plain": [], "recorded": []}
    place = Path(tempfile.mkdtemp(dir=args.folder))
    try:
        for _ in range(args.times):
            for name, work in (("plain", plain), ("recorded", recorded)):
                for old in place.iterdir():
                    shutil.rmtree(old) if old.is_dir() else old.unlink()
                began = time.perf_counter()
                work(place, some, count)
                seconds[name].append(time.perf_counter() - began)
        rates = {name: count * size / 1e6 / statistics.median(s) for name, s in seconds.items()}
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{count * size / 1e9:.1f} GB: plain writes {rates['plain']:,.0f} MB/s, recorded "
            f"{rates['recorded']:,.0f} MB/s, ratio {rates['recorded'] / rates['plain']:.2f}; at "
            f"most {most:.2f} GB of memory, of which the states themselves {64 * size / 2**30:.2f}"
        )
        if args.look:
            subprocess.run([sys.executable, "-c", _LOOK, place / "states"], check=True)
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
