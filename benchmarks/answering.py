"""Processor time of the server for a key, in this process: the whole way of a request, over ASGI.

Of the bundled model, for the columns that the page shows. Compared with another tree in turn, by
PYTHONPATH, on a machine that others use too: the least and the median of so many keys.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.noted import note

import rnnlens
from rnnlens.page.serve.app import application
from rnnlens.page.serve.guard import Application
from rnnlens.run.folder import BUNDLED

ROWS = 8  # in view
HEADERS = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
Key = tuple[str, str, int]  # a text, the one before, and how many rows of that are at hand


def keys(words: Sequence[str], name: str) -> Iterator[Key]:
    """Texts that nobody has read yet, each with the one before."""
    short, long = list(words[:25]), list(words[:300])
    for word in words[300:]:
        if name == "that changes no row":
            yield " ".join(short) + " ", " ".join(short), len(short)
        elif name == "that adds a word to 25":
            yield " ".join([*short, word]), " ".join(short), len(short)
        else:
            text, at = (short, 16) if name.endswith("of 25") else (long, 150)
            yield " ".join([*text[:at], word, *text[at + 1 :]]), " ".join(text), len(text)


KEYS = {  # at most, of the milliseconds
    "that changes no row": None,
    "that adds a word to 25": 7.0,
    "in the middle of 25": 19.0,
    "in the middle of 300": 19.0,
}


async def post(app: Application, question: dict[str, Any]) -> tuple[Any, float]:
    """What the server answers, and the milliseconds of processor that it takes: reading the answer
    is the client's.
    """
    body, got = json.dumps(question).encode(), list[Any]()
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return waiting.pop() if waiting else await asyncio.sleep(3600)

    async def send(message: Any) -> None:
        got.append(message)

    path = {"path": "/api/grid", "raw_path": b"/api/grid", "query_string": b"", "root_path": ""}
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
             "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000), **path,
             "headers": [*HEADERS, (b"content-length", str(len(body)).encode())]}  # fmt: skip
    began = time.process_time()
    await app(scope, receive, send)
    used = 1000 * (time.process_time() - began)
    assert got[0]["status"] == 200, got
    return json.loads(b"".join(message.get("body", b"") for message in got[1:])), used


async def measure(times: int) -> None:
    """Print and note what each sort of key takes."""
    lens = rnnlens.load(BUNDLED)
    app = application({lens.name: lens.subject})
    words = [label for label in lens.labels if label.isalnum()][: 300 + times]
    whole, _ = await post(app, {"text": "the"})
    columns = [one["id"] for one in whole["columns"] if one["shown"]]
    asked = {"limit": ROWS, "lenient": True, "columns": columns}
    for name, most in KEYS.items():
        used, rows = list[float](), 0
        for text, before, have in keys(words, name):
            if not used:
                await post(app, {**asked, "text": before, "limit": None})
            question = {**asked, "text": text, "previous": before, "have": have}
            answer, milliseconds = await post(app, question)
            used.append(milliseconds)
            rows = len(answer["rows"])
        least, median = min(used), statistics.median(used)
        note(f"the server for a key {name}", least, "ms of processor", most)
        print(f"a key {name}, {rows} rows: least {least:.1f} ms, median {median:.1f}", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=40, help="keys of each sort")
    asyncio.run(measure(parser.parse_args().times))


if __name__ == "__main__":
    main()
