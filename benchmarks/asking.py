"""How long an index is asked: for a label, for the states nearest to one, by divergence.

Of the index that comes with the bundled run, opened once as a page does; the quickest of several.
"""

import argparse
import time
from collections.abc import Callable

from benchmarks.noted import note

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.run.folder import BUNDLED

TEXT = "the man who said that"


def least(work: Callable[[], object], rounds: int) -> float:
    """Milliseconds of the quickest; the first may open what the others use."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1000 * min(times)


def main() -> None:
    """Print and note each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run", default=BUNDLED)
    args = parser.parse_args()
    lens = rnnlens.load(args.run)
    state = lens(TEXT)["h2"][4]
    asked: dict[str, tuple[float, Callable[[], object]]] = {
        "find of a label": (100, lambda: lens.find('y expects "said" limit 20').table),
        "nearest states": (200, lambda: state.similar(10)),
        "nearest states by divergence": (2000, lambda: state.similar(10, by="divergence")),
    }
    for name, (goal, work) in asked.items():
        try:
            taken = least(work, args.rounds)
        except RnnlensError as error:
            print(f"{name}: refused: {error}")
            continue
        note(name, taken, "ms", goal)
        print(f"{name}: {taken:.0f} ms, at most {goal:.0f} is wanted")


if __name__ == "__main__":
    main()
