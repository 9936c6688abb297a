"""Reading and preprocessing a corpus: time against just unzipping its lines, and peak memory."""

import argparse
import gzip
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from rnnlens.corpus.corpus import CorpusConfig, load_corpus
from rnnlens.corpus.read.source import lines


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


def main() -> None:
    """Print seconds, the ratio to reading the lines alone, and peak memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", help="default: one of 52,000 sentences is generated")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(args.corpus or Path(folder) / "corpus.conllu.gz")
        if not args.corpus:
            generate(source, 52_000)
        began = time.perf_counter()
        corpus = load_corpus(str(source), CorpusConfig())
        taken = time.perf_counter() - began
        began = time.perf_counter()
        sum(1 for _ in lines(source, "utf-8"))
        bare = time.perf_counter() - began
    words = sum(len(split.ids) for split in corpus.splits.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"reading {words:,} words: {taken:.1f} s, {taken / bare:.1f} times only unzipping "
        f"the lines; peak memory {peak:,.0f} MB, torch included (under 15 s and 600 MB are wanted)"
    )


if __name__ == "__main__":
    main()
