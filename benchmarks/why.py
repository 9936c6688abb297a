"""Why does it say so, and what if: how long each answer takes, and whether parts add up.

The grid of the same text is the baseline. With --corpus the sentences whose parts are added up are
those of its test part; otherwise they are words at random.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from rnnlens.ask.written import written_by
from rnnlens.corpus.corpus import CorpusConfig, load_corpus
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.kinds import PREDICTION
from rnnlens.reading.reading import Reading
from rnnlens.run.folder import BUNDLED, run_at

WORDS, STEPS = 20, 10
MEMORIES = ("l", "c", "h", PREDICTION)  # kinds of the last layer that are split
MOST = {
    "written": 400,
    "fixed": 150,
    "edited": 120,
    "zeroed": 1000,
    "ablated": 4000,
}  # ms, on two idle cores


def took(work: Callable[[], Any], times: int = 9) -> float:
    """Milliseconds in the median, after a first time."""
    work()
    each = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        each.append(1000 * (time.perf_counter() - began))
    return statistics.median(each)


def timed(lens: Lens, words: Sequence[str]) -> None:
    """Print how long answers about a text take."""
    text, short = " ".join(words[:WORDS]), " ".join(words[:STEPS])

    def forgetting(work: Callable[[], Any]) -> Callable[[], Any]:
        def anew() -> Any:
            lens.subject.forget()
            return work()

        return anew

    grid, brief = lens(text), lens(short)
    plain = took(forgetting(lambda: lens(text)))
    answers = {
        "edited": (f"the grid with {STEPS}th word's l2 at zero",
                   took(forgetting(lambda: lens(text, edits=[f"l2@{STEPS}=0"])))),
        "written": ("all readings of c2, stand-ins drawn by tag",
                    took(grid["c2"][WORDS - 1].written_by)),
        "fixed": ("all readings of c2, the unknown word stands in",
                  took(lambda: grid["c2"][WORDS - 1].written_by(stand_in="unknown"))),
        "zeroed": (f"every state of {STEPS} words at zero", took(brief.zeroed, 3)),
        "ablated": (f"every state of {STEPS} words resampled", took(brief.ablated, 3)),
    }  # fmt: skip
    print(f"the grid of {WORDS} words: {plain:.0f} ms")
    for name, (what, ms) in answers.items():
        beyond = "" if ms <= MOST[name] else f"   more than {MOST[name]} ms"
        print(f"{what:<50}{ms:7.0f} ms  {ms / plain:5.2f} of the grid{beyond}")


def worst_sums(lens: Lens, sentences: Iterator[Sequence[int]]) -> dict[str, tuple[int, float]]:
    """By kind, of how many states the parts were added up, and how far from the logit at most."""
    labels, last = lens.labels, max(kind.layer for kind in lens.subject.model.kinds)
    kinds = [
        kind.id
        for kind in lens.subject.model.kinds
        if kind.letter in MEMORIES and kind.layer == last
    ]
    worst = dict.fromkeys((*kinds, PREDICTION), (0, 0.0))
    for ids in sentences:
        asked = Reading.of(lens.subject, " ".join(labels[k] for k in ids))
        row = len(asked.ids) - 1
        for kind, (count, most) in worst.items():
            found = written_by(asked, kind, row)
            assert found.stored is not None
            assert found.path is not None
            split = ((found.stored, found.stored_rest), (found.path, found.path_rest))
            away = max(abs(float(parts.sum()) + rest - found.difference) for parts, rest in split)
            worst[kind] = count + 1, max(most, away)
    return worst


def main() -> None:
    """Time the answers, then add up parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", default=BUNDLED, help="a run folder (default: the bundled one)")
    parser.add_argument("--corpus", help="whose test sentences are taken")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--longest", type=int, default=14, help="words of a sentence, at most")
    args = parser.parse_args()
    lens, draw = opened(run_at(args.run)), random.Random(0)
    words = [label for label in lens.labels if label.isalpha() and label.islower()]
    timed(lens, draw.choices(words[:500], k=WORDS))

    def at_random() -> Iterator[Sequence[int]]:
        while True:
            yield draw.choices(range(len(lens.labels)), k=draw.randint(2, args.longest))

    sentences = at_random()
    if args.corpus:
        test = load_corpus(args.corpus, CorpusConfig()).splits["test"]
        every = np.split(test.ids, test.starts[1:-1])
        sentences = (one.tolist()[: args.longest] for one in every if len(one) > 1)
    chosen = (one for one, _ in zip(sentences, range(args.sentences), strict=False))
    for kind, (count, most) in worst_sums(lens, chosen).items():
        print(f"{kind}: parts of {count:,} states add up to their contrast within {most:.1e}")


if __name__ == "__main__":
    main()
