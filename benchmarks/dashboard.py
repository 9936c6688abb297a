"""One table of what people wait for: now, the goal, the floor, and when it was last recorded.

Runs the benchmarks that note such waits, and writes the table as waits.json and waits.md. What
became worse by more than 5% since the last recording is marked; `--record` makes this run the last
recording. Waits are comparable on one machine that does nothing else: the table says how busy it
was, and what another sort of machine has recorded is shown and not judged by.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.noted import NOTES, Wait

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json"
WORSE = 1.05  # times what was recorded
BENCHMARKS: dict[str, Sequence[str]] = {  # by name, with flags; in the order of the table
    "starting": (),
    "keys": (),
    "answering": (),
    "load": ("--clients", "25"),
    "load of 50": ("--clients", "50", "--workers", "2"),  # one process does not hold so many
    "indexing": (),
    "asking": (),
    "opening": (),
}


def machine() -> dict[str, Any]:
    """On what it is measured."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    cores = len(os.sched_getaffinity(0))
    return {"processor": next(names, platform.machine()), "cores": cores}


def run(names: Sequence[str]) -> tuple[list[Wait], list[str]]:
    """What some benchmarks note, and those that failed, of which nothing counts."""
    failed, lines = list[str](), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names):
            notes = Path(folder) / str(number)
            notes.touch()
            words = ["-m", f"benchmarks.{name.split()[0]}", *BENCHMARKS[name]]
            told = {**os.environ, NOTES: str(notes)}
            done = subprocess.run([sys.executable, *words], cwd=HERE.parent, env=told, check=False)
            noted = notes.read_text(encoding="utf-8").splitlines()
            if done.returncode or not noted:
                failed.append(name)
            else:
                lines += noted
    return [Wait(**json.loads(line)) for line in lines], failed


def change(wait: Wait, before: Mapping[str, float]) -> float | None:
    """How many times worse than recorded, or None where it was not recorded."""
    was = before.get(wait.what)
    if not was or not wait.now:
        return None
    return was / wait.now if wait.more_is_better else wait.now / was


def misses(wait: Wait) -> bool:
    """Whether the goal is not met."""
    if wait.goal is None:
        return False
    return wait.now < wait.goal if wait.more_is_better else wait.now > wait.goal


def _short(value: float) -> str:
    """A number with three digits or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def markdown(
    waits: Sequence[Wait], before: Mapping[str, float], about: Mapping[str, Any], judged: bool
) -> str:
    """The table for people."""
    where = f"{about['processor']}, {about['cores']} cores; load {about['load'][0]:.1f} before, "
    lines = [
        f"{where}{about['load'][1]:.1f} after.",
        "",
        "| what a person waits for | now | goal | floor | recorded | |",
        "|---|---|---|---|---|---|",
    ]
    for wait in waits:
        worse = change(wait, before)
        marks = ["misses its goal"] if misses(wait) else []
        if judged and worse is not None and worse > WORSE:
            marks.append(f"**{worse:.2f} times worse**")
        bound = "at least " if wait.more_is_better else ""
        goal = "" if wait.goal is None else f"{bound}{wait.goal:g}"
        floor = "" if wait.floor is None else _short(wait.floor)
        was = _short(before[wait.what]) if wait.what in before else ""
        lines.append(
            f"| {wait.what} | {_short(wait.now)} {wait.unit} | {goal} | {floor} | {was} "
            f"| {', '.join(marks)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, compare, write; the exit code says whether something became worse."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(BENCHMARKS)}")
    parser.add_argument("-o", "--output", type=Path, default=Path("bench"), metavar="FOLDER")
    parser.add_argument("--record", action="store_true", help="be what later runs compare with")
    args = parser.parse_args()
    if strange := [name for name in args.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark is called {strange[0]!r}; there is {', '.join(BENCHMARKS)}")
    load = os.getloadavg()[0]
    waits, failed = run(args.names or list(BENCHMARKS))
    about = {**machine(), "load": [load, os.getloadavg()[0]]}
    last = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    before = {one["what"]: float(one["now"]) for one in last.get("waits", [])}
    judged = {name: last.get("machine", {}).get(name) for name in machine()} == machine()
    table = markdown(waits, before, about, judged)
    worse = [w for w in waits if judged and (c := change(w, before)) is not None and c > WORSE]
    whole = {"machine": about, "waits": [
        {**vars(wait), "recorded": before.get(wait.what), "worse": change(wait, before),
         "misses": misses(wait)} for wait in waits
    ]}  # fmt: skip
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "waits.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    (args.output / "waits.md").write_text(table, encoding="utf-8")
    if args.record:
        kept = {**(before if judged else {}), **{wait.what: wait.now for wait in waits}}
        lines = [{"what": what, "now": now} for what, now in kept.items()]
        recorded = {"machine": about, "waits": lines}
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    print(table)
    for name in failed:
        print(f"{name} failed or measured nothing, and is left out")
    sys.exit(bool(worse or failed))


if __name__ == "__main__":
    main()
