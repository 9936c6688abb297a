"""Several processes that serve one port: answers, endings, and one that dies."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.sampling import sampled

from rnnlens.base.errors import RnnlensError
from rnnlens.page.serve.connections import listen, listen_often
from rnnlens.page.serve.workers import MOST, check_workers

needs_fork = pytest.mark.skipif(
    not (sys.platform == "linux" and hasattr(os, "fork")), reason="looks into /proc"
)


@pytest.mark.parametrize("count", [-1, 0, MOST + 1])
def test_strange_numbers_of_processes_are_refused(command, trained_run, count):
    refused = command("view", trained_run, "--workers", str(count), "--no-browser")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert f"--workers {count} is not from 1 to {MOST}" in refused.err


def test_a_system_without_forks_has_one_process(monkeypatch):
    monkeypatch.delattr(os, "fork")
    check_workers(1)
    with pytest.raises(RnnlensError, match="does not have; leave it out"):
        check_workers(2)


def test_a_port_is_not_shared_with_strangers():
    several = listen_often(0, 3)
    port = several[0].getsockname()[1]
    assert {one.getsockname()[1] for one in several} == {port}
    for work in (lambda: listen(port), lambda: listen_often(port, 2)):
        with pytest.raises(RnnlensError, match="give another --port"):
            work()
    for one in several:
        one.close()


def children(process):
    return [
        int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def served(run, *flags):
    command = [sys.executable, "-m", "rnnlens", "view", str(run), "--no-browser", "--workers", "2"]
    with subprocess.Popen(
        [*command, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        try:
            yield process, line.split(" at ")[1].split()[0]
        finally:
            process.kill()


def asked(address):
    path, _, token = address.partition("?")
    url = f"{path}api/grid" + (f"?{token}" if token else "")
    body = json.dumps({"text": "the dog"}).encode()
    with urlopen(Request(url, body, {"content-type": "application/json"}), timeout=20) as answer:
        return json.load(answer)


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("number", sampled([signal.SIGTERM, signal.SIGINT, signal.SIGHUP],
                                           signal.SIGTERM))  # fmt: skip
def test_all_answer_the_same_until_a_signal_ends_them(trained_run, number):
    before = signal.signal(number, signal.SIG_DFL)  # in the background some are ignored
    with served(trained_run, "--token") as (process, address):
        signal.signal(number, before)
        answers = [asked(address) for _ in range(8)]  # each by a connection of its own
        assert all(one == answers[0] for one in answers)
        with pytest.raises(HTTPError, match="403"):
            asked(address.partition("?")[0])
        first = children(process.pid)
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        wait_for(lambda: len({*children(process.pid)} - {first[0]}) == 2)
        assert [asked(address) for _ in range(4)] == answers[:4]
        there = children(process.pid)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
        assert (process.returncode, said) == (128 + number, "rnnlens: stopped\n")
        assert not any(Path(f"/proc/{one}").exists() for one in there)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(address.split(":")[2].split("/")[0])))


@needs_fork
@pytest.mark.slow
@pytest.mark.release
def test_none_outlives_the_process_that_started_it(trained_run):
    with served(trained_run) as (process, address):
        assert asked(address)["words"]
        there = children(process.pid)
        process.kill()
        process.wait()
        wait_for(lambda: not any(Path(f"/proc/{one}/fd/0").exists() for one in there))


DYING = """
import os
from rnnlens.base.errors import RnnlensError
from rnnlens.page.serve.connections import listen_often
from rnnlens.page.serve.workers import Workers

try:
    Workers(listen_often(0, 2), lambda begun: os._exit(7)).run(lambda: None, lambda: print("ended"))
except RnnlensError as error:
    print(error)
"""


@needs_fork
@pytest.mark.slow
def test_processes_that_die_at_once_are_not_started_for_ever():
    ended = subprocess.run(
        [sys.executable, "-c", DYING], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == (
        "ended\nprocesses that serve die as soon as they are started (exit status 7); give fewer "
        "--workers, or none\n"
    )
