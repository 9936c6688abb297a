"""Connections to this machine only, and none that waits for ever."""

import asyncio
import json
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from threading import current_thread, main_thread
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from rnnlens.base.errors import RnnlensError
from rnnlens.page.serve.guard import SAFE

MOST = 256  # connections; beyond, the least deserving makes room
SILENT = MOST // 4  # of them that never asked anything; beyond, the first of these makes room
PATIENCE = 10.0  # seconds for the head of a request to arrive


class Announced(uvicorn.Server):
    """Calls `ready` once it answers, and `ended` when it ends.

    By then Ctrl-C and SIGTERM end it, even where it was started with SIGINT ignored, as shells do
    for what runs in the background. So does a closed terminal, unless that is ignored.
    """

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], ended: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self.ready, self.ended = ready, ended

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        hang_up = getattr(signal, "SIGHUP", None)  # Windows has no such signal
        with super().capture_signals():
            ignored = hang_up is None or signal.getsignal(hang_up) is signal.SIG_IGN
            if hang_up is None or ignored or current_thread() is not main_thread():
                yield
                return
            before = signal.signal(hang_up, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(hang_up, before)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # cancelled work is no error
        await super().shutdown(sockets)
        self.ended()


class Stage(IntEnum):
    """How far the talk on a connection has come; where room is short, the first go first."""

    PARTIAL = 0  # a part of a request is here, of its head or of its body
    IDLE = 1  # nothing was asked since the last answer, or ever
    UNREAD = 2  # an answer is not being taken
    BUSY = 3  # it is being answered


class Impatient(H11Protocol):
    """HTTP that closes connections whose request does not come."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.since = self.loop.time()
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def stage(self) -> Stage:
        """How far the talk has come."""
        if self.cycle is None or self.cycle.response_complete:
            return Stage.PARTIAL if self.conn.trailing_data[0] else Stage.IDLE
        if self.cycle.more_body:
            return Stage.PARTIAL
        return Stage.UNREAD if self.flow.write_paused else Stage.BUSY

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        others = [
            c for c in self.connections
            if isinstance(c, Impatient) and c is not self and not c.transport.is_closing()
        ]  # fmt: skip
        if len(others) >= MOST:
            # Whoever has just come has not asked yet either, so that silence alone is no reason.
            silent = [c for c in others if c.cycle is None]
            some = silent if len(silent) > SILENT else others
            first = min(some, key=lambda c: (c.stage, c.since))
            (self if first.stage is Stage.BUSY else first).transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.stage is Stage.IDLE:
            self.since = self.loop.time()
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self.since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """What is not HTTP is answered in the words and with the headers of everything else."""
        body = json.dumps({"error": f"{msg} Send HTTP/1.1."}).encode()
        head = {**SAFE, "content-type": "application/json", "connection": "close"}
        head["content-length"] = str(len(body))
        events = (
            h11.Response(status_code=400, headers=list(head.items()), reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # else it is answered already
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle and not self.cycle.response_complete:
            self.cycle.disconnected = True  # whatever else would be answered cannot be sent
            self.cycle.message_event.set()
        self.transport.close()

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(PATIENCE, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def listen_often(port: int, count: int) -> list[socket.socket]:
    """Open a port of this machine so often, for as many processes, if it is nobody else's."""
    with listen(port) as alone:
        free = int(alone.getsockname()[1])
    return [listen(free, shared=True) for _ in range(count)]


def listen(port: int, shared: bool = False) -> socket.socket:
    """Open a port of this machine; 0: any that is free; `shared`: others of ours may, too."""
    # asyncio sets TCP_NODELAY only where a socket says it is TCP; without, answers wait 40 ms.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise RnnlensError(
            f"cannot serve on port {port} ({reason}); give another --port"
        ) from error
    return listener
