"""What several runs that differ in nothing but their seed show in the laboratory, as one table.

    python scripts/laboratory_seeds.py runs/news0 runs/news1 runs/news2
    python scripts/laboratory_seeds.py runs/a runs/b runs/c --suite my.suite --paradigm "one phrase"

A column for each run, and one that says whether all of them agree: in the first unit, the kind that
carries most, or in numbers that lie within ten points of each other. What does not agree did not
replicate.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import rnnlens
from rnnlens.lab.template import is_incongruent

NEAR = 0.1  # within which shares are said to agree


def rows_of(lab: rnnlens.Lab, paradigm: str | None, contrasts: int) -> dict[str, str | float]:
    """What one run shows, by what it is."""
    found: dict[str, str | float] = {}
    if lab.accuracy is not None:
        found["right, the mean over paradigms"] = lab.accuracy
    rows = [row for row in lab.conditions if paradigm in (None, row.paradigm)]
    for title, some in (
        ("right, incongruent items", [row for row in rows if is_incongruent(row.condition)]),
        ("right, other items", [row for row in rows if not is_incongruent(row.condition)]),
    ):
        if items := sum(row.items for row in some):
            found[f"{title} ({items:,})"] = sum(row.items * row.accuracy for row in some) / items
    units = lab.units(paradigm=paradigm)
    first = units.units[0]
    found["the unit that leads"] = f"{first.kind}:{first.unit}"
    found["right without it, held out"] = first.accuracy
    used = lab.interchange(paradigm=paradigm, most=contrasts)
    for name in used.paradigms:
        last = {kind: used.at(name, kind).value for kind in used.kinds[:-1]}
        found[f"{name}: below the output most moves with"] = max(last, key=lambda kind: last[kind])
    for one in lab.erase(paradigm=paradigm, most=contrasts).kinds:
        found[f"right with the contrast erased from {one.kind}"] = one.accuracy_after
    return found


def agree(values: Sequence[str | float | None]) -> str:
    """Whether all runs show the same."""
    if any(value is None for value in values):
        return "not all have it"
    numbers = [value for value in values if isinstance(value, float)]
    if len(numbers) == len(values):
        return "yes" if max(numbers) - min(numbers) <= NEAR else "no"
    return "yes" if len({*values}) == 1 else "no"


def shown(value: str | float | None) -> str:
    """A cell of the table."""
    return "-" if value is None else value if isinstance(value, str) else f"{value:.1%}"


def main() -> None:
    """Ask the runs and print the table, as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--suite", default="agreement")
    parser.add_argument("--paradigm")
    parser.add_argument("--most", type=int, default=400, help="draws of a template")
    parser.add_argument("--contrasts", type=int, default=300)
    args = parser.parse_args()
    asked = [
        rows_of(rnnlens.load(run).lab(args.suite, most=args.most), args.paradigm, args.contrasts)
        for run in args.runs
    ]
    print("|", " | ".join(["", *(Path(run).name for run in args.runs), "in all"]), "|")
    print("|---" * (len(args.runs) + 2) + "|")
    for name in dict.fromkeys(name for one in asked for name in one):
        values = [one.get(name) for one in asked]
        print("|", " | ".join([name, *map(shown, values), agree(values)]), "|")


if __name__ == "__main__":
    main()
