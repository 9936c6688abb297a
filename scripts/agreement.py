"""A network that agrees, and what its agreement goes by: a grammar with a known rule, three seeds.

    python scripts/agreement.py runs/agreement               train, ask, tell; minutes on a CPU
    python scripts/agreement.py runs/agreement --seeds 1

Sentences have a subject, up to two phrases or clauses with nouns of either number between, and a
verb that agrees with the subject. Each network is asked incongruent items; then every unit of its
memories and outputs is taken out, and a dimension of each, found on some contrasts, on others.
"""

import argparse
import random
from pathlib import Path
from typing import Any

import rnnlens

NOUNS = "author king pilot guard nurse clerk judge baker".split()
PHRASES = "near behind beside under".split()
TRANSITIVE = "saw met knew helped".split()
VERBS = (("is", "was", "sings", "walks"), ("are", "were", "sing", "walk"))
ENDS = "here there today again".split()
SENTENCES, EPOCHS, WIDTH = 20_000, 15, 64
OPTIONS: dict[str, Any] = {
    "width": WIDTH, "epochs": EPOCHS, "min_count": 1, "weight_decay": 0.0, "dropout_words": 0.0,
    "dropout_input": 0.0, "dropout_hidden": 0.0, "dropout_output": 0.0, "dropout_weight": 0.0,
}  # fmt: skip
SUITE = f"""N.sg: {", ".join(NOUNS)}
N.pl: {", ".join(f"{noun}s" for noun in NOUNS)}
V.sg: {", ".join(VERBS[0])}
V.pl: {", ".join(VERBS[1])}
P: {", ".join(PHRASES)}
T: {", ".join(TRANSITIVE)}
paradigm: one phrase
the {{N.sg|N.pl}} {{P}} the {{N}} {{V.sg|V.pl}}
paradigm: two phrases
the {{N.sg|N.pl}} {{P}} the {{N}} {{P}} the {{N}} {{V.sg|V.pl}}
paradigm: relative clause
the {{N.sg|N.pl}} who {{T}} the {{N}} {{V.sg|V.pl}}
"""


def noun(draw: random.Random, number: int) -> str:
    """A noun of a number, 0 singular and 1 plural."""
    return draw.choice(NOUNS) + "s" * number


def sentence(draw: random.Random) -> str:
    """A sentence whose verb agrees with its subject, whatever stands between."""
    number = draw.randint(0, 1)
    words = ["the", noun(draw, number)]
    for _ in range(draw.choice((0, 0, 1, 1, 2))):
        between = ["the", noun(draw, draw.randint(0, 1))]
        clause = draw.random() < 0.3
        words += ["who", draw.choice(TRANSITIVE), *between] if clause else [
            draw.choice(PHRASES), *between]  # fmt: skip
    return " ".join([*words, draw.choice(VERBS[number]), draw.choice(ENDS), "."])


def main() -> None:
    """Train the networks and tell what they go by."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    corpus, suite = args.folder / "corpus.txt", args.folder / "agreement.suite"
    corpus.write_text("".join(sentence(draw) + "\n" for _ in range(SENTENCES)), encoding="utf-8")
    suite.write_text(SUITE, encoding="utf-8")
    for seed in range(args.seeds):
        lens = rnnlens.train(corpus, args.folder / f"seed{seed}", seed=seed, **OPTIONS)
        tell(seed, lens.lab(suite, most=400))


def tell(seed: int, lab: rnnlens.Lab) -> None:
    """What a network's agreement goes by."""
    hard = [row for row in lab.conditions if row.condition.startswith("incongruent")]
    items = sum(row.items for row in hard)
    right = sum(row.items * row.accuracy for row in hard) / items
    units = lab.units()
    first = units.units[0]  # the first by the items that rank, not by those held out
    print(f"seed {seed}: incongruent {right:.1%} of {items:,}; held out {units.accuracy:.1%} of "
          f"{units.items}")  # fmt: skip
    print(f"  without {first.kind} unit {first.unit}: {first.accuracy:.1%}, others {first.others}")
    found = lab.directions()
    print(f"  directions of {found.learnt_from} contrasts, asked of {found.contrasts}")
    for row in found.rows:
        left = "" if row.accuracy is None else f", without {row.accuracy:.1%}, others {row.others}"
        print(f"  {row.kind} {row.way}: moved {row.moved:.2f}{left}")
    erased = lab.erase()
    print(f"  erased by {erased.learnt_from} contrasts, probed by {erased.probed}, asked of "
          f"{erased.contrasts}")  # fmt: skip
    for one in erased.kinds:
        print(f"  erased from {one.kind}: probe {one.read:.1%} to {one.read_after:.1%}, right "
              f"{one.accuracy:.1%} to {one.accuracy_after:.1%}, others {one.others_after}, at "
              f"random {one.accuracy_random:.1%}, loss {one.loss:.2f} to {one.loss_after:.2f}"
              )  # fmt: skip


if __name__ == "__main__":
    main()
