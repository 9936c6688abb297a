"""Reading and preprocessing a corpus: time against just unzipping its lines, and peak memory.

    python benchmarks/reading.py                                one of a million words is generated
    python benchmarks/reading.py --corpus news.conllu.gz
    python benchmarks/reading.py --words 100000000              also a tenth of it, in turn

With --words a text of so many words is made by repetition with noise: a corpus of a million words
over and over, in which one word in twenty has three more letters at random, so that most of these
are met once. It is encoded in a process of its own, and again from what the first has kept. Memory
is the most that the process ever had in use, mapped files included.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from rnnlens.corpus.corpus import CorpusConfig, load_corpus
from rnnlens.corpus.read.text_files import lines

NOISE = 0.05  # share of words that are spelt anew
REPEATED = 1_000_000  # words
WANTED = 1000  # MB


def generate(path: Path, sentences: int) -> None:
    """A CoNLL-U file of random words with a natural distribution of frequencies."""
    random = np.random.default_rng(0)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        for size in random.integers(2, 40, sentences):
            words = random.zipf(1.2, size) % 60_000
            for k, word in enumerate(words, 1):
                tag = "NUM" if word % 30 == 0 else "NOUN"
                file.write(f"{k}\tw{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n")
            file.write("\n")


def repeat(path: Path, words: int) -> None:
    """A text with a sentence of 20 words on each line, by repetition with noise."""
    random = np.random.default_rng(0)
    whole = random.zipf(1.2, REPEATED) % 60_000
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz"])
    with path.open("w", encoding="utf-8") as file:
        for _ in range(0, words, REPEATED):
            spelt = [f"w{word}" for word in whole]
            for k in np.flatnonzero(random.random(REPEATED) < NOISE).tolist():
                spelt[k] += "".join(letters[random.integers(0, 26, 3)])
            for k in range(0, REPEATED, 20):
                file.write(" ".join(spelt[k : k + 20]) + "\n")


def measure(source: Path) -> None:
    """Encode a corpus in this process, and print seconds and memory."""
    before = peak()
    began = time.perf_counter()
    corpus = load_corpus(str(source), CorpusConfig(format="text"))
    seconds = time.perf_counter() - began
    words = sum(len(split.ids) for split in corpus.splits.values())
    print(
        f"{words:>12,} words, vocabulary of {len(corpus.vocabulary):,}: {seconds:7.1f} s, "
        f"{words / seconds:10,.0f} words/s, peak memory {peak():,.0f} MB, "
        f"{before:,.0f} MB of it before the reading (at most {WANTED:,} are wanted)",
        flush=True,
    )


def peak() -> float:
    """MB that this process has had in use at most, torch included.

    What `getrusage` says begins with what the process had that started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def measure_growth(words: int) -> None:
    """Encode a tenth and the whole, each twice: from the source, and from what was kept."""
    with tempfile.TemporaryDirectory() as folder:
        for size in (words // 10, words):
            path = Path(folder) / "corpus.txt"
            repeat(path, size)
            time.sleep(3)  # what has only just changed is not kept
            for _ in ("read", "kept"):
                environment = {**os.environ, "XDG_CACHE_HOME": folder}
                given = [sys.executable, __file__, "--alone", str(path)]
                subprocess.run(given, check=True, env=environment)
            kept = sum(file.stat().st_size for file in Path(folder).rglob("corpora/*/*"))
            print(f"{kept / 1e6:>12,.0f} MB are kept of {path.stat().st_size / 1e6:,.0f} MB")


def measure_reading(source: Path) -> None:
    """Print seconds, the ratio to reading the lines alone, and peak memory."""
    began = time.perf_counter()
    corpus = load_corpus(str(source), CorpusConfig())
    taken = time.perf_counter() - began
    began = time.perf_counter()
    load_corpus(str(source), CorpusConfig())
    again = time.perf_counter() - began
    began = time.perf_counter()
    sum(1 for _ in lines(source, "utf-8"))
    bare = time.perf_counter() - began
    words = sum(len(split.ids) for split in corpus.splits.values())
    print(
        f"reading {words:,} words: {taken:.1f} s, {taken / bare:.1f} times only unzipping the "
        f"lines, and {again:.1f} s once more; peak memory {peak():,.0f} MB, torch included (under "
        "15 s and 600 MB are wanted)"
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", help="default: one of 52,000 sentences is generated")
    parser.add_argument("--words", type=int, help="of a text made by repetition with noise")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        measure(Path(args.alone))
    elif args.words:
        measure_growth(args.words)
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            source = Path(args.corpus or Path(folder) / "corpus.conllu.gz")
            if not args.corpus:
                generate(source, 52_000)
                time.sleep(3)  # what has only just changed is not kept
            measure_reading(source)


if __name__ == "__main__":
    main()
