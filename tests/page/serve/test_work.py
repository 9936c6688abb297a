"""Turns at computing."""

import asyncio
import threading
import time
from itertools import pairwise

import pytest
from starlette.exceptions import HTTPException
from tests.loops import run

from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint, elsewhere
from rnnlens.page.serve import work as work_module
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
        assert (work.waiting, work.busy) == (0, 0)

    run(ask())
    assert most[0] == 2


def test_nothing_is_computed_for_those_who_have_gone_while_they_waited():
    go = threading.Event()

    async def ask():
        work = Work(at_once=1)
        busy = asyncio.create_task(work.do(Client(), lambda: go.wait(20)))
        await asyncio.sleep(0)
        gone = asyncio.create_task(work.do(Client(gone=True), lambda: pytest.fail("computed")))
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(HTTPException, match="499"):
            await gone
        assert await busy
        assert await work.do(Client(), lambda: "done") == "done"
        assert (work.waiting, work.busy) == (0, 0)

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
        assert (work.waiting, work.busy) == (0, 0)

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
        assert (work.waiting, work.busy) == (0, 0)

    run(ask())


def compute(seconds):
    """Take processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def long_work(seconds, done=None, name=""):
    """So much of it, in pieces of two milliseconds."""

    def work():
        for _ in range(int(seconds / 0.002)):
            compute(0.002)
            checkpoint()
            if done is not None:
                done.append(name)
        return name

    return work


def test_what_is_short_goes_before_what_is_long():
    """Long work of five is under way; somebody who comes last has their answer at once."""

    async def ask():
        work = Work(at_once=1)
        long = [asyncio.create_task(work.do(Client(), long_work(0.4))) for _ in range(5)]
        await asyncio.sleep(0.3)
        waits = []
        for _ in range(10):
            began = time.perf_counter()
            await work.do(Client(), lambda: compute(0.002))
            waits.append(time.perf_counter() - began)
            await asyncio.sleep(0.01)
        assert not any(task.done() for task in long[1:])
        await asyncio.gather(*long)
        assert work.busy == work.waiting == 0
        return sorted(waits)[len(waits) // 2]

    assert run(ask()) < 0.1


def test_long_work_goes_on_however_much_short_work_there_is(monkeypatch):
    monkeypatch.setattr(work_module, "PATIENCE", 0.02)

    async def ask():
        work, over = Work(at_once=1), asyncio.Event()

        async def type_on():
            while not over.is_set():
                await work.do(Client(), lambda: compute(0.001))

        typists = [asyncio.create_task(type_on()) for _ in range(3)]
        assert await asyncio.wait_for(work.do(Client(), long_work(0.2, name="done")), 20) == "done"
        over.set()
        await asyncio.gather(*typists)

    run(ask())


def test_long_work_takes_turns_with_other_long_work():
    done: list[str] = []

    async def ask():
        work = Work()
        await asyncio.gather(*(
            work.do(Client(), long_work(0.4, done, name), seat=name) for name in ("a", "b")
        ))  # fmt: skip

    run(ask())
    changes = sum(one != other for one, other in pairwise(done))
    assert 2 <= changes <= 20
    assert sorted(done) == done.count("a") * ["a"] + done.count("b") * ["b"]


def test_of_long_work_of_one_sort_only_one_is_begun():
    """Memory is what it may take much of."""
    now, most = [0], [0]

    def work_of(seconds):
        def work():
            now[0] += 1
            most[0] = max(most[0], now[0])
            long_work(seconds)()
            now[0] -= 1

        return work

    async def ask():
        work = Work()
        some = [asyncio.create_task(work.do(Client(), work_of(0.1), "figure")) for _ in range(4)]
        other = asyncio.create_task(work.do(Client(), lambda: "found", "find"))
        assert await other == "found"
        assert not all(task.done() for task in some)
        await asyncio.gather(*some)

    run(ask())
    assert most[0] == 1


def test_work_ends_when_it_has_taken_too_much_processor_time():
    """The time that it waits for others is not its own."""

    async def ask():
        work = Work(processor=0.1)
        with pytest.raises(RnnlensError, match=r"more than 0\.1 seconds of processor time"):
            await work.do(Client(), long_work(5))
        assert work.busy == 0

        def patient():
            time.sleep(0.3)
            checkpoint()
            return "done"

        return await work.do(Client(), patient)

    assert run(ask()) == "done"


def test_long_work_is_given_up_when_its_client_goes():
    client, done = Client(), list[str]()

    async def ask():
        work = Work()
        task = asyncio.create_task(work.do(client, long_work(10, done), "figure"))
        while not done:
            await asyncio.sleep(0.01)
        client.gone = True
        with pytest.raises(HTTPException, match="499"):
            await task
        assert work.busy == 0
        assert await work.do(Client(), lambda: "next", "figure") == "next"

    run(ask())
    assert len(done) < 2000


def test_what_computes_elsewhere_keeps_nobody_waiting():
    """As a database does, which a question waits for."""
    go = threading.Event()

    def asks():
        with elsewhere():
            go.wait(20)
        return "answered"

    async def ask():
        work = Work(at_once=1)
        waits = asyncio.create_task(work.do(Client(), asks, "find"))
        await asyncio.sleep(0.02)
        assert await work.do(Client(), lambda: "long", "similar") == "long"
        assert await work.do(Client(), lambda: "short") == "short"
        go.set()
        return await waits

    assert run(ask()) == "answered"


def test_long_work_is_answered_with_what_is_ready_after_a_while():
    def steps():
        for k in range(100):
            time.sleep(0.02)
            yield k, k < 99

    async def ask():
        return await Work(seconds=0.1).all_of(Client(), steps)

    made = run(ask())
    assert made == list(range(len(made)))
    assert 1 <= len(made) < 20


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
    assert run(work.last_of(Client(), steps)) == "the whole"
    assert work.busy == 0
