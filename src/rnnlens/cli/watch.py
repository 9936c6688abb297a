"""Long work with a progress bar, a log, checkpoints, and a stop that loses nothing."""

import math
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Self

import torch
from tqdm import tqdm

from rnnlens.base.errors import RnnlensError
from rnnlens.base.progress import Progress, Shorter
from rnnlens.draw.printable import shown
from rnnlens.model.train.distributed import Processes
from rnnlens.run.folder import Run

_LOOK = 0.5  # seconds between looks at the loss, each of which waits for the GPU
_OFTEN = 10.0  # seconds that are at least between saves at landmarks
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_HANG_UP = getattr(signal, "SIGHUP", None)  # the terminal was closed; Windows has no such signal


def check_seconds(seconds: float) -> None:
    """Refuse a time between checkpoints that is negative or no number."""
    if not 0 <= seconds < math.inf:
        raise RnnlensError(f"--checkpoint-seconds {seconds}: give a number from 0 up")


class Watch:
    """A context for work that calls `stop()` after each step.

    `look` gives the text beside the bar and raises an error if the work goes wrong; `save` writes
    the state; `shorter` is what makes the work shorter (see `Progress`). Ctrl-C, SIGTERM and a
    closed terminal stop the work after the step; a second Ctrl-C or SIGTERM stops it at once.
    """

    def __init__(
        self,
        run: Run,
        processes: Processes,
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
        self.look, self.save = look, save
        self.signal = 0
        self.looked = self.saved = self.began = time.monotonic()
        self.progress = Progress(
            total, done=done, unit=unit, device=device, shorter=shorter, say=self.say,
            quiet=not processes.first, leave=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        numbers = [*_SIGNALS]
        if _HANG_UP and signal.getsignal(_HANG_UP) is not signal.SIG_IGN:  # as nohup sets it
            numbers.append(_HANG_UP)
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
        """Save, unless that was done just now: a good moment to continue from has come."""
        if time.monotonic() - self.saved >= min(_OFTEN, self.seconds):
            self._save()

    def stopped(self) -> int:
        """Save after a stop; returns the exit code that a shell expects of the signal."""
        self._save()
        self.say("stopped; give the same command again to continue")
        return 128 + (self.signal or signal.SIGTERM)

    def say(self, line: str) -> None:
        """Print a line, and add it to the run's log."""
        if self.processes.first:
            tqdm.write(line)
            self.run.log(shown(line))
            self.progress.said = time.monotonic()  # nobody needs a second line soon

    @property
    def elapsed(self) -> float:
        """Seconds since the work began here."""
        return time.monotonic() - self.began

    def _save(self) -> None:
        self.look()
        if self.processes.first:
            self.save()
        self.saved = time.monotonic()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if not self.signal:
            self.signal = number
        elif number != _HANG_UP:  # which shells send again after the kernel
            raise KeyboardInterrupt
