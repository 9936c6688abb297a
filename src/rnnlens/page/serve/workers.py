"""Several processes that serve one port, with one copy of the weights.

The process that was started opens the runs, answers a first question so that all that is made once
is there, and forks: what it has read stays where it is, in memory that all of them share. Each has
a listening socket of its own on the port, among which the system deals out connections; a browser
keeps its connection, so that whoever types is answered by the process that has their last rows at
hand. A process that dies is replaced.
"""

import asyncio
import gc
import os
import signal
import socket
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress

import torch
import uvicorn

from rnnlens.base.endings import put_away
from rnnlens.base.errors import RnnlensError

MOST = 64  # processes
_PATIENCE = 4.0  # seconds that they have to end
_SOON, _TIMES = 5.0, 3  # so many that die within so many seconds of their start are not replaced
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def check_workers(count: int) -> None:
    """Refuse what cannot be served with."""
    if not 1 <= count <= MOST:
        raise RnnlensError(f"--workers {count} is not from 1 to {MOST}; give one for each core")
    if count > 1 and not (hasattr(os, "fork") and hasattr(socket, "SO_REUSEPORT")):
        raise RnnlensError(
            f"--workers {count} needs processes that share memory and a port, which this system "
            "does not have; leave it out"
        )


class Workers:
    """Processes that each serve on one of some listening sockets."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        server: Callable[[Callable[[], None]], uvicorn.Server],
    ) -> None:
        """`server` makes what serves, in the process that will, and is given what to call then."""
        self.listeners, self.server = listeners, server
        self._of: dict[int, int] = {}  # the number of the socket, by process
        self._began: dict[int, float] = {}
        self._died_soon = 0
        self._alive, self._ours = os.pipe()  # which ends when this process does, however it ends

    def run(self, ready: Callable[[], None], ended: Callable[[], None]) -> None:
        """Serve until a signal ends this process; `ended` is called then, too."""

        def end() -> None:
            self.stop()
            ended()

        gc.collect()
        gc.freeze()  # or looking through what is shared would make copies of it
        with put_away(end), suppress(_Interrupted):
            try:
                _hear_interrupts()
                for number in range(len(self.listeners)):
                    self._start(number)
                ready()
                while True:
                    self._replace(*os.waitpid(-1, 0))
            finally:
                end()

    def _replace(self, process: int, status: int) -> None:
        """Start another in the place of one that has ended; an error where all of them do."""
        number = self._of.pop(process, None)
        if number is None:  # a browser, which was started for the page
            return
        self._died_soon += 1
        if time.monotonic() - self._began.pop(process) > _SOON:
            self._died_soon = 0
        if self._died_soon >= _TIMES:
            raise RnnlensError(
                f"processes that serve die as soon as they are started ({_reason(status)}); give "
                "fewer --workers, or none"
            )
        self._start(number)

    def _start(self, number: int) -> None:
        with warnings.catch_warnings():  # of threads, which have nothing to do at this moment
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            self._of[process], self._began[process] = number, time.monotonic()
            return
        code = 1
        try:
            self._serve(number)
            code = 0
        except BaseException as error:  # noqa: BLE001 - nothing may return to what was forked
            with suppress(OSError):
                os.write(2, f"rnnlens: a process that serves has failed: {error!r}\n".encode())
        finally:
            os._exit(code)

    def _serve(self, number: int) -> None:
        """Serve in this process, until it is told to end or the one that started it is gone."""
        os.close(self._ours)
        for name in _SIGNALS:
            if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
                signal.signal(getattr(signal, name), lambda *_: os._exit(0))
        torch.set_num_threads(1)  # torch's own threads were not forked; processes share the cores
        server = self.server(
            lambda: asyncio.get_running_loop().add_reader(
                self._alive, setattr, server, "should_exit", True
            )
        )
        server.run(sockets=[self.listeners[number]])

    def stop(self) -> None:
        """End all of them: by asking first."""
        for process in self._of:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        until = time.monotonic() + _PATIENCE
        while self._of and time.monotonic() < until:
            for process in list(self._of):
                with suppress(ChildProcessError):
                    if os.waitpid(process, os.WNOHANG) == (0, 0):
                        continue
                del self._of[process]
            time.sleep(0.01 if self._of else 0)
        for process in self._of:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._of.clear()


class _Interrupted(BaseException):
    """Ctrl-C, where the process was started with it ignored."""


def _hear_interrupts() -> None:
    """Have Ctrl-C end this process also where shells have it ignored, as in the background."""

    def stop(*_: object) -> None:
        raise _Interrupted

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, stop)


def _reason(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit status {code}"
