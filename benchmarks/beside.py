"""How long somebody who types waits while others ask the heaviest questions of the same server.

Each heavy question is asked by several at once, again and again, beside one typist of load.py;
before each, the same typist types alone, so that a busy machine is seen for what it is. What is
asked of a corpus is asked of the run's own index, or of that of --index.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.load import Seen, Typist, processor_seconds, texts

from rnnlens.run.folder import BUNDLED, run_at

MOST = 200  # ms in which 95% of the keys are answered beside any other question
LONGEST = 120.0  # seconds that anybody waits for a heavy answer
SENTENCE = "the president said that the old government will not change the law ."


@dataclass(frozen=True)
class Heavy:
    """A question, and how many ask it at once."""

    people: int
    path: str
    asked: dict[str, Any]


@dataclass
class Answered:
    """What became of the heavy questions."""

    statuses: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


def questions() -> dict[str, Heavy]:
    """The heaviest of each sort."""
    words = [f"word{k % 7}" if k % 5 == 0 else SENTENCE.split()[k % 12] for k in range(2500)]
    sixty = " ".join((SENTENCE.split() * 5)[:60])
    state = {"text": SENTENCE, "column": "l2", "row": 6, "count": 50, "by": "divergence"}
    within = " or ".join(f'within {2 + k % 9} (word = "{w}")' for k, w in enumerate(words[:30]))
    edits = ["c2@3=0", "l1@900+0.5:the", "h2@1800=0"]
    return {
        "4 x similar by divergence (l2)": Heavy(4, "similar", state),
        "4 x similar by divergence (h2)": Heavy(4, "similar", {**state, "column": "h2"}),
        "8 x grid of 2,500 words, edits": Heavy(
            8, "grid", {"text": " ".join(words), "limit": 200, "edits": edits, "lenient": True}
        ),
        "6 x publish": Heavy(6, "publish", {"text": SENTENCE}),
        "6 x figure of 60 rows": Heavy(6, "figure", {"text": sixty, "ending": "svg"}),
        "6 x figure of 180 rows": Heavy(
            6, "figure", {"text": " ".join(words[:180]), "ending": "pdf", "bars": 5}
        ),
        "2 x 30 within, or'ed": Heavy(2, "find", {"question": within}),
        "4 x every word written by": Heavy(
            4, "written", {"text": " ".join(words[:200]), "column": "l2", "row": 199}
        ),
    }


async def ask(port: int, heavy: Heavy, end: float, seen: Answered, number: int) -> None:
    """Ask again and again; each text is another, so that nothing is at hand."""
    asked, turn = dict(heavy.asked), 0
    while time.perf_counter() < end or not turn:
        if "text" in asked:
            asked["text"] = f"{'the ' * (number + 1)}{'a ' * (turn % 5)}{heavy.asked['text']}"
        began, turn = time.perf_counter(), turn + 1
        body = json.dumps(asked).encode()
        head = (
            f"POST /api/{heavy.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
        writer.write(head.encode() + body)
        try:
            answer = await asyncio.wait_for(reader.read(-1), LONGEST)
        except TimeoutError:
            answer = b"HTTP/1.1 unanswered\r\n\r\n"
        writer.close()
        start, _, rest = answer.partition(b"\r\n\r\n")
        status = start.split()[1].decode()
        problem = "" if status == "200" else rest.decode("utf-8", "replace")[:160]
        seen.statuses[f"{status} {problem}".strip()] += 1
        seen.seconds.append(time.perf_counter() - began)
        if status != "200":
            await asyncio.sleep(0.1)


async def typing(port: int, keys: Iterator[str], seconds: float, heavy: Heavy | None) -> tuple[
    Seen, Answered
]:  # fmt: skip
    """One typist, beside those who ask."""
    seen, answered, end = Seen(), Answered(), time.perf_counter() + seconds
    others = []
    if heavy:
        people = range(heavy.people)
        others = [asyncio.create_task(ask(port, heavy, end, answered, k)) for k in people]
    await asyncio.sleep(0.3 if heavy else 0)
    await Typist(port, seen).type(keys, random.Random(1), end)
    await asyncio.gather(*others)
    return seen, answered


@contextmanager
def server(run: str, index: str | None) -> Iterator[tuple[int, int]]:
    """The real server's port and process."""
    more = ["--index", index] if index else []
    command = [sys.executable, "-m", "rnnlens", "view", run, "--no-browser", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            line = process.stdout.readline()
            yield int(line.split("http://127.0.0.1:")[1].split("/")[0]), process.pid
        finally:
            process.terminate()


def _line(seen: Seen) -> str:
    p50, p95, most = np.percentile(1000 * np.array(seen.seconds), [50, 95, 100])
    return f"{p50:.0f} / {p95:.0f} / {most:.0f}"


def main() -> None:
    """Print what the typist waited; more than is wanted fails, unless it was so alone too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--run", default=BUNDLED)
    parser.add_argument("--index", help="a folder that `rnnlens index RUN -o FOLDER` wrote")
    parser.add_argument("--only", default="", help="questions whose name has this in it")
    args = parser.parse_args()
    vocabulary = run_at(args.run).vocabulary()
    pairs = zip(vocabulary.labels, vocabulary.counts, strict=True)
    words, often = zip(*(pair for pair in pairs if pair[0].isalpha()), strict=True)
    keys = texts(random.Random(0), words, often)
    failed = False
    print("ms that a key waits: median / 95% / longest")
    with server(args.run, args.index) as (port, process):
        asyncio.run(typing(port, keys, 2, None))  # the first answers take longest
        for name, heavy in questions().items():
            if args.only not in name:
                continue
            alone, _ = asyncio.run(typing(port, keys, args.seconds / 2, None))
            before = processor_seconds(process)
            seen, answered = asyncio.run(typing(port, keys, args.seconds, heavy))
            used = processor_seconds(process) - before
            slow = np.percentile(seen.seconds, 95) * 1000 > MOST
            failed = failed or bool(slow and np.percentile(alone.seconds, 95) * 1000 < MOST)
            print(f"{name}: {_line(seen)}; alone {_line(alone)}")
            longest = f"{np.median(answered.seconds):.1f}, at most {max(answered.seconds):.1f} s"
            print(f"    {len(answered.seconds)} answers in {longest}, {used:.0f} s of processor; "
                  f"{dict(answered.statuses)}", flush=True)  # fmt: skip
            problems = seen.problems.total()
            failed = failed or bool(problems)
            if problems:
                print(f"    the typist met {dict(seen.problems)}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
