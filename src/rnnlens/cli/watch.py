"""Watching over a training: progress, log, checkpoints, and stopping without losing anything."""

import signal
import time
from types import FrameType, TracebackType

from tqdm import tqdm

from rnnlens.model.checkpoint import save_checkpoint
from rnnlens.model.training import Trainer
from rnnlens.run import Run

_LOOK = 0.5  # seconds between looks at the loss, each of which waits for the GPU


class Watch:
    """Runs a trainer for the command line."""

    def __init__(self, trainer: Trainer, run: Run, identity: str, seconds: float) -> None:
        self.trainer, self.run, self.identity, self.seconds = trainer, run, identity, seconds
        self.first = trainer.processes.first
        self.signal = 0
        self.looked = self.saved = self.began = time.monotonic()
        progress, total = trainer.progress, trainer.config.epochs * trainer.steps
        self.bar = tqdm(
            total=total,
            initial=progress.epoch * trainer.steps + progress.step,
            unit="step",
            dynamic_ncols=True,
            disable=None if self.first else True,  # None: only where somebody can see it
        )

    def train(self) -> int:
        """Train to the end and return 0, or until a signal and return the shell's code for it."""
        progress = self.trainer.progress
        if progress.epoch or progress.step:
            self._say(f"continuing in epoch {progress.epoch + 1}, after step {progress.step}")
        with _Signals(self), self.bar:
            ended = self.trainer.run(self._after_step, self._after_epoch)
        if not ended:
            self.trainer.check_finite()
            self._save()
            self._say("stopped; give the same command again to continue")
            return 128 + (self.signal or signal.SIGTERM)
        if progress.epoch < self.trainer.config.epochs:
            self._say(f"no better validation for {self.trainer.config.patience} epochs: done")
        return 0

    def _after_step(self) -> bool:
        """Show, save, and say whether to stop."""
        self.bar.update()
        now = time.monotonic()
        if now - self.looked >= _LOOK:
            self.looked = now
            self.trainer.check_finite()
            shown = f"{self.trainer.training_perplexity():.1f}"
            self.bar.set_postfix(perplexity=shown, refresh=False)
            self.bar.set_description(self._epoch(self.trainer.progress.epoch + 1), refresh=False)
        if now - self.saved >= self.seconds:
            self.trainer.check_finite()
            self._save()
        return self.trainer.processes.any(self.signal != 0)

    def _after_epoch(self) -> None:
        progress = self.trainer.progress
        record = progress.history[-1]
        mark = " *" if progress.best_epoch == progress.epoch else ""
        now = time.monotonic()
        self._say(
            f"{self._epoch(progress.epoch)}  perplexity: training {record['train']:.2f}, "
            f"validation {record['valid']:.2f}{mark}  ({now - self.began:.1f} s)"
        )

    def _epoch(self, number: int) -> str:
        return (
            f"epoch {number:>{len(str(self.trainer.config.epochs))}}/{self.trainer.config.epochs}"
        )

    def _save(self) -> None:
        if self.first:
            save_checkpoint(self.trainer, self.run.checkpoint, self.identity)
        self.saved = time.monotonic()

    def _say(self, line: str) -> None:
        if self.first:
            tqdm.write(line)
            self.run.log(line)


class _Signals:
    """While training, Ctrl-C and SIGTERM ask to stop after the step; a second one stops at once."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def __enter__(self) -> None:
        self.before = {s: signal.signal(s, self._note) for s in (signal.SIGINT, signal.SIGTERM)}

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.watch.signal:
            raise KeyboardInterrupt
        self.watch.signal = number
