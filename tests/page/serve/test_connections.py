"""Real sockets: slow, hostile and hasty clients do not keep others from their answers."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace

import pytest
from tests.asks import grid_json

from rnnlens.ask.answer import TABLE
from rnnlens.ask.grids import grid_steps
from rnnlens.base.errors import RnnlensError
from rnnlens.page.serve import connections
from rnnlens.page.serve.app import application, over_http
from rnnlens.page.serve.connections import listen

BODY = json.dumps({"text": "the dog sees ."}).encode()
HEAD = (
    b"POST /api/grid HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)
REQUEST = HEAD % len(BODY) + BODY
SOON = 5.0  # seconds: what an honest client may be kept waiting on a busy machine


@contextmanager
def served(lens, arrival=10.0, buffer=2**20, table=TABLE) -> Iterator[tuple[str, int]]:
    """A server in a thread; `buffer` bytes of an answer leave though nobody reads them."""
    app = application({"served": lens.subject}, table=table)
    app.arrival = arrival
    listener = listen(0)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    server = over_http(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module", autouse=True)
def _warm(formula):
    grid_json(formula, "the dog sees .")  # the first of a process takes longest


@pytest.fixture(scope="module")
def address(formula) -> Iterator[tuple[str, int]]:
    with served(formula, arrival=1.0) as found:
        yield found


def test_answers_are_sent_without_waiting_for_more(formula, monkeypatch):
    accepted: list[int] = []
    made = connections.Impatient.connection_made

    def noting(protocol, transport):
        taken = transport.get_extra_info("socket")
        accepted.append(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(protocol, transport)

    monkeypatch.setattr(connections.Impatient, "connection_made", noting)
    with served(formula) as found:
        ask(found)
    assert len(accepted) == 1
    assert accepted[0] != 0


def connect(address):
    return socket.create_connection(address, timeout=SOON)


@contextmanager
def connected(address, count):
    """So many connections."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(connect(address))) for _ in range(count)]


def answer(connection) -> tuple[int, bytes]:
    """The status and the body of one answer."""
    read = b""
    while b"\r\n\r\n" not in read:
        more = connection.recv(65536)
        assert more, "closed without an answer"
        read += more
    head, _, body = read.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(65536)
    return int(head.split()[1]), body


def ask(address) -> float:
    """An honest question; how long it took to be answered."""
    began = time.perf_counter()
    with closing(connect(address)) as connection:
        connection.sendall(REQUEST)
        status, body = answer(connection)
    assert (status, len(json.loads(body)["rows"])) == (200, 4)
    return time.perf_counter() - began


def test_requests_on_one_connection_are_answered_in_turn(address):
    with closing(connect(address)) as connection:
        for _ in range(3):
            connection.sendall(REQUEST)
            assert answer(connection)[0] == 200


@pytest.mark.slow
def test_bodies_that_drip_keep_nobody_waiting_and_are_refused(address):
    with connected(address, 80) as slow:
        for connection in slow:
            connection.sendall(HEAD % len(BODY) + BODY[:3])
        assert ask(address) < SOON
        for connection in slow:
            status, body = answer(connection)
            assert status == 408
            assert "did not arrive" in json.loads(body)["error"]


def test_a_huge_body_is_refused_before_it_is_sent(address):
    with closing(connect(address)) as connection:
        connection.sendall(HEAD % 10**9)
        status, body = answer(connection)
    assert status == 413
    assert "256 KB" in json.loads(body)["error"]


@pytest.mark.slow
def test_silent_connections_are_closed(formula, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 0.3)
    with served(formula) as address, connected(address, 3) as three:
        _, dripping, kept = three
        dripping.sendall(b"POST /api/grid HTTP/1.1\r\nHost:")
        kept.sendall(REQUEST)
        assert answer(kept)[0] == 200
        kept.sendall(b"GET ")  # and no more, on a connection that was good before
        for connection in three:
            with suppress(ConnectionResetError):
                assert connection.recv(100) == b""


def test_many_connections_leave_room_for_others(formula, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 20)
    with served(formula) as address, connected(address, 60):
        assert ask(address) < SOON


@pytest.mark.slow
@pytest.mark.parametrize("part", [HEAD % len(BODY) + BODY[:1], HEAD[:40], b""])
def test_requests_that_stay_partial_make_room_for_whole_ones(formula, part):
    """More of them than there are places lock nobody out, and nobody is sent away for them."""
    with served(formula) as address, connected(address, 1) as [kept], ExitStack() as stack:
        kept.sendall(REQUEST)
        assert answer(kept)[0] == 200
        for _ in range(connections.MOST + 40):
            partial = stack.enter_context(closing(connect(address)))
            partial.sendall(part)
        for _ in range(3):
            assert ask(address) < SOON
        kept.sendall(REQUEST)
        assert answer(kept)[0] == 200


@pytest.mark.slow
def test_a_server_full_of_people_who_asked_takes_newcomers(formula, monkeypatch):
    """Several at once, and beside somebody who opens connections and says nothing."""
    monkeypatch.setattr(connections, "MOST", 40)
    monkeypatch.setattr(connections, "SILENT", 10)
    with served(formula) as address, connected(address, 40) as known, ExitStack() as stack:
        for one in known:
            one.sendall(REQUEST)
            assert answer(one)[0] == 200
        newcomers = [stack.enter_context(closing(connect(address))) for _ in range(8)]
        time.sleep(0.1)
        for one in newcomers:
            one.sendall(REQUEST)
            assert answer(one)[0] == 200
        for _ in range(4):
            late = stack.enter_context(closing(connect(address)))
            blank = [stack.enter_context(closing(connect(address))) for _ in range(4)]
            time.sleep(0.05)
            late.sendall(REQUEST)
            assert answer(late)[0] == 200
            blank[0].close()


def test_answers_that_nobody_reads_make_room_too(formula, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 10)
    with served(formula, buffer=4096) as address, ExitStack() as stack:
        for _ in range(connections.MOST):
            deaf = stack.enter_context(closing(socket.socket()))
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(address)
            deaf.sendall(b"GET /api/standalone HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert deaf.recv(9) == b"HTTP/1.1 "  # and no more
        assert ask(address) < SOON


@pytest.mark.slow
def test_those_who_hang_up_are_not_computed_for(formula):
    """Fifty ask and go; whoever asks then is answered as if they had never been there."""
    calls, first = [], threading.Event()

    def counted(subjects, question):
        calls.append(question)
        if len(calls) <= 2:
            first.wait(10)  # both places are taken while the others come and go
        yield from grid_steps(subjects, question)

    table = {**TABLE, "grid": replace(TABLE["grid"], give=counted)}
    with served(formula, table=table) as address, connected(address, 2) as busy:
        for connection in busy:
            connection.sendall(REQUEST)
        while len(calls) < 2:
            time.sleep(0.01)
        for _ in range(50):
            with closing(connect(address)) as hasty:
                hasty.sendall(REQUEST)
        time.sleep(0.3)
        threading.Timer(0.1, first.set).start()
        assert ask(address) < SOON
        assert len(calls) == 3
        for connection in busy:
            assert answer(connection)[0] == 200


@pytest.mark.slow
def test_clients_who_do_not_read_keep_nobody_waiting(address):
    long = json.dumps({"text": "the dog sees . " * 100, "limit": 200}).encode()
    with connected(address, 20) as deaf:
        for connection in deaf:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(HEAD % len(long) + long)
        assert ask(address) < 2 * SOON


def test_what_is_not_http_is_said_so(address):
    with closing(connect(address)) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        status, body = answer(connection)
    assert status == 400
    assert "HTTP" in json.loads(body)["error"]


@pytest.mark.parametrize("host", [b"127.0.0.1", b"evil.example"])
def test_what_ceases_to_be_http_is_refused_once(address, host, complaints):
    head = b"POST /api/grid HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % host
    with closing(connect(address)) as connection:
        connection.sendall(head + b"no\r\n")
        assert answer(connection)[0] == 400
        with suppress(ConnectionResetError):
            assert connection.recv(100) == b""
    ask(address)
    assert complaints == []


def test_a_websocket_is_no_question(address):
    with closing(connect(address)) as connection:
        connection.sendall(
            b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\n\r\n"
        )
        assert answer(connection)[0] == 200  # as if it had not been asked for


def test_a_port_in_use_is_a_clear_error():
    with closing(listen(0)) as taken, pytest.raises(RnnlensError, match="--port"):
        listen(taken.getsockname()[1])
    with pytest.raises(RnnlensError, match="--port"):
        listen(99999)
