"""Many people typing at once against the real server process, each on a page of their own.

They type key by key as fast as people do on average, correct a word here and there, and begin anew.
Each asks as the page does (net/client.js): one request at a time, the newest text next, for the
rows in view that changed, of the columns that are shown; what is out of view once nobody types. A
request that a newer key finds late is given up, but not two in a row. A key's wait ends with the
answer to its text, or to a newer one.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.noted import NOTES, note

from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.run.folder import BUNDLED, run_at

# 52 words a minute, a word being five characters, is the mean of 168,000 people: Dhakal and others,
# Observations on Typing from 136 Million Keystrokes, CHI 2018, doi 10.1145/3173574.3174220.
KEY = 60 / (52 * 5)  # seconds from key to key
WORDS, CORRECTED = 20, 0.1  # of a text, and how often a finished word is followed by a correction
IN_VIEW, BLOCK = 8, 100  # rows of the first answer to a key on a usual screen, and of the others
LULL, LATE = 0.3, 0.25  # seconds, as in net/client.js
GOALS = {25: 100.0, 50: 400.0}  # ms in which 95% of the keys of so many people are answered
MOST = 400  # ms in which 95% of the keys are answered


@dataclass
class Seen:
    """What came back."""

    seconds: list[float] = field(default_factory=list)  # that each key waited
    answers: int = 0
    rows: int = 0
    given_up: int = 0
    problems: Counter[str] = field(default_factory=Counter)


def texts(choose: random.Random, words: Sequence[str], often: Sequence[int]) -> Iterator[str]:
    """The text after each key."""
    while True:
        held: list[str] = []
        while len(held) < WORDS:
            word = choose.choices(words, often)[0]
            held.append("")
            yield from _typed(held, len(held) - 1, word)
            yield " ".join(held) + " "
            if choose.random() < CORRECTED:
                at = choose.randrange(len(held))
                for end in range(len(held[at]) - 1, 0, -1):
                    yield " ".join([*held[:at], held[at][:end], *held[at + 1 :]])
                yield from _typed(held, at, choose.choices(words, often)[0])


def _typed(held: list[str], at: int, word: str) -> Iterator[str]:
    for end in range(1, len(word) + 1):
        held[at] = word[:end]
        yield " ".join(held)


class Typist:
    """Somebody who types, and their page."""

    def __init__(self, port: int, seen: Seen) -> None:
        self.port, self.seen = port, seen
        self.wish, self.pressed = "", list[float]()  # the newest text; keys without an answer
        self.text, self.held, self.words = "", 0, 0  # of the grid that is drawn
        self.columns: list[str] | None = None  # that it shows
        self.news, self.hurried = asyncio.Event(), False
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def type(self, keys: Iterator[str], choose: random.Random, end: float) -> None:
        """Press keys until the end; then wait for the last answer."""
        page = asyncio.create_task(self._answer_keys())
        await asyncio.sleep(choose.random() * KEY)
        while time.perf_counter() < end:
            self.wish = next(keys)
            self.pressed.append(time.perf_counter())
            self.news.set()
            await asyncio.sleep(KEY * (0.5 + choose.random()))
        while self.pressed and not page.done():
            await asyncio.sleep(KEY)
        page.cancel()
        await asyncio.gather(page, return_exceptions=True)
        self._hang_up()

    async def _answer_keys(self) -> None:
        while True:
            await self._rest()
            self.news.clear()
            await self._ask(self.wish, IN_VIEW, more=False)

    async def _rest(self) -> None:
        """Until a key is pressed; rows out of view are asked for meanwhile."""
        while not self.news.is_set():
            try:
                await asyncio.wait_for(self.news.wait(), LULL if self.held < self.words else None)
            except TimeoutError:
                await self._ask(self.wish, BLOCK, more=True)

    async def _ask(self, text: str, limit: int, *, more: bool) -> None:
        """Have an answer, or give it up for a newer text."""
        asked = {"text": text, "previous": self.text, "have": self.held, "limit": limit,
                 "lenient": True, "columns": self.columns}  # fmt: skip
        before, began = len(self.pressed), time.perf_counter()
        answer = asyncio.create_task(self.post(asked))
        while not answer.done():
            newer = asyncio.create_task(self.news.wait())
            await asyncio.wait([answer, newer], return_when=asyncio.FIRST_COMPLETED)
            newer.cancel()
            if answer.done():
                break
            self.news.clear()  # a key while an answer is on its way
            if more or (not self.hurried and time.perf_counter() - began > LATE):
                self.hurried = not more
                answer.cancel()
                await asyncio.gather(answer, return_exceptions=True)
                self._hang_up()
                self.seen.given_up += 1
                self.news.set()
                return
        if self.wish != text:
            self.news.set()
        self._take(*answer.result(), text, 0 if more else before, limit)

    def _take(self, status: int, answer: Any, text: str, keys: int, limit: int) -> None:
        """Draw an answer, for which so many keys have waited."""
        now = time.perf_counter()
        self.seen.seconds += [now - key for key in self.pressed[:keys]]
        del self.pressed[:keys]
        self.hurried = False
        self.seen.answers += 1
        if status != http.client.OK:
            self.seen.problems[f"{status} {answer['error']}"] += 1
            return
        self.columns = [column["id"] for column in answer["columns"] if column["shown"]]
        held = answer["from"] + len(answer["rows"])
        if held != min(len(answer["words"]), answer["from"] + limit):
            self.seen.problems["rows are missing"] += 1
        self.text, self.held, self.words = text, held, len(answer["words"])
        self.seen.rows += len(answer["rows"])

    async def post(self, asked: dict[str, Any]) -> tuple[int, Any]:
        """One question over a connection that is kept."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        body = json.dumps(asked).encode()
        head = (
            "POST /api/grid HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        return int(lines[0].split()[1]), json.loads(await reader.readexactly(length))

    def _hang_up(self) -> None:
        if self.streams:
            self.streams[1].close()
        self.streams = None


async def load(port: int, vocabulary: Vocabulary, clients: int, seconds: float) -> Seen:
    """All of them at once."""
    pairs = zip(vocabulary.labels, vocabulary.counts, strict=True)
    words, often = zip(*(pair for pair in pairs if pair[0].isalpha()), strict=True)
    await Typist(port, Seen()).post({"text": words[0]})  # the first answer takes longest
    seen, end = Seen(), time.perf_counter() + seconds
    people = [(Typist(port, seen), random.Random(k)) for k in range(clients)]
    await asyncio.gather(
        *(one.type(texts(choose, words, often), choose, end) for one, choose in people)
    )
    return seen


def processor_seconds(process: int) -> float:
    """How long a process has computed, and those that it has started."""
    stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    own = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_seconds(int(child)) for child in children)


def main() -> None:
    """Print how long keys waited; an error of any sort fails, and so do waits that are too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--run", default=BUNDLED, help="a run folder (default: the bundled one)")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    args = parser.parse_args()
    command = [sys.executable, "-m", "rnnlens", "view", args.run, "--no-browser"]
    command += ["--workers", str(args.workers)] if args.workers > 1 else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline().split("http://127.0.0.1:")[1].split("/")[0])
        before, load_before = processor_seconds(process.pid), os.getloadavg()[0]
        try:
            vocabulary = run_at(args.run).vocabulary()
            seen = asyncio.run(load(port, vocabulary, args.clients, args.seconds))
            used = processor_seconds(process.pid) - before
        finally:
            process.terminate()
    milliseconds = 1000 * np.array(seen.seconds)
    p50, p95, p99, most = np.percentile(milliseconds, [50, 95, 99, 100])
    people = f"{args.clients} people typing" + (f", {args.workers} workers" * (args.workers > 1))
    note(f"{people}, p95", float(p95), "ms", GOALS.get(args.clients))
    note(f"{people}, processor time", 1000 * used / seen.answers, "ms a key")
    print(f"{args.clients} people typing for {args.seconds:g} s (load before: {load_before:.1f}):")
    print(f"  {len(milliseconds):,} keys, {seen.answers:,} answers, {seen.rows:,} rows, "
          f"{seen.given_up:,} given up")  # fmt: skip
    print(f"  wait: median {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, longest {most:.0f} ms")
    print(f"  processor time of the server: {1000 * used / seen.answers:.1f} ms an answer, "
          f"{used / args.seconds:.2f} cores")  # fmt: skip
    for problem, times in seen.problems.items():
        print(f"  {times} times: {problem}")
    judged_here = NOTES not in os.environ  # else the table says which goals are missed
    sys.exit(bool(seen.problems) or (judged_here and p95 > MOST))


if __name__ == "__main__":
    main()
