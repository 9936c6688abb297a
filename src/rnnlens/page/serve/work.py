"""Computations off the event loop, in one queue: what is short goes first, what is long gives way.

Whatever is asked begins as short work, a few at once. Work that has taken some processor time, and
what is known to be long, is done one at a time while nobody's short work is: at its checkpoints
(base/pace.py) it lets others pass, and there it ends when its client has gone or it has taken too
much processor time.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from threading import Event, Lock
from typing import Protocol, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException

from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint, paced

AT_ONCE, WAITING = 2, 64
SECONDS = 1.5  # after which no further step of longer work is begun
PROCESSOR = 20.0  # seconds of processor time that a question may take
LONG = 0.05  # seconds of it after which work is long
SLICE = 0.01  # seconds of it between two looks at who waits
QUANTUM = 0.1  # seconds of it before other long work has its turn
PATIENCE = 0.2  # seconds that long work waits for short work that goes on and on
LOOKED = 0.1  # seconds between two looks whether a client has gone
_NOTICED = 0.05  # seconds after which a client of work that goes on is looked after
Result = TypeVar("Result")


class Client(Protocol):
    """Whoever asked."""

    async def is_disconnected(self) -> bool:
        """Whether nobody waits for the answer any more."""


class _Job:
    """A question that is being answered, and the pace of its work."""

    def __init__(self, work: "Work", client: Client, seat: str) -> None:
        """`seat`: of what is known to be long, only one with the same name is begun at once."""
        self.work, self.client, self.seat = work, client, seat
        self.is_long, self.is_begun, self.is_gone = bool(seat), False, False
        self.waited, self.since = 0.0, 0.0  # seconds, and since when it waits
        self.began = self.looked = self.turned = 0.0  # processor time of its thread
        self.place: asyncio.Future[None] | None = None  # where it has to wait for one
        self.turn = Event()  # for long work that has let others pass

    def run(self, function: Callable[[], Result]) -> Result:
        """Do the work, on this thread."""
        self.began = self.looked = self.turned = time.thread_time()
        with paced(self):
            return function()

    def checkpoint(self) -> None:
        """Wait until it is this work's turn; an error where it is given up."""
        now = time.thread_time()
        if now - self.looked < SLICE and self.work.has_turn(self):
            return
        self.looked = now
        if now - self.began > self.work.processor:
            raise RnnlensError(
                f"this took more than {self.work.processor:g} seconds of processor time; ask for "
                "less"
            )
        self.is_long = self.is_long or now - self.began > LONG
        began = time.monotonic()
        if self.is_long:
            self.turned = self.work.give_way(self, now, self.turned)
        self.waited += time.monotonic() - began
        if self.is_gone:
            raise _gone()

    def leave(self) -> None:
        """Let others have the turn of long work."""
        if self.is_long:
            self.work.leave(self)


class Work:
    """One queue for all that is computed."""

    def __init__(
        self,
        at_once: int = AT_ONCE,
        waiting: int = WAITING,
        seconds: float = SECONDS,
        processor: float = PROCESSOR,
    ) -> None:
        self.at_once, self.most, self.seconds, self.processor = (
            at_once, waiting, seconds, processor,
        )  # fmt: skip
        self._short: deque[_Job] = deque()  # that wait to begin
        self._long: deque[_Job] = deque()  # that wait to begin or to go on
        self._at_work: set[_Job] = set()
        self._seats: set[str] = set()  # of long work that is begun
        self._ended = ""  # of that which ended last: others' begins before more of its sort
        self._threads = CapacityLimiter(2 * (at_once + waiting))  # those who wait have one too
        self._lock = Lock()
        self._looked = -LOOKED

    @property
    def waiting(self) -> int:
        """How many have not begun."""
        return len(self._short) + sum(not job.is_begun for job in list(self._long))

    @property
    def busy(self) -> int:
        """How many compute now."""
        return len(self._at_work)

    async def do(
        self, client: Client, function: Callable[[], Result], seat: str = "", is_long: bool = False
    ) -> Result:
        """The result of a computation; one with a `seat` is long, and waits for those like it."""
        job = _Job(self, client, seat)
        job.is_long = job.is_long or is_long
        has_waited = await self._begin(job)
        watching = _Watching(job)
        try:
            if has_waited and await client.is_disconnected():
                raise _gone()
            watching.begin()
            return await to_thread.run_sync(job.run, function, limiter=self._threads)
        finally:
            watching.end()
            self._end(job)

    async def all_of(
        self,
        client: Client,
        steps: Callable[[], Iterator[tuple[Result, bool]]],
        is_long: bool = False,
    ) -> list[Result]:
        """The results of a longer one; each step says whether there is another.

        After a while there is none: whoever wants more than what is ready asks again.
        """

        def results() -> list[Result]:
            some, began = list[Result](), time.monotonic()
            for result, more in steps():
                some.append(result)
                if not more or time.monotonic() - began >= self.seconds:
                    break
                checkpoint()
            return some

        return await self.do(client, results, is_long=is_long)

    async def last_of(
        self, client: Client, steps: Callable[[], Iterator[tuple[Result, bool]]], seat: str = ""
    ) -> Result:
        """The last result of work whose parts are no answer."""

        def last() -> Result:
            for result, more in steps():
                if not more:
                    return result
                checkpoint()
            raise RuntimeError("work without an end")

        return await self.do(client, last, seat)

    async def _begin(self, job: _Job) -> bool:
        """Wait for a place to compute; False: there was one at once."""
        if self.waiting >= self.most:
            await self._drop_gone()
        if self.waiting >= self.most:
            raise HTTPException(
                503, "the server has too much to do; ask again in a moment", {"Retry-After": "1"}
            )
        job.since = time.monotonic()
        queue = self._long if job.is_long else self._short
        with self._lock:
            queue.append(job)
            self._give()
            if job.is_begun:
                return False
            place = job.place = asyncio.get_running_loop().create_future()
        try:
            await place
        except BaseException:
            with self._lock:
                if job in queue:
                    queue.remove(job)
            self._end(job)
            raise
        return True

    async def _drop_gone(self) -> None:
        """Have nobody wait any more who has gone: whoever types on gives up a late answer, and asks
        again.
        """
        now = time.monotonic()
        if now - self._looked < LOOKED:
            return
        self._looked = now
        for job in [*self._short, *self._long]:
            place = job.place
            if place is None or place.done() or not await job.client.is_disconnected():
                continue
            if not place.done():  # nor was it given away meanwhile
                place.set_exception(_gone())
        await asyncio.sleep(0)  # until they have left

    def has_turn(self, job: _Job) -> bool:
        """Whether it may compute now."""
        return job in self._at_work

    def give_way(self, job: _Job, now: float, turned: float) -> float:
        """Let others pass, on the thread of long work; when it was last its turn among the long.

        `now` and `turned` are processor times of its thread.
        """
        with self._lock:
            others = any(one is not job and one.is_long for one in self._at_work)
            short = self._short or any(not one.is_long for one in self._at_work)
            over = bool(self._long) and now - turned > QUANTUM
            if job in self._at_work and not (others or short or over):
                return turned
            self._at_work.discard(job)
            job.turn.clear()
            job.since = time.monotonic()
            (self._long.append if over or others else self._long.appendleft)(job)
            self._give()
        job.turn.wait()
        return now if over else turned

    def leave(self, job: _Job) -> None:
        """Have its turn given to the next."""
        with self._lock:
            self._at_work.discard(job)
            self._give()

    def _end(self, job: _Job) -> None:
        """It is done, or will not be."""
        with self._lock:
            if job.is_begun:
                self._seats.discard(job.seat)
                self._ended = job.seat
            self._at_work.discard(job)
            self._give()

    def _give(self) -> None:
        """Give turns to those who wait, as far as there are some; the lock is held."""
        while True:
            is_long = [job.is_long for job in self._at_work]
            short = is_long.count(False)
            free = [job for job in self._long if job.is_begun or job.seat not in self._seats]
            again = [not job.is_begun and job.seat == self._ended for job in free]
            long = free[again.index(min(again))] if free and not any(is_long) else None
            late = long is not None and time.monotonic() - long.since > PATIENCE
            if long and (late or not (self._short or short)):
                self._long.remove(long)
                self._set_to_work(long)
            elif self._short and short < self.at_once:
                self._set_to_work(self._short.popleft())
            else:
                return

    def _set_to_work(self, job: _Job) -> None:
        self._at_work.add(job)
        if job.is_begun:
            job.turn.set()
            return
        job.is_begun = True
        if job.seat:
            self._seats.add(job.seat)
        if job.place:
            job.place.get_loop().call_soon_threadsafe(_give_place, job.place)


class _Watching:
    """Notices when the client of work that goes on has gone. Most work is over before it looks, and
    never pays for a task that does.
    """

    def __init__(self, job: _Job) -> None:
        self.job = job
        self._later: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Look after a while, and then again and again."""
        self._later = asyncio.get_running_loop().call_later(_NOTICED, self._look)

    def end(self) -> None:
        """Look no more."""
        for one in (self._later, self._task):
            if one:
                one.cancel()

    def _look(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._until_gone())

    async def _until_gone(self) -> None:
        while not await self.job.client.is_disconnected():
            await asyncio.sleep(LOOKED)
        self.job.is_gone = True


def _give_place(place: asyncio.Future[None]) -> None:
    if not place.done():  # by somebody who has given it up
        place.set_result(None)


def _gone() -> HTTPException:
    return HTTPException(499, "you have gone")
