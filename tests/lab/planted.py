"""Networks in which what is responsible is known, since it was put there."""

import torch

from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.colours import default_colours
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.run.folder import Run
from rnnlens.run.record import TRAINED

NOUNS = "author key teacher doctor".split()
OTHERS = "box car tree house".split()
WORDS = ["the", *NOUNS, *(f"{n}s" for n in NOUNS), *OTHERS, *(f"{n}s" for n in OTHERS), "near",
         "is", "are", "UNK", "NUM"]  # fmt: skip
SUITE = f"""N.sg: {", ".join(NOUNS)}
N.pl: {", ".join(f"{n}s" for n in NOUNS)}
A.sg: {", ".join(OTHERS)}
A.pl: {", ".join(f"{n}s" for n in OTHERS)}
paradigm: planted
the {{N.sg|N.pl}} near the {{A}} {{is|are}}
"""
WIDTH = 16


def planted(folder, seed):
    """A lens whose memory has the number of the subject in one unit, and which unit that is."""
    generator = torch.Generator().manual_seed(seed)
    unit = int(torch.randint(WIDTH, (1,), generator=generator))
    network = Network(NetworkConfig("lstm", WIDTH, 1, 4, tied=False), len(WORDS)).initialise(seed)
    network.eval().requires_grad_(False)
    subject, number = 0, 1  # features of words: whether it is a subject's noun, and its number
    network.embedding.mul_(0.3)
    network.embedding[:, [subject, number]] = 0.0
    for k, word in enumerate(WORDS):
        if word.removesuffix("s") in NOUNS:
            network.embedding[k, subject] = 1.0
        if word.removesuffix("s") in NOUNS + OTHERS:
            network.embedding[k, number] = 1.0 if word in NOUNS + OTHERS else -1.0
    weights = network.recurrent[0].weights()
    for name in ("w_x", "w_h", "b_x", "b_h"):
        weights[name].mul_(0.3)
    i, f, g, o = (unit + WIDTH * k for k in range(4))
    for row in (i, f, g, o):
        for name in ("w_x", "w_h", "b_x", "b_h"):
            weights[name][row] = 0.0
    weights["w_x"][i, subject], weights["b_x"][i] = 20.0, -10.0  # written by subjects alone
    weights["b_x"][f] = 8.0  # and kept
    weights["w_x"][g, number] = 3.0
    weights["b_x"][o] = 3.0
    network.readout.mul_(0.3)
    network.bias.zero_()
    network.readout[WORDS.index("is"), unit] = 3.0
    network.readout[WORDS.index("are"), unit] = -3.0
    run = Run(folder / f"planted{seed}")
    run.create()
    run.write_vocabulary(Vocabulary(tuple(WORDS), tuple(range(len(WORDS), 0, -1))))
    run.write_colours(default_colours(tuple(WORDS), ["X"] * len(WORDS), "by hand", ()))
    run.write_model(network)
    run.write_record({"status": TRAINED, "corpus": {}, "network": {}, "training": {}})
    lens: Lens = opened(run)
    return lens, unit
