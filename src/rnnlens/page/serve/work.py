"""Computations off the event loop: a few at once, a bounded number waiting, short ones first."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from typing import Protocol, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

AT_ONCE, WAITING = 2, 64
SECONDS = 1.5  # after which no further step of longer work is begun
LOOKED = 0.1  # seconds in which it is looked once at most who of those who wait has gone
Result = TypeVar("Result")


class Client(Protocol):
    """Whoever asked."""

    async def is_disconnected(self) -> bool:
        """Whether nobody waits for the answer any more."""


class Work:
    """Turns at computing. Whoever has had fewest goes first, so long work delays no short work."""

    def __init__(
        self, at_once: int = AT_ONCE, waiting: int = WAITING, seconds: float = SECONDS
    ) -> None:
        self.free, self.most, self.waiting, self.seconds = at_once, waiting, 0, seconds
        self._queue: list[tuple[int, int, asyncio.Future[None], Client]] = []
        self._numbers = count()
        self._looked = -LOOKED

    async def do(self, client: Client, function: Callable[[], Result]) -> Result:
        """The result of a short computation."""
        async with self._turn(client, 0):
            return await self._run(client, function)

    async def all_of(self, client: Client, steps: Iterator[tuple[Result, bool]]) -> list[Result]:
        """The results of a longer one, a turn for each; each says whether there is another.

        After a while there is none: whoever wants more than what is ready asks again.
        """
        results: list[Result] = []
        more, began = True, time.monotonic()
        while more and (not results or time.monotonic() - began < self.seconds):
            async with self._turn(client, len(results)):
                result, more = await self._run(client, lambda: next(steps))
            results.append(result)
        return results

    async def last_of(self, client: Client, steps: Iterator[tuple[Result, bool]]) -> Result:
        """The last result of work whose parts are no answer, however long it takes."""
        turns, more = count(), True
        while more:
            async with self._turn(client, next(turns)):
                result, more = await self._run(client, lambda: next(steps))
        return result

    async def _run(self, client: Client, function: Callable[[], Result]) -> Result:
        if await client.is_disconnected():
            raise _gone()
        return await run_in_threadpool(function)

    @asynccontextmanager
    async def _turn(self, client: Client, had: int) -> AsyncIterator[None]:
        """A place to compute for somebody who has had so many turns."""
        if not self.free and not had and self.waiting >= self.most:
            await self._drop_gone()
        if self.free:  # perhaps only by now
            self.free -= 1
        else:
            await self._wait(client, had)
        try:
            yield
        finally:
            self._leave()

    async def _wait(self, client: Client, had: int) -> None:
        if not had and self.waiting >= self.most:
            raise HTTPException(
                503, "the server has too much to do; ask again in a moment", {"Retry-After": "1"}
            )
        place = asyncio.get_running_loop().create_future()
        heappush(self._queue, (had, next(self._numbers), place, client))
        self.waiting += 1
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was given to us as we gave up
                self._leave()
            raise
        finally:
            self.waiting -= 1

    async def _drop_gone(self) -> None:
        """Have nobody wait any more who has gone: whoever types on gives up a late answer, and asks
        again.
        """
        now = time.monotonic()
        if now - self._looked < LOOKED:
            return
        self._looked = now
        for *_, place, client in list(self._queue):
            if place.done() or not await client.is_disconnected():
                continue
            if not place.done():  # nor was it given away meanwhile
                place.set_exception(_gone())
        await asyncio.sleep(0)  # until they have left

    def _leave(self) -> None:
        """Give the place to the next who still waits."""
        while self._queue:
            *_, place, _ = heappop(self._queue)
            if not place.done():
                place.set_result(None)
                return
        self.free += 1


def _gone() -> HTTPException:
    return HTTPException(499, "you have gone")
