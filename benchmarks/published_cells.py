"""Published lenses of recurrences: their size, and how long a word takes.

    python -m benchmarks.published_cells minlstm deltanet mamba2 --width 96
    python -m benchmarks.published_cells recall brackets-rglru

Of a cell a network drawn at random: two layers, as many labels as a small language model has, and
shared probes of every kind, so that what is measured is what a trained network of that shape would
cost; what it says means nothing. Of a run, be it one that comes along, what it has.
"""

import argparse
import random
import tempfile
from pathlib import Path
from typing import get_args

import torch
from benchmarks.publishing import size, speed

from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.colours import default_colours
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.network import Network
from rnnlens.model.network_config import CELL_NAMES, HEADED, KEYED, NetworkConfig
from rnnlens.page.publish.pack import packed
from rnnlens.page.publish.precisions import Precision
from rnnlens.probe.memory_questions import Questions, how_many
from rnnlens.probe.moments import Spread
from rnnlens.probe.probes import Probes
from rnnlens.run.folder import Run, run_at
from rnnlens.run.record import TRAINED

TAGS = ("NOUN", "VERB", "ADJ", "DET")
MS = 15  # a word, wanted at most


def random_lens(
    folder: Path, config: NetworkConfig, labels: int, rank: int, questions: int
) -> Lens:
    """A lens of a network and probes of every kind, both drawn at random."""
    words = ("UNK", "NUM", *(f"word{k}" for k in range(2, labels)))
    network = Network(config, labels).initialise(0).eval().requires_grad_(False)
    states = network.trace(torch.zeros(2, 1, dtype=torch.long)).states
    kinds, chance = tuple(kind.id for kind in network.kinds), torch.Generator().manual_seed(0)
    matrices = {kind: (m, how_many(m, questions)) for kind, m in network.matrices.items()}
    tensors = {
        "output/counts": torch.arange(labels, 0, -1),
        "output/labels": torch.randn(labels, rank, generator=chance) / rank**0.5,
    }
    for kind in kinds:
        at, width = f"output/{kind}", states[kind].shape[-1]
        if kind in matrices and matrices[kind][1]:
            matrix, count = matrices[kind]
            weight = torch.randn(matrix.heads, matrix.keys, count, generator=chance)
            asked = Questions(matrix, weight)
            tensors, width = tensors | asked.named(at), asked.width
        else:
            some = torch.randn(width, width, generator=chance) / width**0.5
            spread = Spread.of((some @ some.T).double() + torch.eye(width))
            tensors |= spread.tensors(kind)
        tensors[f"{at}/weight"] = torch.randn(rank, width, generator=chance) / width**0.5
        tensors[f"{at}/bias"] = torch.zeros(rank)
        tensors[f"{at}/label_bias"] = torch.randn(labels, generator=chance)
        tensors[f"{at}/mean"], tensors[f"{at}/scale"] = torch.zeros(width), torch.ones(width)
    run = Run(folder)
    run.create()
    run.write_vocabulary(Vocabulary(words, tuple(range(labels, 0, -1))))
    tags = [TAGS[k % len(TAGS)] for k in range(labels)]
    run.write_colours(default_colours(words, tags, "by chance", ()))
    run.write_model(network)
    run.write_record({"status": TRAINED, "corpus": {}, "network": {}, "training": {}})
    run.write_probes(Probes.of("shared", kinds, ("output",), labels, tensors), {}, "half")
    return opened(run)


def main() -> None:
    """Measure some cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="*", default=CELL_NAMES[3:])
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--heads", type=int, default=0)
    parser.add_argument("--keys", type=int, default=0)
    parser.add_argument("--labels", type=int, default=6000)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--questions", type=int, default=0)
    parser.add_argument("--precision", choices=get_args(Precision), default="int8")
    args = parser.parse_args()
    for name in args.cells:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, lens_of(name, args, Path(folder)), args.precision)


def lens_of(name: str, args: argparse.Namespace, folder: Path) -> Lens:
    """That of a cell, or of a run."""
    if name not in CELL_NAMES:
        return opened(run_at(name))
    heads, keys = args.heads * (name in HEADED), args.keys * (name in KEYED)
    config = NetworkConfig(name, width=args.width, heads=heads, keys=keys)
    return random_lens(folder / name, config, args.labels, args.rank, args.questions)


def measure(name: str, lens: Lens, precision: Precision) -> None:
    """Print how large a lens is, and how long a word of any texts takes."""
    chance, words = random.Random(0), lens.subject.session.vocabulary.inputs[2:]
    texts = [" ".join(chance.choices(words, k=16)) for _ in range(4)]
    pack = packed(lens.subject, lens.semantics, precision)
    states, kinds = lens(words[0]), [kind.id for kind in lens.subject.model.kinds]
    largest = max(len(states[kind][0].vector()) for kind in kinds)
    said = {part: f"{count / 1e6:.2f}" for part, count in pack.sizes.items()}
    print(
        f"{name}: {len(kinds)} kinds of at most {largest:,} numbers; {size(pack) / 1e6:.2f} MB, "
        f"{said}"
    )
    for way, found in speed(pack, texts).items():
        shown = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
        print(f"  {way}: ms to {shown}; {MS} ms a word are wanted")


if __name__ == "__main__":
    main()
