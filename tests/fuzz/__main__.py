"""`make fuzz`: mutated runs, checkpoints, corpora, indexes, published files and suites, commands
that are killed, random requests.

python -m tests.fuzz                       everything, for at most --seconds each
python -m tests.fuzz runs --count 500 --seed 7
python -m tests.fuzz runs --only 1234      one case, here, with its traceback
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from tests.fuzz import harness, requests
from tests.fuzz.checkpoints import Checkpoints
from tests.fuzz.corpora import Corpora
from tests.fuzz.indexes import Indexes
from tests.fuzz.kills import Kills
from tests.fuzz.published import Published
from tests.fuzz.runs import Runs
from tests.fuzz.states import States
from tests.fuzz.suites import Suites

SUBJECTS: dict[str, tuple[Callable[[Path], harness.Case], int]] = {  # and how many cases
    "runs": (Runs, 10_000),
    "checkpoints": (Checkpoints, 2_000),
    "corpora": (Corpora, 5_000),
    "indexes": (Indexes, 2_000),
    "kills": (Kills, 300),
    "published": (Published, 2_000),
    "states": (States, 2_000),
    "suites": (Suites, 2_000),
}


REQUESTS = "requests"  # which are sent to a real server


def main() -> int:
    """Try every subject; the exit code is 1 where anything failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "subjects", nargs="*", metavar="SUBJECT", help=", ".join([*SUBJECTS, REQUESTS])
    )
    parser.add_argument("--count", type=int, help="cases of each (default: by subject)")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--seconds", type=float, default=1800, help="for each subject, at most")
    parser.add_argument("--workers", type=int, default=harness.WORKERS, help="cases at a time")
    parser.add_argument("--only", type=int, help="one case, in this process")
    args = parser.parse_args()
    torch.set_num_threads(1)
    failed = False
    for name in args.subjects or [*SUBJECTS, REQUESTS]:
        if name == REQUESTS:
            count = args.count or requests.REQUESTS
            failed = bool(requests.main(int(args.seed), args.seconds, count)) or failed
            continue
        make, count = SUBJECTS[name]
        with tempfile.TemporaryDirectory() as folder:
            case = make(Path(folder))
            if args.only is not None:
                place = Path(folder) / "case"
                place.mkdir()
                print(name, case(random.Random(f"{args.seed}/{args.only}"), place))
                continue
            tally = harness.run(case, args.count or count, args.seed, args.seconds, args.workers)
        print(f"{name}: {tally}", flush=True)
        for failure in tally.failures[:20]:
            print("  ", failure.replace("\n", "\n    "))
        failed = failed or bool(tally.failures)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
