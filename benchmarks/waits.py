"""How long one waits without a GPU for `rnnlens fit` of a small run, and for a lens of a new text.

Small: a network of width 24 is trained on a few thousand sentences. Then whole commands are timed
in turns: the fit as it is, and with flags that stand for what it did before small runs had a recipe
of their own (as many epochs as make 400,000 states, a rate of 1e-3).

Quick, where a corpus is given: `train --preset quick`, `fit --preset quick` and `show` of 200,000
words of it, one after the other. Prints Markdown tables.
"""

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rnnlens.corpus.corpus import Corpus
from rnnlens.corpus.tokens import ReadingConfig

SMALL = 38_000  # words, of which about 29,000 are followed by another one in training
QUICK = 200_000
SMALL_SECONDS, QUICK_SECONDS = 15.0, 300.0  # at most, on two idle cores
MOST_RATIO = 1.01  # of perplexities
CPU = ("--device", "cpu")


def grammar() -> Iterator[str]:
    """Sentences whose verb agrees with the class of its subject, a few words before."""
    choose = random.Random(0)

    def word(sort: str, number: int) -> str:
        return f"{sort}{min(int(choose.expovariate(1 / 12)), 49) * 4 + number}"

    while True:
        subject = choose.randrange(4)
        words = ["the", word("noun", subject)]
        if choose.random() < 0.4:
            words += ["near", "the", word("noun", choose.randrange(4))]
        yield " ".join([*words, word("verb", subject), "a", word("noun", choose.randrange(4)), "."])


def sentences(source: str) -> Iterator[str]:
    """The sentences of a corpus, or of the grammar where none is given."""
    if not source:
        return grammar()
    corpus = Corpus.read(source, ReadingConfig(valid_share=0.01, test_share=0.01))
    return (" ".join(sentence.words) for sentence in corpus.sentences("train"))


def write(path: Path, source: str, most: int) -> None:
    """The first sentences of a source, one a line, until there are so many words."""
    lines, words = [], 0
    for line in islice(sentences(source), 10**6):
        lines.append(line)
        words += line.count(" ") + 1
        if words >= most:
            break
    path.write_text("\n".join(lines), encoding="utf-8")


def command(*words: object) -> tuple[float, float, str]:
    """Seconds on the clock and of processors, and what the command prints."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    line = [sys.executable, "-m", "rnnlens", *map(str, words)]
    printed = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ended - began, cpu, printed


def perplexities(run: Path) -> dict[str, float]:
    """Of every kind, on the test sentences."""
    scores = json.loads(command("eval", run, "--json", *CPU)[2])["probes"]
    return {score["kind"]: score["perplexity"] for score in scores}


def small(folder: Path, source: str, turns: int) -> bool:
    """Print the table of small fits; whether every kind is as good as before."""
    text, run = folder / "small.txt", folder / "small"
    write(text, source, SMALL)
    command("train", text, "-o", run, "--width", 24, "--format", "text", *CPU)
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    pairs = record["metrics"]["perplexity"]["train"]["pairs"]
    before = ["--epochs", round(400_000 / pairs), "--learning-rate", 1e-3]
    clock: dict[str, list[float]] = {"now": [], "before": []}
    cpu: dict[str, list[float]] = {"now": [], "before": []}
    found: dict[str, dict[str, float]] = {}
    for _ in range(turns):
        for name, flags in (("now", []), ("before", before)):
            seconds, processors, _printed = command("fit", run, *flags, *CPU)
            clock[name].append(seconds)
            cpu[name].append(processors)
            found[name] = perplexities(run)
    ratios = [found["now"][kind] / found["before"][kind] for kind in found["before"]]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{pairs:,} pairs, {len(ratios)} kinds\n")
    print("| `rnnlens fit`, width 24 | now | before | ratio |\n|---|---|---|---|")
    for title, times in (("seconds", clock), ("seconds of processors", cpu)):
        now, then = min(times["now"]), min(times["before"])
        print(f"| {title} | {now:.1f} | {then:.1f} | {now / then:.2f} |")
    print(f"| test perplexity, mean over kinds | | | {mean:.4f} |")
    print(f"| the worst kind's, the best kind's | | | {max(ratios):.4f}, {min(ratios):.4f} |\n")
    if min(clock["now"]) > SMALL_SECONDS:
        print(f"longer than {SMALL_SECONDS:.0f} s: is the machine idle?\n")
    return max(ratios) <= MOST_RATIO


def quick(folder: Path, source: str) -> None:
    """Print the table of the preset."""
    text, run = folder / "quick.txt", folder / "quick"
    write(text, source, QUICK)
    print(f"{QUICK:,} words\n\n| | seconds | of processors |\n|---|---|---|")
    total = total_cpu = 0.0
    for words in (
        ["train", text, "-o", run, "--preset", "quick", "--format", "text", *CPU],
        ["fit", run, "--preset", "quick", *CPU],
        ["show", run, "the government said that"],
    ):
        seconds, processors, _printed = command(*words)
        total, total_cpu = total + seconds, total_cpu + processors
        preset = " --preset quick" if "--preset" in words else ""
        print(f"| `rnnlens {words[0]}{preset}` | {seconds:.0f} | {processors:.0f} |", flush=True)
    print(f"| together | {total:.0f} | {total_cpu:.0f} |\n")
    print(command("eval", run, *CPU)[2])
    if total > QUICK_SECONDS:
        print(f"longer than {QUICK_SECONDS:.0f} s: is the machine idle?")


def main() -> None:
    """Print the tables; fails where a kind of the small run gets worse than is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="", help="take its first sentences, not a grammar's")
    parser.add_argument("--turns", type=int, default=2, help="of both ways of fitting")
    parser.add_argument("--only", choices=("small", "quick"), help="one of the two")
    args = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores; {load:.1f} processes were at work in the minute before\n")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        if args.only != "quick":
            good = small(Path(folder), args.corpus, args.turns)
        if args.only != "small" and args.corpus:
            quick(Path(folder), args.corpus)
    sys.exit(not good)


if __name__ == "__main__":
    main()
