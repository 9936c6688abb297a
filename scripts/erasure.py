"""What a probe still reads after an erasure, by how much the erasure was learned from.

    python scripts/erasure.py runs/agreement/seed* --suite runs/agreement/agreement.suite \
        --paradigm "two phrases"
    python scripts/erasure.py english-news --concept NOUN --corpus news.conllu.gz --only c2

Of contrasts: pairs of contexts are drawn into three parts that have none in common, to erase by, to
fit a probe on and to ask; a row for each number of pairs to erase by, with the mean over draws and
runs and its 95% interval. *Of all*: learned from all three parts, so that nothing is left on the
whole of what is probed and asked. With --concept, of a corpus: a row for each number of texts, of
which a third each is learned from, probed and asked; the balanced share of the concept and of one
of chance, of which a half is nothing.
"""

import argparse
import random
from collections.abc import Iterator, Sequence

import numpy as np

import rnnlens
from rnnlens.base.intervals import interval
from rnnlens.corpus.corpus import Corpus
from rnnlens.corpus.corpus_config import SPLITS, ReadingConfig
from rnnlens.lab.contrasts import Contrast, contrasts
from rnnlens.lab.erase import left_to_read

PAIRS, PROBED, TEXTS = "50,200,1000,5000", 1_000, "1500,3000,6000,24000"
_ROOM = 8  # items drawn for each pair of contexts that is wanted: verbs and repetitions are many


def of_contrasts(args: argparse.Namespace, kinds: Sequence[str]) -> Iterator[list[str]]:
    """A row for each number of pairs to erase by."""
    sizes = [int(one) for one in args.pairs.split(",")]
    most = _ROOM * (max(sizes) + 2 * PROBED)
    labs = [rnnlens.load(run).lab(args.suite, most=most) for run in args.runs]
    every = [pairs_of(lab, args.paradigm) for lab in labs]
    yield ["pairs to erase by", *(f"{kind}{of}" for kind in kinds for of in ("", ", of all"))]
    for size in sizes:
        cells = list[str]()
        for kind in kinds:
            found = []
            for lab, pairs in zip(labs, every, strict=True):
                for draw in range(args.draws):
                    order = random.Random(draw).sample(pairs, size + 2 * PROBED)
                    parts = order[:size], order[size : size + PROBED], order[size + PROBED :]
                    found.append([left_to_read(lab.reader, learnt, *parts[1:], kind)
                                  for learnt in (parts[0], order)])  # fmt: skip
            cells += map(shown, np.array(found).T)
        yield [f"{size:,}", *cells]


def pairs_of(lab: rnnlens.Lab, paradigm: str | None) -> list[Contrast]:
    """Contrasts with different contexts."""
    some = [one for one in contrasts(lab.items.items) if paradigm in (None, one.paradigm)]
    return list({one.contexts: one for one in some}.values())


def of_corpus(args: argparse.Namespace, kinds: Sequence[str]) -> Iterator[list[str]]:
    """A row for each number of texts."""
    corpus = Corpus.read(args.corpus, ReadingConfig())
    texts = [one for part in SPLITS for one in corpus.sentences(part)]
    labs = [rnnlens.load(run).lab("polarity", most=2) for run in args.runs]
    ways = "over the majority", "balanced", "chance, balanced"
    yield ["texts", "words to erase by", *(f"{kind}, {way}" for kind in kinds for way in ways)]
    for size in map(int, args.texts.split(",")):
        found = [
            lab.erase_concept(random.Random(draw).sample(texts, size), args.concept, kinds, size)
            for lab in labs
            for draw in range(args.draws)
        ]
        cells = list[str]()
        for k in range(len(kinds)):
            rows = [one.kinds[k] for one in found]
            over = [row.read_after - one.majority for row, one in zip(rows, found, strict=True)]
            chance = [row.balanced_control for row in rows if row.balanced_control is not None]
            cells += map(shown, (over, [row.balanced_after for row in rows], chance))
        words = np.mean([one.learnt_from for one in found])
        yield [f"{size:,}", f"{words:,.0f}", *cells]


def shown(shares: Sequence[float] | np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    """The mean over draws; with its interval, or, of few, with the least and the most."""
    sure = interval(shares)
    low, high = (sure.low, sure.high) if sure else (min(shares), max(shares))
    return f"{np.mean(shares):.1%} ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    """Erase and read, and print the table as it grows, as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--suite", default="agreement")
    parser.add_argument("--paradigm")
    parser.add_argument("--only", default="c2,h2", help="kinds, with commas")
    parser.add_argument("--pairs", default=PAIRS, help="of contexts, to erase by")
    parser.add_argument("--concept")
    parser.add_argument("--corpus")
    parser.add_argument("--texts", default=TEXTS)
    parser.add_argument("--draws", type=int, default=8, help="of each size, in each run")
    args = parser.parse_args()
    rows = (of_corpus if args.concept else of_contrasts)(args, args.only.split(","))
    for number, row in enumerate(rows):
        print("|", " | ".join(row), "|", flush=True)
        if not number:
            print("|---" * len(row) + "|")


if __name__ == "__main__":
    main()
