"""Who a job reports to: lines, a bar, a log, checkpoints, and a stop that loses nothing."""

import math
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType
from typing import NoReturn, Self

import torch

from rnnlens.base.errors import RnnlensError, Stopped
from rnnlens.base.progress import Progress, Shorter, to_stderr
from rnnlens.draw.printable import shown
from rnnlens.model.train.distributed import Processes
from rnnlens.run.folder import Run

_LOOK = 0.5  # seconds between looks at the loss, each of which waits for the GPU
_OFTEN = 10.0  # seconds that are at least between saves at landmarks
_SHARE = 50  # of the time, the part in so many that these may take
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_HANG_UP = getattr(signal, "SIGHUP", None)  # the terminal was closed; Windows has no such signal


@dataclass(frozen=True)
class Observer:
    """Who a job reports to.

    `say` is given lines; `again` tells how a job that was stopped is continued; `command` is what
    somebody typed for it, which the run keeps.
    """

    say: Callable[[str], None] = to_stderr
    again: str = "call it again to continue"
    command: str = ""


def among(observer: Observer, processes: Processes) -> Observer:
    """An observer in the first of several processes, and one that says nothing in the others."""
    return observer if processes.first else replace(observer, say=_silent)


def _silent(line: str) -> None:
    """Say nothing."""


def check_seconds(seconds: float) -> None:
    """Refuse a time between checkpoints that is negative or no number."""
    if not 0 <= seconds < math.inf:
        raise RnnlensError(f"--checkpoint-seconds {seconds}: give a number from 0 up")


class Resumable:
    """A context for work that calls `stop()` after each step, and can be continued later.

    `look` gives the text beside the bar and raises an error if the work goes wrong; `save` writes
    the state; `shorter` is what makes the work shorter (see `Progress`). Ctrl-C, SIGTERM and a
    closed terminal stop the work after the step; a second Ctrl-C or SIGTERM stops it at once.
    """

    def __init__(
        self,
        run: Run,
        processes: Processes,
        observer: Observer,
        *,
        total: int,
        done: int,
        unit: str,
        device: torch.device,
        shorter: Shorter,
        seconds: float,
        look: Callable[[], str],
        save: Callable[[], None],
    ) -> None:
        self.run, self.processes, self.seconds = run, processes, seconds
        self.observer, self.look, self.save = observer, look, save
        self.signal = 0
        self.looked = self.saved = self.began = time.monotonic()
        self.took = 0.0  # seconds to save
        self.progress = Progress(
            total, done=done, unit=unit, device=device, shorter=shorter, say=self.say,
            quiet=not processes.first, leave=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        numbers = [*_SIGNALS]
        if _HANG_UP and signal.getsignal(_HANG_UP) is not signal.SIG_IGN:  # as nohup sets it
            numbers.append(_HANG_UP)
        if threading.current_thread() is not threading.main_thread():
            numbers = []  # signals come to the main thread alone
        self.before = {number: signal.signal(number, self._note) for number in numbers}
        return self

    def __exit__(self, *_error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.progress.__exit__()

    def stop(self) -> bool:
        """Show progress, save when it is time, and say whether to stop."""
        now = time.monotonic()
        if now - self.looked >= _LOOK:
            self.looked = now
            self.progress.describe(self.look())
        self.progress.advance()
        if now - self.saved >= self.seconds:
            self._save()
        return self.processes.any(self.signal != 0)

    def landmark(self) -> None:
        """Save, unless that was done just now: a good moment to continue from has come. What takes
        long to save is saved less often, and at least as often as `stop` does.
        """
        apart = max(_OFTEN, _SHARE * self.took)
        if time.monotonic() - self.saved >= min(apart, self.seconds):
            self._save()

    def stopped(self) -> NoReturn:
        """Save after a stop, and end the job."""
        self._save()
        self.say(f"stopped; {self.observer.again}")
        raise Stopped(128 + (self.signal or signal.SIGTERM))

    def say(self, line: str) -> None:
        """Tell the observer a line, and add it to the run's log."""
        if self.processes.first:
            self.observer.say(line)
            self.run.log(shown(line))
            self.progress.said = time.monotonic()  # nobody needs a second line soon

    @property
    def elapsed(self) -> float:
        """Seconds since the work began here."""
        return time.monotonic() - self.began

    def _save(self) -> None:
        began = time.monotonic()
        self.look()
        if self.processes.first:
            self.save()
        self.saved = time.monotonic()
        self.took = self.saved - began

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if not self.signal:
            self.signal = number
        elif number != _HANG_UP:  # which shells send again after the kernel
            raise KeyboardInterrupt
