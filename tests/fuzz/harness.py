"""Many cases of a subject, each in a process that may hang, crash or swallow memory.

A case is a function of a random source and an empty folder. It gives one word on what came of it:
`refused`, `same`, `other` where another result is right, or `different` where it is not. Whatever
it raises is a traceback. Workers are forked, so that nothing is imported again.
"""

import os
import random
import select
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Case = Callable[[random.Random, Path], str]

SECONDS = 5.0  # that a case may compute
LONGEST = 30.0  # seconds that it may take in all, as others compute on this machine too
MEMORY = 1 << 30  # bytes that a process and its children may hold, over what it starts with
FAILURES = ("different", "traceback", "hang", "memory", "crash")
WORKERS = 2


@dataclass
class Tally:
    """What came of all cases."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)  # with the number that reproduces each

    @property
    def cases(self) -> int:
        return self.counts.total()

    def note(self, number: int, outcome: str, detail: str = "") -> None:
        self.counts[outcome] += 1
        if outcome in FAILURES:
            self.failures.append(f"case {number}: {outcome} {detail}".rstrip())

    def __str__(self) -> str:
        parts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.counts.items()))
        return f"{self.cases:,} cases: {parts}"


@dataclass
class _Worker:
    case: Case
    process: int
    pipe: int
    cases: Iterator[int]
    buffer: bytes = b""
    number: int = -1  # of the case at work
    since: float = 0.0
    computed: float = 0.0  # seconds, before this case
    held: int = 0  # bytes, at the start


class Different(Exception):  # noqa: N818
    """What came of a case is not what should have, and how."""


def outcome_of(case: Case, seed: str, number: int, folder: Path) -> tuple[str, str]:
    """What comes of one case, in this process."""
    place = folder / f"case-{os.getpid()}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        return case(random.Random(f"{seed}/{number}"), place), ""
    except Different as difference:
        return "different", str(difference)
    except BaseException:  # noqa: BLE001 - that is what is looked for
        return "traceback", traceback.format_exc()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run(
    case: Case, count: int, seed: str = "0", seconds: float = 3600.0, at_once: int = WORKERS
) -> Tally:
    """All cases, or as many as there is time for; a case may say how long it may take."""
    tally, until = Tally(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workers = [
            _start(case, seed, iter(range(k, count, at_once)), folder) for k in range(at_once)
        ]
        while workers:
            ready, _, _ = select.select([worker.pipe for worker in workers], [], [], 0.2)
            for worker in list(workers):
                ended = worker.pipe in ready and not _listen(worker, tally)
                problem = "crash" if ended and worker.number >= 0 else _problem(worker)
                if time.monotonic() > until:
                    ended = True
                if not ended and not problem:
                    continue
                workers.remove(worker)
                _end(worker)
                if problem:
                    tally.note(worker.number, problem)
                    workers.append(_start(case, seed, worker.cases, folder))
    return tally


def _start(case: Case, seed: str, cases: Iterator[int], folder: Path) -> _Worker:
    """A worker for the rest of some cases; the parent draws their numbers too, to keep count."""
    numbers = list(cases)
    read, write = os.pipe()
    process = os.fork()
    if process:
        os.close(write)
        held = _memory(os.getpid())  # which it shares
        return _Worker(case, process, read, iter(numbers), since=time.monotonic(), held=held)
    try:
        os.close(read)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        for number in numbers:
            os.write(write, f"begin {number}\n".encode())
            outcome, detail = outcome_of(case, seed, number, folder)
            line = detail.strip().replace("\n", "\\n")[-3000:]
            os.write(write, f"end {number} {outcome} {line}\n".encode())
    finally:
        os._exit(0)


def _listen(worker: _Worker, tally: Tally) -> bool:
    """Take in what a worker says; whether it goes on."""
    data = os.read(worker.pipe, 1 << 16)
    *lines, worker.buffer = (worker.buffer + data).split(b"\n")
    for line in lines:
        word, number, *rest = line.decode(errors="replace").split(" ", 3)
        if word == "begin":
            worker.number, worker.since = int(number), time.monotonic()
            worker.computed = _computed(worker.process)
            next(worker.cases)
        else:
            tally.note(int(number), rest[0], rest[1].replace("\\n", "\n"))
            worker.number = -1
    return bool(data)


def _problem(worker: _Worker) -> str:
    """What is wrong with a worker that is in the midst of a case."""
    if worker.number < 0:
        return ""
    if _memory(worker.process) > worker.held + MEMORY:
        return "memory"
    taken = time.monotonic() - worker.since
    longest = getattr(worker.case, "longest", LONGEST)
    computed = _computed(worker.process) - worker.computed if taken > SECONDS else 0.0
    return "hang" if max(taken / longest, computed / SECONDS) > 1 else ""


def _memory(process: int) -> int:
    """Bytes that a process holds, and those that it has started."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(_memory(int(child)) for child in children)


def _computed(process: int) -> float:
    """Seconds that a process has computed for."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _end(worker: _Worker) -> None:
    os.kill(worker.process, signal.SIGKILL)
    os.waitpid(worker.process, 0)
    os.close(worker.pipe)
