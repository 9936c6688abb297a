"""`rnnlens fit` of a small run on the CPU, beside the recipe that large corpora were tuned for.

A network of width 24 is trained on a few thousand sentences. Then whole commands are timed in
turns: the fit as it is, and with flags that stand for what it did before small runs had a recipe
of their own (as many epochs as make 400,000 states, a rate of 1e-3). Prints a Markdown table.
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

WORDS = 38_000  # of which about 29,000 are followed by another one in training
MOST_SECONDS, MOST_RATIO = 15.0, 1.01  # that are wanted on two idle cores


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


def write(path: Path, source: str) -> None:
    """The first sentences of a source, one a line."""
    lines, words = [], 0
    for line in islice(sentences(source), 10**6):
        lines.append(line)
        words += line.count(" ") + 1
        if words >= WORDS:
            break
    path.write_text("\n".join(lines), encoding="utf-8")


def command(*words: object) -> tuple[float, float, str]:
    """Seconds on the clock and of processors, and what the command prints."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    line = [sys.executable, "-m", "rnnlens", *map(str, words), "--device", "cpu"]
    printed = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ended - began, cpu, printed


def perplexities(run: Path) -> dict[str, float]:
    """Of every kind, on the test sentences."""
    scores = json.loads(command("eval", run, "--json")[2])["probes"]
    return {score["kind"]: score["perplexity"] for score in scores}


def main() -> None:
    """Print the table; fails where a kind gets worse by more than is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="", help="take its first sentences, not a grammar's")
    parser.add_argument("--turns", type=int, default=2, help="of both ways")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text, run = Path(folder) / "corpus.txt", Path(folder) / "run"
        write(text, args.corpus)
        command("train", text, "-o", run, "--width", 24, "--format", "text")
        record = json.loads((run / "run.json").read_text(encoding="utf-8"))
        pairs = record["metrics"]["perplexity"]["train"]["pairs"]
        before = ["--epochs", round(400_000 / pairs), "--learning-rate", 1e-3, "--patience", 2]
        clock: dict[str, list[float]] = {"as it is": [], "before": []}
        cpu: dict[str, list[float]] = {"as it is": [], "before": []}
        found: dict[str, dict[str, float]] = {}
        for _ in range(args.turns):
            for name, flags in (("as it is", []), ("before", before)):
                seconds, processors, _printed = command("fit", run, *flags)
                clock[name].append(seconds)
                cpu[name].append(processors)
                found[name] = perplexities(run)
    ratios = [found["as it is"][kind] / found["before"][kind] for kind in found["before"]]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{pairs:,} pairs, {len(ratios)} kinds, {os.cpu_count()} cores\n")
    print("| `rnnlens fit`, width 24 | as it is | before | ratio |\n|---|---|---|---|")
    for title, times in (("seconds", clock), ("seconds of processors", cpu)):
        now, then = min(times["as it is"]), min(times["before"])
        print(f"| {title} | {now:.1f} | {then:.1f} | {now / then:.2f} |")
    print(f"| test perplexity, mean over kinds | | | {mean:.4f} |")
    print(f"| the worst kind's, the best kind's | | | {max(ratios):.4f}, {min(ratios):.4f} |")
    if min(clock["as it is"]) > MOST_SECONDS:
        print(f"\nlonger than {MOST_SECONDS:.0f} s: is the machine idle?")
    sys.exit(max(ratios) > MOST_RATIO)


if __name__ == "__main__":
    main()
