"""The sentence that the bundled news model begins with: one in which content words lead somewhere.

    python scripts/first_sentence.py             the shares of groups among the states of each
    python scripts/first_sentence.py --write     and make the first of TEXTS the run's first example

A sentence is the better the more evenly nouns, verbs, adjectives and the rest lead (the entropy of
the shares of the groups), the surer its states are, and the fewer unknown words it has; of those
that are about as good, one that the model says nothing odd about is taken.
"""

import argparse
from collections import Counter

import numpy as np

import rnnlens
from rnnlens.model.text import Example
from rnnlens.reading.session import examples_of
from rnnlens.run.folder import BUNDLED, run_at

TEXTS = (
    "scientists have found a new planet near a very bright star .",
    "she has written several very popular books about modern history .",
    "the old house near the river is very beautiful .",
    "he was the first man who walked on the moon .",
    "the prime minister has not yet said when he will leave .",
    "officials said the large fire was quickly brought under control .",
    "the new government will hold a national election next year .",
    "the company has been trying to sell its new mobile phone .",
    "`` we stand in solidarity , '' she emphasized .",
)


def main() -> None:
    """Measure, and write the examples where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    run, lens = run_at(BUNDLED), rnnlens.load(BUNDLED)
    for text in TEXTS:
        grid = lens(text)
        states = [state for column in grid if "@" not in column for state in grid[column]]
        counts = Counter(state.group for state in states)
        shares = np.array(list(counts.values())) / len(states)
        bits = -(shares * np.log2(shares)).sum()
        told = ", ".join(
            f"{name.lower()} {n / len(states):.0%}" for name, n in counts.most_common()
        )
        sure = np.mean([state.share for state in states])
        print(f"{bits:.2f} bits, share {sure:.2f}: {text}\n    {told}")
    if args.write:
        side = lens.subject.session.text
        texts = dict.fromkeys([TEXTS[0], *examples_of(lens.subject.session)])
        words = {text: side.words(text) for text in texts}
        run.write_examples([Example(t, w, tuple(side.encode(w)), {}) for t, w in words.items()])


if __name__ == "__main__":
    main()
