"""How memories differ: every cell trained on the same data, and measured in the same way.

    python -m scripts.memories FOLDER --corpus news.conllu.gz --minutes 9 --jobs 4

On the corpus each cell is trained with several seeds and is asked, kind by kind, what its states
say, how much of that is used, how long memories last, and what is lost of them by decay and by
erasing. On four tasks whose right answers are known it is asked how often it is right within what
it was trained on, and beyond: brackets twice as deep, parities and products of permutations twice
as long, recall among twice as many pairs.

Whatever is finished is kept in FOLDER, and the same command goes on with the rest: also in the
middle of a training, where `--minutes` or a signal ended it. `--parts kinds,used` measures these
alone, and another command the rest, of the same probes (`--fit`). What fails is told, and all else
is done. FOLDER/memories.json has all numbers, FOLDER/memories.md the least to the most of all
seeds, or their mean where a table says so, FOLDER/summary.json both, of which the picture is drawn
(picture.py). The exit is 0 where all is done, 3 where the same command goes on with the rest, 1
where something failed. It imports no more than torch, numpy, safetensors, pydantic and tqdm.
"""

import argparse
import json
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from scripts.memories.items import PARTS, Bench, Item, train
from scripts.memories.measures import Measures
from scripts.memories.summary import rounded, summary
from scripts.memories.tables import tables
from scripts.memories.tasks import FEWEST, TASKS, write_text

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import Options, check_known
from rnnlens.corpus.corpus_config import CorpusConfig
from rnnlens.model.network_config import CELL_NAMES, NetworkConfig
from rnnlens.model.train.training_config import TrainingConfig
from rnnlens.probe.fit_config import FitConfig

_STOPPED, _FAILED = 3, 1  # exits: where there is more to do, and where an item failed
_SHARES = 2  # of a GPU's memory that a process may take, since not all need most at once
_OWN_FLAGS = {"cell", "seed"}  # of a training, which --options does not have
_PATIENCE = 20  # seconds that a training has to keep how far it has come


@contextmanager
def signals() -> Iterator[list[int]]:
    """Within it, signals that ask to stop are put into a list."""
    stopped: list[int] = []
    asking = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(one, lambda number, _: stopped.append(number)) for one in asking]
    try:
        yield stopped
    finally:
        for one, handler in zip(asking, before, strict=True):
            signal.signal(one, handler)


def work(bench: Bench, items: Sequence[Item], stopped: Sequence[int] = ()) -> int:
    """Train and measure items one after the other, also where one fails, until a signal has
    stopped it; the exit says whether all are finished.
    """
    if bench.device.type == "cuda":  # so that nobody keeps memory that others are short of
        share = min(1.0, _SHARES / bench.args.jobs)
        torch.cuda.set_per_process_memory_fraction(share, bench.device)
    failed = list[str]()
    for item in items:
        if bench.done(item):
            continue
        try:
            if stopped or not _finished(bench, item, lambda: bool(stopped)):
                return _STOPPED
        except Exception as error:  # noqa: BLE001 - other seeds may have no such trouble
            why = str(error) if isinstance(error, RnnlensError) else traceback.format_exc()
            print(f"{item.name}: failed: {why}", file=sys.stderr)
            failed.append(item.name)
    return _FAILED if failed else 0


def _finished(bench: Bench, item: Item, stop: Callable[[], bool]) -> bool:
    """Train and measure an item; whether it was not stopped before its end."""
    trained = train(bench, item, stop)
    if trained is None:
        return False
    if not bench.args.train_only:
        numbers = Measures(bench, item, *trained).numbers()
        bench.measured(item).parent.mkdir(parents=True, exist_ok=True)
        write_text(bench.measured(item), json.dumps(numbers))
    return True


def conduct(bench: Bench, argv: Sequence[str], stopped: Sequence[int] = ()) -> int:
    """Have the items done that are not yet, several at a time, until the time is up or a signal has
    stopped it; the exit says whether all are done, and whether the same command could go on.
    """
    end = time.monotonic() + 60 * bench.args.minutes
    command = [sys.executable, "-m", "scripts.memories", *argv]
    left = [",".join(item.name for item in group) for group in bench.left()]
    at_work: dict[str, subprocess.Popen[bytes]] = {}
    failed: list[str] = []
    done = "trained" if bench.args.train_only else "measured"
    again: set[str] = set()  # what failed once: others beside it may have taken the memory
    while (left or at_work) and not stopped and time.monotonic() < end:
        while left and len(at_work) < bench.args.jobs:
            names = left.pop(0)
            at_work[names] = subprocess.Popen([*command, "--only", names])
        time.sleep(0.2)
        for names, process in [one for one in at_work.items() if one[1].poll() is not None]:
            del at_work[names]
            if process.returncode and names not in again:
                again.add(names)
                left.append(names)
            elif process.returncode:
                failed.append(names)
            print(f"{names}: {'failed' if process.returncode else done}", flush=True)
    for process in at_work.values():
        process.terminate()
    for process in at_work.values():
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # it is being measured: that part begins anew
            process.kill()
    return _STOPPED if left or at_work else _FAILED if failed else 0


def gathered(bench: Bench) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The numbers of all seeds that are measured, by data and cell."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for item in bench.items():
        if bench.measured(item).exists():
            numbers = json.loads(bench.measured(item).read_text(encoding="utf-8"))
            found.setdefault(item.data, {}).setdefault(item.cell, []).append(numbers)
    return found


def _names(given: str) -> list[str]:
    """Names with a comma between; of nothing, none."""
    return [name for name in given.split(",") if name]


def _some(known: Iterable[str]) -> Callable[[str], list[str]]:
    """What takes names with a comma between that are known."""
    known = list(known)

    def taken(given: str) -> list[str]:
        if unknown := [name for name in _names(given) if name not in known]:
            raise argparse.ArgumentTypeError(f"{unknown[0]}: give some of {', '.join(known)}")
        return _names(given)

    return taken


def _options(function: str, *configs: type[Options]) -> Callable[[str], dict[str, Any]]:
    """What takes options of a configuration as JSON, but those that have flags of their own."""

    def taken(given: str) -> dict[str, Any]:
        try:
            options = dict(json.loads(given))
            check_known(function, options, *configs)
        except (ValueError, TypeError) as error:
            raise argparse.ArgumentTypeError(
                f'{given}: give JSON, such as {{"epochs": 4}}'
            ) from error
        except RnnlensError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        if NetworkConfig in configs and (own := _OWN_FLAGS & options.keys()):
            raise argparse.ArgumentTypeError(f"{min(own)}: give --{min(own)}s")
        return options

    return taken


def _from(least: int) -> Callable[[str], int]:
    """What takes a whole number that is not less."""

    def taken(given: str) -> int:
        if not given.isdecimal() or int(given) < least:
            raise argparse.ArgumentTypeError(f"{given}: give a number from {least} up")
        return int(given)

    return taken


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.memories",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("folder", help="where everything is kept")
    parser.add_argument(
        "--corpus", default="", help="a corpus of language; without it, tasks alone"
    )
    for flag, known in (("--cells", CELL_NAMES), ("--tasks", TASKS), ("--parts", PARTS)):
        names = f"comma between; default, all:\n{','.join(known)}"
        parser.add_argument(flag, type=_some(known), default=list(known), help=names)
    parser.add_argument(
        "--seeds", type=_from(1), default=3, help="networks of each cell (default: %(default)s)"
    )
    parser.add_argument(
        "--used", type=int, default=1,
        help="seeds of which is measured what is used of their kinds (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--count", type=_from(FEWEST), default=8_000,
        help="sequences of a task to learn from (default: %(default)s)",
    )  # fmt: skip
    training = _options("a training", CorpusConfig, NetworkConfig, TrainingConfig)
    parser.add_argument(
        "--options", type=training, default={}, help='of training, as JSON: {"epochs": 4}'
    )
    parser.add_argument(
        "--fit",
        type=_options("a fit", FitConfig),
        default={},
        help='of probes, as JSON: {"epochs": 4}',
    )
    parser.add_argument(
        "--device", default="cuda" if torch.cuda.is_available() else "cpu",
        help="cpu or cuda (default here: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=_from(1), default=1, help="trainings at a time (default: %(default)s)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=1e6,
        help="after which it stops, to go on later (default: never)",
    )
    parser.add_argument("--train-only", action="store_true", help="measure nothing yet")
    parser.add_argument("--only", type=_names, default=[], help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is left, and write down all that is known."""
    given = list(sys.argv[1:] if argv is None else argv)
    args = arguments(given)
    bench = Bench(args)
    if args.only:
        with signals() as stopped:
            return work(bench, [one for one in bench.items() if one.name in args.only], stopped)
    bench.begin()
    with signals() as stopped:
        done = conduct(bench, given, stopped)
    found = gathered(bench)
    write_text(bench.folder / "memories.json", json.dumps(found))
    write_text(bench.folder / "summary.json", json.dumps(rounded(summary(found)), indent=1))
    write_text(bench.folder / "memories.md", tables(found))
    if found:
        print(tables(found), flush=True)  # before what stands on the other stream
    if done == _STOPPED:
        print("stopped; the same command goes on", file=sys.stderr)
    return done


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RnnlensError as error:
        sys.exit(f"memories: {error}")
