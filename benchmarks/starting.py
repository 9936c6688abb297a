"""How long commands take that compute nothing: `--help`, an error of usage, `find`.

Against a bare Python, taken in turn; the quickest of several times.
"""

import argparse
import subprocess
import sys
import time

from benchmarks.noted import note

COMMANDS = {  # with the most seconds
    "rnnlens --help": (0.3, ["--help"]),
    "an error of usage": (0.3, ["train", "gone.txt", "-o", "run"]),
    "rnnlens find": (None, ["find", "english-news", 'word = "we" limit 5']),
}


def seconds(words: list[str]) -> float:
    """Of a Python with these arguments."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], check=False, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    """Print and note each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    asked = {name: ["-m", "rnnlens", *words] for name, (_, words) in COMMANDS.items()}
    asked = {"": ["-c", ""], **asked}
    rounds = [{name: seconds(words) for name, words in asked.items()} for _ in range(args.rounds)]
    times = {name: min(one[name] for one in rounds) for name in asked}
    for name, (goal, _) in COMMANDS.items():
        note(name, times[name], "s", goal, floor=times[""])
        wanted = f", at most {goal} is wanted" if goal else ""
        print(f"{name}: {times[name]:.2f} s, a bare Python {times['']:.2f}{wanted}")


if __name__ == "__main__":
    main()
