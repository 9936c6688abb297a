"""The figures of docs/case-study.md: a sentence drawn, and what it shows counted over a corpus.

    python scripts/case_study.py amalgum_news.conllu.gz

For every word of so many test sentences: the dominant group of each kind of a layer, how often the
long-term and the short-term memory disagree about it, and whom the cell then follows.
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from rnnlens.cli import main as rnnlens
from rnnlens.corpus.split import Split
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Chunk, Dataset
from rnnlens.probe.probes import Probes
from rnnlens.reading.encoding import encode
from rnnlens.run.corpus_data import Moved, encoded_corpus
from rnnlens.run.folder import BUNDLED, run_at

SENTENCE = "`` we stand in solidarity , '' she emphasized ."  # the paper's
FIGURE = Path(__file__).parents[1] / "docs/case-study.svg"
KINDS = "lsch"
MARGIN = 0.1  # by which a group leads clearly
_AT_ONCE = 256  # states


def groups(
    lens: Lens, probes: Probes, chunk: Chunk, kind: str
) -> tuple[list[str], list[float], list[float]]:
    """By the paper's rule the dominant group of each state of a kind, its share, and its lead."""
    palette, found = lens.subject.palettes_for("output")["coarse/paper"], []
    shares, leads = [], []
    for states in chunk.states[kind].split(_AT_ONCE):
        nothing = np.full(len(states), -1)
        made = encode(probes.logits(kind, states, "output"), palette, nothing, 1)
        found += [palette.groups[g] for g in made.group]
        shares += made.share.tolist()
        leads += made.lead.tolist()
    return found, shares, leads


def layer_report(lens: Lens, probes: Probes, chunk: Chunk, layer: int) -> None:
    """Who agrees with whom in a layer."""
    said, share, lead = {}, {}, {}
    for kind in KINDS:
        said[kind], share[kind], lead[kind] = groups(lens, probes, chunk, f"{kind}{layer}")
    total = len(chunk.labels)
    print(f"layer {layer}, {total:,} words")
    print("  mean share of the dominant group: "
          + ", ".join(f"{kind} {np.mean(share[kind]):.2f}" for kind in KINDS))  # fmt: skip
    for margin in (0.0, MARGIN):
        apart: Counter[str] = Counter()
        clear = np.minimum(lead["l"], lead["s"]) >= margin
        for far, long, short, cell in zip(clear, said["l"], said["s"], said["c"], strict=True):
            if far and long != short:
                apart["short" if cell == short else "long" if cell == long else "neither"] += 1
        differ = sum(apart.values())
        print(f"  l and s disagree, both leading by {margin:g}, at {differ / total:.1%} of the "
              "words; there c agrees with "
              + ", ".join(f"{who} {n / differ:.1%}" for who, n in apart.most_common()))  # fmt: skip
    turned = sum(a != b for a, b in zip(said["c"], said["h"], strict=True))
    print(f"  c and h disagree at {turned / total:.1%}")


def main() -> None:
    """Draw the sentence and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", help="the news part of AMALGUM, CoNLL-U")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.set_defaults(valid=None, test=None)
    args = parser.parse_args()
    rnnlens(["show", BUNDLED, SENTENCE, "-o", str(FIGURE), "--palette", "coarse/paper"])
    run = run_at(BUNDLED)
    lens, network = opened(run), run.network()
    test = encoded_corpus(run, Moved(args.corpus, args.valid, args.test)).splits["test"]
    part = Split.of(test.ids, test.starts, np.arange(min(args.sentences, len(test))))
    dataset = Dataset(network, {"test": Sentences(part)}, network.label_count)
    stream = dataset.stream("test", "output", part.pairs + 1)
    with torch.inference_mode():
        for chunk in stream.chunks():
            for layer in range(1, network.config.layers + 1):
                layer_report(lens, run.probes(), chunk, layer)


if __name__ == "__main__":
    main()
