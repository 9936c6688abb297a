"""The same work while other processes spin on every core, beside its time when the cores are idle.

In a plain script (`rnnlens.load`, `rnnlens.fit`, what a notebook is given), by the server and by
the commands. Both times are of the same run, in turns, so that the ratio holds on a machine that is
never quite idle; of each the quickest turn counts. One process spins on each core and cannot leave
it, so that none of the cores is free. Prints a Markdown table; takes less than four minutes on two
cores that are idle before.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import torch
from torch import nn

import rnnlens
from rnnlens.ask.answer import answer
from rnnlens.ask.grids import GridQuestion
from rnnlens.ask.questions import Subjects
from rnnlens.page.notebook import shown_lens
from rnnlens.run.folder import BUNDLED, run_at

WORDS = 20
MOST = 3.0  # times the idle time, which is wanted
SENTENCES = 4000
LEARN = "--width 24 --epochs 3 --min-count 1 --device cpu".split()


SPIN = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


def grid_json(lens: rnnlens.Lens, text: str, previous: str = "", have: int = 0) -> Any:
    """What the page is answered with, for who has the first rows of the grid of `previous`."""
    question = GridQuestion(text=text, previous=previous, have=have, limit=None)
    return answer(Subjects.of(lens.subject), question)


@contextmanager
def spinning() -> Iterator[None]:
    """On each core that we may use, another process that never rests."""
    command = [sys.executable, "-c", SPIN]
    others = [subprocess.Popen([*command, str(core)]) for core in os.sched_getaffinity(0)]
    time.sleep(0.5)  # until they have begun to spin
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def seconds(work: Callable[[], object], rounds: int) -> float:
    """The median of several timings."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def compare(name: str, work: Callable[[], object], rounds: int, turns: int) -> float:
    """Print the time of some work when idle and when busy; the ratio of the quickest of each."""
    if rounds > 1:
        work()  # to warm up; commands always start anew
    idle, busy = [], []
    for _ in range(turns):
        idle.append(seconds(work, rounds))
        with spinning():
            busy.append(seconds(work, rounds))
    ratio = min(busy) / min(idle)
    print(f"| {name} | {shown(min(idle))} | {shown(min(busy))} | {ratio:.1f} |", flush=True)
    return ratio


def shown(time: float) -> str:
    """Seconds, or milliseconds where these are few."""
    return f"{time:.1f} s" if time >= 1 else f"{1000 * time:.0f} ms"


def sentence(labels: list[str], count: int) -> str:
    """Words that the model knows."""
    return " ".join(labels[k * 37 % len(labels)] for k in range(count))


def in_a_script(turns: int) -> Iterator[float]:
    """A lens in this very process, where torch was loaded before."""
    lens = rnnlens.load(BUNDLED)
    known = [label for label in lens.labels if label.isalnum()]
    text, more = sentence(known, WORDS), sentence(known, WORDS + 1)

    def whole() -> None:
        lens.subject.forget()
        lens(text)

    def in_a_notebook() -> None:
        lens.subject.forget()
        shown_lens(lens, lens.subject)

    yield compare("a script: a grid of 20 words", whole, 15, turns)
    lens(text)
    word = lambda: grid_json(lens, more, previous=text, have=WORDS - 1)  # noqa: E731
    yield compare("a script: one more word", word, 15, turns)

    yield compare("a notebook: a lens with its first example", in_a_notebook, 15, turns)
    script = f"import rnnlens; rnnlens.load({BUNDLED!r})({text!r})"
    process = lambda: subprocess.run([sys.executable, "-c", script], check=True)  # noqa: E731
    yield compare("a script from its start: `rnnlens.load` and a grid", process, 1, turns)

    torch.manual_seed(0)
    texts = [torch.randint(50, (16, 21)) for _ in range(30)]
    batches = [(text[:, :-1], text[:, 1:]) for text in texts]
    module = _LanguageModel()
    yield compare(
        "a script: `rnnlens.fit` of a module of width 24",
        lambda: rnnlens.fit(module, batches),
        1,
        turns,
    )


class _LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.recurrent = nn.Embedding(50, 24), nn.LSTM(24, 24, batch_first=True)
        self.readout = nn.Linear(24, 50)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.readout(self.recurrent(self.embedding(words))[0])  # type: ignore[no-any-return]


def rnnlens_command(*words: object) -> None:
    subprocess.run(
        [sys.executable, "-m", "rnnlens", *map(str, words)], check=True, stdout=subprocess.DEVNULL
    )


def by_commands(folder: Path, turns: int) -> Iterator[float]:
    """Whole commands, the loading of torch included."""
    choose, corpus = random.Random(0), folder / "corpus.txt"
    nouns, verbs = ([f"{kind}{k}" for k in range(200)] for kind in ("noun", "verb"))
    lines = (
        f"the {choose.choice(nouns)} {choose.choice(verbs)} a {choose.choice(nouns)} ."
        for _ in range(SENTENCES)
    )
    corpus.write_text("\n".join(lines), encoding="utf-8")
    numbers = iter(range(10**6))
    run = folder / "run"

    def train() -> None:
        rnnlens_command("train", corpus, "-o", folder / str(next(numbers)), *LEARN)

    def fit() -> None:
        (run / "probes.json").unlink(missing_ok=True)
        rnnlens_command("fit", run, "--device", "cpu")

    yield compare(f"`rnnlens train`, {SENTENCES:,} short sentences, width 24", train, 1, turns)
    rnnlens_command("train", corpus, "-o", run, *LEARN)
    yield compare("`rnnlens fit` of that", fit, 1, turns)
    yield compare(
        "`rnnlens eval`", lambda: rnnlens_command("eval", run, "--device", "cpu"), 1, turns
    )
    text = sentence(list(run_at(BUNDLED).vocabulary().labels), WORDS)
    yield compare("`rnnlens show`", lambda: rnnlens_command("show", BUNDLED, text), 1, turns)


def by_the_server(turns: int) -> Iterator[float]:
    """Grids of `rnnlens view`."""
    known = [label for label in run_at(BUNDLED).vocabulary().labels if label.isalnum()]
    command = [sys.executable, "-m", "rnnlens", "view", BUNDLED, "--no-browser"]
    numbers = iter(range(10**6))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        address = process.stdout.readline().split(" at ")[1].split()[0]

        def ask(**asked: Any) -> None:
            body = json.dumps(asked).encode()
            headers = {"content-type": "application/json"}
            urlopen(Request(address + "api/grid", body, headers), timeout=60).read()

        def whole() -> None:
            ask(text=sentence(known[next(numbers) :], WORDS))

        def word() -> None:
            ask(text=f"{text} {known[next(numbers)]}", previous=text, have=WORDS - 1)

        try:
            yield compare("`rnnlens view`: a grid of 20 words", whole, 15, turns)
            text = sentence(known, WORDS)
            ask(text=text)
            yield compare("`rnnlens view`: one more word", word, 15, turns)
        finally:
            process.terminate()


def main() -> None:
    """Print the table; a ratio that is too large fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=2, help="idle and busy, in turns")
    parser.add_argument("--most", type=float, default=MOST, help="fail where a ratio is larger")
    args = parser.parse_args()
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    print(f"{cores} cores; {load:.1f} processes were at work in the minute before\n")
    print("| | idle | busy | ratio |\n|---|---|---|---|")
    ratios = [*by_the_server(args.turns), *in_a_script(args.turns)]
    with tempfile.TemporaryDirectory() as folder:
        ratios += by_commands(Path(folder), args.turns)
    sys.exit(max(ratios) > args.most)


if __name__ == "__main__":
    main()
