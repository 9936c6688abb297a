"""What a benchmark has measured of somebody's wait, for the table that `make bench` writes."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

NOTES = "RNNLENS_BENCH_NOTES"  # the file that notes are added to; without it there are none


@dataclass(frozen=True)
class Wait:
    """One line of the table.

    `floor` is what is left where rnnlens does nothing, measured in the same run: a bare Python,
    plain tracing. Of `more_is_better` the goal is the least, else the most.
    """

    what: str
    now: float
    unit: str
    goal: float | None = None
    floor: float | None = None
    more_is_better: bool = False


def note(what: str, now: float, unit: str, goal: float | None = None, **more: float | bool) -> None:
    """Add a line, where somebody collects them."""
    if path := os.environ.get(NOTES):
        wait = Wait(what, now, unit, goal, **more)  # type: ignore[arg-type]
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(wait)) + "\n")
