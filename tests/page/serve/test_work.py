"""Turns at computing."""

import asyncio
import threading
import time

import pytest
from starlette.exceptions import HTTPException
from tests.loops import run

from rnnlens.page.serve.work import Work


class Client:
    """Whoever asked."""

    def __init__(self, gone=False):
        self.gone = gone

    async def is_disconnected(self):
        return self.gone


def test_too_much_work_is_turned_away_and_the_rest_is_done():
    """Two are computed at once, three may wait, and the next is told so at once."""
    go, lock, now, most = threading.Event(), threading.Lock(), [0], [0]

    def slow():
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        go.wait(20)
        with lock:
            now[0] -= 1
        return "done"

    async def ask():
        work = Work(at_once=2, waiting=3)
        five = [asyncio.create_task(work.do(Client(), slow)) for _ in range(5)]
        while work.waiting < 3 or now[0] < 2:
            await asyncio.sleep(0.01)
        with pytest.raises(HTTPException, match="503") as refused:
            await work.do(Client(), slow)
        assert refused.value.headers == {"Retry-After": "1"}
        five[4].cancel()  # somebody who waits gives up: there is room again
        await asyncio.sleep(0)
        sixth = asyncio.create_task(work.do(Client(), slow))
        await asyncio.sleep(0)
        go.set()
        assert await asyncio.gather(*five[:4], sixth) == ["done"] * 5
        assert (work.waiting, work.free) == (0, 2)

    run(ask())
    assert most[0] == 2


def test_nothing_is_computed_for_those_who_have_gone():
    async def ask():
        work = Work()
        with pytest.raises(HTTPException, match="499"):
            await work.do(Client(gone=True), lambda: pytest.fail("computed"))
        assert await work.do(Client(), lambda: "done") == "done"

    run(ask())


def test_those_who_have_gone_keep_no_place_from_others():
    """All who wait have given up; somebody else comes, and is not turned away."""
    go = threading.Event()

    async def ask():
        work, gone = Work(at_once=1, waiting=3), [Client() for _ in range(3)]
        busy = asyncio.create_task(work.do(Client(), lambda: go.wait(20)))
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(work.do(one, pytest.fail)) for one in gone]
        await asyncio.sleep(0)
        for client in gone[1:]:
            client.gone = True
        last = asyncio.create_task(work.do(Client(), lambda: "done"))
        while work.waiting > 2:
            await asyncio.sleep(0.001)
        gone[0].gone = True
        go.set()
        assert (await busy, await last) == (True, "done")
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert [str(one)[:3] for one in found] == ["499"] * 3
        assert (work.waiting, work.free) == (0, 1)

    run(ask())


def test_a_place_that_is_given_while_it_is_asked_who_has_gone():
    """Whether somebody has gone is known only after a while, in which it is their turn."""
    asked, given, go = asyncio.Event(), asyncio.Event(), threading.Event()

    class Slow(Client):
        async def is_disconnected(self):
            asked.set()
            while not given.is_set():
                await asyncio.sleep(0.001)
            return True

    work = Work(at_once=1, waiting=1)

    async def ask():
        busy = asyncio.create_task(work.do(Client(), lambda: go.wait(20)))
        await asyncio.sleep(0)
        slow = asyncio.create_task(work.do(Slow(), pytest.fail))
        await asyncio.sleep(0)
        last = asyncio.create_task(work.do(Client(), lambda: "done"))
        await asked.wait()
        go.set()
        assert await busy
        given.set()
        assert await last == "done"
        with pytest.raises(HTTPException, match="499"):
            await slow
        assert (work.waiting, work.free) == (0, 1)

    run(ask())


def test_short_work_does_not_wait_for_long_work():
    """Somebody with one step, who comes last, is done long before those with fifty."""
    done = []

    def steps(name, number):
        for k in range(number):
            done.append(name)
            yield name, k < number - 1

    async def ask():
        work = Work(at_once=1)
        long = [asyncio.create_task(work.all_of(Client(), steps(k, 50))) for k in range(5)]
        await asyncio.sleep(0.005)
        assert await work.all_of(Client(), steps("short", 1)) == ["short"]
        after = len(done)
        assert [len(made) for made in await asyncio.gather(*long)] == [50] * 5
        return after

    assert run(ask()) < 100
    assert len(done) == 251


def test_long_work_is_answered_with_what_is_ready_after_a_while():
    def steps():
        for k in range(100):
            time.sleep(0.02)
            yield k, k < 99

    async def ask():
        return await Work(seconds=0.1).all_of(Client(), steps())

    made = run(ask())
    assert made == list(range(len(made)))
    assert 1 <= len(made) < 20


def test_long_work_stops_when_its_client_goes():
    client, seen = Client(), []

    def steps():
        for k in range(100):
            seen.append(k)
            client.gone = k == 3
            yield k, True

    async def ask():
        work = Work()
        with pytest.raises(HTTPException, match="499"):
            await work.all_of(client, steps())
        assert work.free == 2

    run(ask())
    assert seen == [0, 1, 2, 3]


def test_a_failure_leaves_room_for_the_next():
    async def ask():
        work = Work(at_once=1)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await work.do(Client(), lambda: 1 / 0)
        return await work.do(Client(), lambda: "done")

    assert run(ask()) == "done"


def test_work_whose_parts_are_no_answer_is_done_to_its_end():
    def steps():
        yield "a part", True
        yield "another", True
        yield "the whole", False

    work = Work(seconds=0)
    assert run(work.last_of(Client(), steps())) == "the whole"
    assert work.free == 2
    with pytest.raises(HTTPException):
        run(work.last_of(Client(gone=True), steps()))
