"""`import rnnlens` against `import torch`, each in a fresh Python, taken in turn."""

import argparse
import subprocess
import sys
import time

STATEMENTS = {
    "import torch": "import torch",
    "import rnnlens": "import rnnlens",
    "import rnnlens, and every public name": "import rnnlens; "
    "[getattr(rnnlens, name) for name in rnnlens.__all__]",
}
WANTED = 1.2


def seconds(statement: str) -> float:
    """Of a Python that does nothing else."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - began


def main() -> None:
    """Print ratios of the quickest of several times; that of an idle Python is taken off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    asked = {"": "", **STATEMENTS}
    rounds = [{name: seconds(code) for name, code in asked.items()} for _ in range(args.rounds)]
    times = {name: min(one[name] for one in rounds) for name in asked}
    idle = times.pop("")
    whole = times["import torch"] - idle
    for name, taken in times.items():
        wanted = "" if name == "import torch" else f" (at most {WANTED} is wanted)"
        print(f"{name}: {(taken - idle) / whole:.2f} of import torch{wanted}")


if __name__ == "__main__":
    main()
