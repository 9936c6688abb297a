"""Where the seconds of a command go: `python -m benchmarks.watched train CORPUS -o RUN ...`.

Prints how long it took, what of that was importing, and of every file of rnnlens the seconds that
its own functions took or waited for libraries, the most first. On a GPU set CUDA_LAUNCH_BLOCKING=1:
what waits is then what works.
"""

import cProfile
import pstats
import sys
import time
from collections import Counter
from pathlib import Path

import rnnlens

PACKAGE = str(Path(rnnlens.__file__).parent)
SHOWN = 40


def by_file(profile: cProfile.Profile) -> Counter[str]:
    """Seconds by function of rnnlens; what a library takes belongs to whoever called it."""
    found: Counter[str] = Counter()
    for (file, _, name), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if file.startswith(PACKAGE):
            found[f"{file.removeprefix(PACKAGE + '/')} {name}"] += own
            continue
        for (caller, _, called_in), (*_, total) in callers.items():
            if caller.startswith(PACKAGE):  # with all that the library calls itself
                found[f"{caller.removeprefix(PACKAGE + '/')} {called_in}"] += total
    return found


def main() -> None:
    """Run the command that is given, watched."""
    began = time.perf_counter()
    from rnnlens.cli import main as command
    from rnnlens.work import train_run  # noqa: F401 - which imports what most commands need

    imported = time.perf_counter() - began
    profile = cProfile.Profile()
    began = time.perf_counter()
    code = profile.runcall(command, sys.argv[1:])
    whole = time.perf_counter() - began
    print(f"exit code {code}; importing {imported:.2f} s, the rest {whole:.2f} s, of which:")
    for name, seconds in by_file(profile).most_common(SHOWN):
        print(f"{seconds:8.2f} s  {name}")


if __name__ == "__main__":
    main()
