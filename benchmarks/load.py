"""Many clients typing at once against the real server process.

Each types a sentence of its own, word by word, corrects one in the middle, and begins anew; it asks
for the rows that changed, as the page does, and waits a moment between key presses.
"""

import argparse
import asyncio
import http.client
import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rnnlens.run import BUNDLED, run_at

PAUSE = 0.25  # seconds between words: a fast typist


@dataclass
class Seen:
    """What came back."""

    seconds: list[float] = field(default_factory=list)
    rows: int = 0
    problems: Counter[str] = field(default_factory=Counter)


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: dict[str, Any]
) -> tuple[int, Any]:
    """One question over a connection that is kept."""
    body = json.dumps(asked).encode()
    head = (
        "POST /api/grid HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
    return int(lines[0].split()[1]), json.loads(await reader.readexactly(length))


async def type_sentences(port: int, words: list[str], end: float, seed: int, seen: Seen) -> None:
    """One client."""
    choose = random.Random(seed)
    await asyncio.sleep(choose.random() * PAUSE)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    held, previous, text = 0, "", [choose.choice(words)]
    while time.perf_counter() < end:
        asked: dict[str, Any] = {
            "text": " ".join(text),
            "previous": previous,
            "have": held,
            "limit": 100,
        }
        began = time.perf_counter()
        try:
            status, answer = await ask(reader, writer, asked)
        except (OSError, asyncio.IncompleteReadError) as error:
            seen.problems[type(error).__name__] += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            continue
        seen.seconds.append(time.perf_counter() - began)
        if status != http.client.OK:
            seen.problems[f"{status} {answer['error']}"] += 1
        elif answer["from"] + len(answer["rows"]) != len(text):
            seen.problems["rows are missing"] += 1
        else:
            held, previous, seen.rows = len(text), asked["text"], seen.rows + len(answer["rows"])
        if len(text) >= 20:
            text = [choose.choice(words)]
        elif choose.random() < 0.1:
            text[choose.randrange(len(text))] = choose.choice(words)
        else:
            text.append(choose.choice(words))
        await asyncio.sleep(PAUSE * (0.5 + choose.random()))
    writer.close()
    await writer.wait_closed()


async def load(port: int, words: list[str], clients: int, seconds: float) -> Seen:
    """All of them at once."""
    seen, end = Seen(), time.perf_counter() + seconds
    await asyncio.gather(*(type_sentences(port, words, end, k, seen) for k in range(clients)))
    return seen


def main() -> None:
    """Print how long answers took; an error of any sort fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--run", default=BUNDLED, help="a run folder (default: the bundled one)")
    args = parser.parse_args()
    words = [label for label in run_at(args.run).vocabulary().labels if label.isalnum()][:3000]
    command = [sys.executable, "-m", "rnnlens", "view", args.run, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline().split("http://127.0.0.1:")[1].split("/")[0])
        try:
            seen = asyncio.run(load(port, words, args.clients, args.seconds))
        finally:
            process.terminate()
    milliseconds = 1000 * np.array(seen.seconds)
    p50, p95, p99 = np.percentile(milliseconds, [50, 95, 99])
    print(f"{args.clients} clients typing for {args.seconds:g} s: {len(milliseconds):,} answers,")
    print(f"  {len(milliseconds) / args.seconds:.0f} a second, {seen.rows:,} rows")
    most = milliseconds.max()
    print(f"  median {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, longest {most:.0f} ms")
    for problem, times in seen.problems.items():
        print(f"  {times} times: {problem}")
    sys.exit(1 if seen.problems else 0)


if __name__ == "__main__":
    main()
