"""Random requests to a server: whatever is sent, it answers in time and does not break.

`python -m tests.fuzz.requests --seed 1 --seconds 600` asks the bundled run's server.
"""

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rnnlens.ask.answer import TABLE

REQUESTS, CLIENTS = 10_000, 4
SHARE = 50  # requests of each, one after the other, of which one in so many is one of its own
BUDGET = 25.0  # seconds of processor time for one request, of which its question may take 20
PATIENCE = 5.0  # seconds within which every request is answered
MOST_MEMORY = 1024  # MB over what the server holds after its first answer
WORDS = """the dog sees a bird . , `` '' NUM UNK <b> \x1b[31m \u202e \u0301 \u2028 \ud800 \x00 %s {}
    ../.. -1 1e400 null true \\ " &amp; Ω 日本語""".split(" ")
TEXTS: list[Callable[[random.Random], str]] = [
    lambda r: " ".join(r.choices(WORDS, k=r.randrange(12))),
    lambda r: "".join(chr(r.randrange(0x11000)) for _ in range(r.randrange(60))),
    lambda r: r.choice(WORDS) * r.choice([1, 100, 9_000]),
    lambda r: "the dog " * r.choice([50, 999, 1_001, 2_400, 9_000]),
]
NAMES = ["output", "input", "output+1", "output-9", "coarse", "h1", "c1@-1", "y", "", "\0"]
PATHS = ["/api/grid", "/api/divergence", "/api/follow", "/api/turns", "/api/runs", "/api/accuracy",
         "/api/standalone", "/api/openapi.json", "/", "/page.js", "/../../etc/passwd", "*",
         "/%2e%2e/%00", "//evil.example/", "/api/grid/", "/" + "a" * 3_000,
         "/api/accuracy?run=%ff&run=2"]  # fmt: skip
METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "X" * 50]
HEADERS = ["Origin: http://evil.example", "Origin: null", "Host: evil.example", "Accept: text/html",
           "Content-Type: text/plain", "Content-Length: -1", "Content-Length: 9999999999999",
           "Content-Length: x", "Transfer-Encoding: chunked", "Expect: 100-continue",
           "Connection: close", "Upgrade: websocket", "Cookie: " + "a=b; " * 500, "X: \x00",
           "Authorization: Bearer \xe9", "Accept-Encoding: br;q=x"]  # fmt: skip


def text(r: random.Random) -> str:
    """What somebody might type, or would not."""
    return r.choice(TEXTS)(r)


def value(r: random.Random, depth: int = 0) -> Any:
    """Any JSON."""
    plain: list[Any] = [None, True, 0, -1, 3.0, 1.5, 10**400, 1e308, text(r), r.choice(NAMES)]
    kind = r.randrange(4 if depth < 4 else 2)
    if kind == 2:
        return [value(r, depth + 1) for _ in range(r.randrange(4))]
    return {r.choice(NAMES): value(r, depth + 1)} if kind == 3 else r.choice(plain)


def end(r: random.Random) -> dict[str, Any]:
    """One of two states to compare."""
    return {"column": r.choice(NAMES), "row": r.choice([0, 1, 5, 2_000]), "text": text(r)}


def question(r: random.Random, path: str) -> dict[str, Any]:
    """A question as it should be, or nearly."""
    asked: dict[str, Any] = {"text": text(r), "limit": r.choice([1, 12, 100, 200])}
    if path == "/api/grid":
        asked |= {"previous": text(r), "have": r.choice([0, 1, 7, 1_000_000])}
    elif path == "/api/divergence":
        pairs = [{"a": end(r), "b": end(r)} for _ in range(r.choice([0, 1, 2, 64]))]
        asked = {"text": text(r), "pairs": pairs}
    else:
        asked["first"] = r.choice([0, 1, 500, 1_999])
    if path == "/api/follow":
        asked |= {"labels": r.choices(WORDS, k=r.randrange(4)), "against": r.choices(WORDS, k=1)}
    if r.random() < 0.3:
        asked["semantic"] = r.choice(NAMES)
    if r.random() < 0.4:
        asked[r.choice([*asked, "run", "palette", "more"])] = value(r)
    return asked


def body_of(r: random.Random, path: str) -> bytes:
    """The bytes of a question, often broken ones."""
    kind = r.random()
    if kind < 0.05:
        return b"[" * r.choice([10, 100_000])
    if kind < 0.1:
        return r.randbytes(r.choice([0, 1, 100, 300_000]))
    asked = question(r, path) if kind < 0.8 else value(r)
    body = bytearray(json.dumps(asked).encode())
    if kind > 0.9:
        for _ in range(r.randrange(1, 5)):
            body[r.randrange(len(body))] = r.randrange(256)
    return bytes(body)


def request(r: random.Random) -> tuple[bytes, bool]:
    """The bytes of a request, and whether it is whole, so that an answer is due."""
    posted = r.random() < 0.7
    path = r.choice(PATHS[:4] if posted else PATHS)
    method = "POST" if posted else r.choice(METHODS)
    body = body_of(r, path) if posted or r.random() < 0.3 else b""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json",
             f"Content-Length: {len(body)}"]  # fmt: skip
    if r.random() < 0.15:
        lines.insert(r.randrange(1, 4), r.choice(HEADERS))
    sent = bytearray("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
    odd = len(lines) > 4
    if r.random() < 0.05:
        sent[r.randrange(min(len(sent), 100))] = r.randrange(256)
        odd = True
    if r.random() < 0.05:
        return bytes(sent[: r.randrange(len(sent))]), False
    return bytes(sent), not odd


@dataclass
class Report:
    """What came of it."""

    statuses: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    slowest: float = 0.0


def ask(address: tuple[str, int], seed: int, number: int, report: Report) -> None:
    """Send one request on a connection of its own, and judge the answer."""
    sent, whole = request(random.Random(f"{seed}/{number}"))
    began, status = time.monotonic(), "closed"
    try:
        with closing(socket.create_connection(address, PATIENCE)) as connection:
            connection.sendall(sent)
            if not whole:  # the server need not wait for more
                connection.shutdown(socket.SHUT_WR)
            answer = received(connection, head=sent.startswith(b"HEAD"))
            status = answer.split(b" ", 2)[1].decode() if answer else "closed"
    except TimeoutError:
        status = "unanswered"
    except OSError:
        status = "reset"
    took = time.monotonic() - began
    report.statuses[status] += 1
    report.slowest = max(report.slowest, took)
    refused = status == "503" and b"Retry-After".lower() in answer.lower()
    broken = status.startswith("5") and not refused
    if broken or status == "unanswered" or (whole and status in ("closed", "reset")):
        report.problems.append(f"{status} after {took:.1f} s to {number}: {sent[:300]!r}")


def received(connection: socket.socket, *, head: bool) -> bytes:
    """One answer; empty where the connection was closed without."""
    read = b""
    while b"\r\n\r\n" not in read:
        if not (more := connection.recv(1 << 16)):
            return read
        read += more
    start = read.index(b"\r\n\r\n") + 4
    lines = read[:start].lower().split(b"\r\n")
    lengths = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
    due = 0 if head or not lengths else lengths[0]
    while len(read) - start < due and (more := connection.recv(1 << 20)):
        read += more
    return read


def fuzz(address: tuple[str, int], seed: int, count: int, seconds: float) -> Report:
    """So many requests, a few at once, or as many as there is time for."""
    report, last = Report(), time.monotonic() + seconds

    def one(number: int) -> None:
        if time.monotonic() < last:
            ask(address, seed, number, report)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(one, range(count)))
    return report


def anything(r: random.Random, name: str) -> dict[str, Any]:
    """A question for an entry of the table, with values of the right sort or nearly."""
    asked: dict[str, Any] = {}
    for one in fields(TABLE[name].question):
        likely = LIKELY.get(one.name)
        if r.random() < (0.7 if likely else 0.02) or one.name == "text":
            asked[one.name] = r.choice(likely or [value])(r)
    return asked


LIKELY: dict[str, list[Callable[[random.Random], Any]]] = {
    "text": TEXTS,
    "previous": TEXTS,
    "run": [lambda _: None, lambda _: "english-news"],
    "column": [lambda r: r.choice(["l2", "h2", "c1@-1", "y", "x", "q9"])],
    "kind": [lambda r: r.choice(["l2", "h2", "y", "q9"])],
    "row": [lambda r: r.choice([0, 1, 5, 40])],
    "count": [lambda r: r.choice([1, 10, 50, 200])],
    "by": [lambda r: r.choice(["cosine", "divergence"])],
    "limit": [lambda r: r.choice([1, 12, 200])],
    "first": [lambda r: r.choice([0, 3, 900])],
    "rows": [lambda r: r.choice(["", "1-3", "2-", "1-200", "-"])],
    "bars": [lambda r: r.choice([1, 3, 20])],
    "ending": [lambda r: r.choice(["svg", "pdf", "png"])],
    "density": [lambda r: r.choice(["bars", "compact"])],
    "edits": [lambda r: r.choice([[], ["c2@2=0"], ["l1@1+0.5:the", "h2@1=0"], ["c2@1e9=0"]])],
    "labels": [lambda r: r.choices(WORDS, k=r.randrange(4))],
    "against": [lambda r: r.choices(WORDS, k=r.randrange(2))],
    "name": [lambda r: r.choice(["disagreement", "turns", "surprise", "by_tag", "reach"])],
    "question": [
        lambda r: " or ".join(
            f'within {r.randrange(1, 9)} (word = "{word}")' for word in r.choices(WORDS, k=20)
        ),
        lambda r: r.choice(
            ["l2 is noun", "count y rank = 1 by tag", "word is verb and y rank > 5"]
        ),
    ],
}


def by_endpoint(address: tuple[str, int], process: int, seed: int, count: int) -> tuple[
    dict[str, tuple[int, float]], list[str]
]:  # fmt: skip
    """Of each entry so many requests, one after the other: how many, and the most processor time
    that one of them took; and what went wrong.
    """
    worst, problems = dict[str, tuple[int, float]](), list[str]()
    for name in TABLE:
        most = 0.0
        for number in range(count):
            asked = anything(random.Random(f"{seed}/{name}/{number}"), name)
            if TABLE[name].is_got:
                sent = Request(f"http://{address[0]}:{address[1]}/api/{name}")
            else:
                body, kind = json.dumps(asked).encode(), {"Content-Type": "application/json"}
                sent = Request(f"http://{address[0]}:{address[1]}/api/{name}", body, kind)
            before = processor_seconds(process)
            try:
                with urlopen(sent, timeout=4 * BUDGET) as answer:
                    answer.read()
            except HTTPError as error:
                if error.code >= 500:
                    problems.append(f"{name} {number}: {error.code} to {asked!r}"[:400])
            except TimeoutError:
                problems.append(f"{name} {number}: no answer to {asked!r}"[:400])
            most = max(most, processor_seconds(process) - before)
        worst[name] = count, most
        if most > BUDGET:
            problems.append(f"{name} took {most:.1f} s of processor time")
    return worst, problems


def processor_seconds(process: int) -> float:
    """How long a process has computed."""
    stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def most_memory(process: int) -> int:
    """The most that a process has held so far, MB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def main(seed: int = 0, seconds: float = 600, count: int = REQUESTS) -> int:
    """Ask the real server of the bundled run; 1 where anything went wrong."""
    command = [sys.executable, "-m", "rnnlens", "view", "english-news", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        assert server.stderr
        port = int(server.stdout.readline().split("http://127.0.0.1:")[1].split("/")[0])
        try:
            headers = {"Content-Type": "application/json"}
            first = Request(f"http://127.0.0.1:{port}/api/grid", b'{"text": "the"}', headers)
            with urlopen(first, timeout=60) as answer:  # the first grid of a process takes longest
                assert answer.status == 200
            start = most_memory(server.pid)
            report = fuzz(("127.0.0.1", port), seed, count, seconds)
            each = max(1, count // SHARE)
            worst, more = by_endpoint(("127.0.0.1", port), server.pid, seed, each)
            report.problems += more
            memory = most_memory(server.pid)
        finally:
            server.terminate()
        said = server.stderr.read()
    if said not in ("", "rnnlens: stopped\n") or memory > start + MOST_MEMORY:
        report.problems.append(f"the server took {memory} MB and said: {said[:2_000]}")
    total = sum(report.statuses.values())
    print(f"{total:,} requests with seed {seed}: {dict(report.statuses.most_common())}")
    held = f"{memory} MB at most, {start} after the first answer"
    print(f"  slowest {report.slowest:.1f} s, {held}; {len(report.problems)} problems")
    said_of = ", ".join(f"{name} {most:.1f}" for name, (_, most) in worst.items())
    print(f"  {each:,} of each question, the most seconds of processor time: {said_of}")
    print(*report.problems[:20], sep="\n")
    return bool(report.problems)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--count", type=int, default=REQUESTS)
    sys.exit(main(**vars(parser.parse_args())))
