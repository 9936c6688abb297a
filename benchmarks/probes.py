"""How good and how quick probes are on the CPU, on a slice of a run's own corpus, against

(a) a plain PyTorch loop with full softmax, fitted kind by kind until validation gets no better, and
(b) scikit-learn's logistic regression on a still smaller slice, where that is installed.
"""

import argparse
import math
import resource
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.corpus.split import Split
from rnnlens.model.network import Network
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.fitting import FitConfig, Fitter
from rnnlens.run.corpus_data import Moved, encoded_corpus
from rnnlens.run.folder import Run

CPU = torch.device("cpu")
BUNDLED = Path(__file__).parents[1] / "src/rnnlens/bundled/english-news"
WITHIN = 1.03  # of the plain loop's best perplexity

Moment = tuple[float, list[float]]  # seconds, and each kind's validation perplexity by then


def part(split: Split, sentences: int) -> Split:
    """The first sentences of a split."""
    return Split.of(split.ids, split.starts, np.arange(min(sentences, len(split))))


def ours(network: Network, train: Split, valid: Split) -> tuple[Fitter, list[Moment]]:
    """Our fit of all kinds, and how far it was when: after the closed form, after each epoch."""
    began = time.perf_counter()
    data = {"train": Sentences(train), "valid": Sentences(valid)}
    fitter = Fitter(Dataset(network, data, network.label_count), "output", FitConfig(epochs=1))
    moments: list[Moment] = []

    def look() -> None:
        moments.append((time.perf_counter() - began, [math.exp(b) for b in fitter.progress.best]))

    fitter.run(lambda: False, look)
    return fitter, moments


def prepared(fitter: Fitter, kind: str, *, train: bool) -> tuple[Tensor, Tensor]:
    """All standardised states of a kind with their labels."""
    stream = fitter.train if train else fitter.valid
    chunks = list(stream.chunks())
    k, prepare = fitter.kinds.index(kind), fitter.family.stack.prepare
    x = torch.cat([prepare(k, chunk.states[kind]) for chunk in chunks])
    return x, torch.cat([chunk.labels for chunk in chunks])


def plain(fitter: Fitter, kind: str, labels: int) -> tuple[float, float]:
    """The plain loop's validation perplexity at its best, and its seconds."""
    (x, y), (x_valid, y_valid) = (prepared(fitter, kind, train=t) for t in (True, False))
    began = time.perf_counter()
    layer = nn.Linear(x.shape[1], labels)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=2e-3, weight_decay=0.1)
    best = math.inf
    while True:
        for rows in torch.randperm(len(x)).split(1024):
            optimiser.zero_grad()
            F.cross_entropy(layer(x[rows]), y[rows]).backward()
            optimiser.step()
        with torch.no_grad():
            now = math.exp(F.cross_entropy(layer(x_valid), y_valid).item())
        if now > 0.99 * best:
            return min(best, now), time.perf_counter() - began
        best = now


def scikit(fitter: Fitter, kind: str, states: int) -> tuple[float, float] | None:
    """Scikit-learn on a few states: perplexity on the labels it has seen, and seconds."""
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        return None
    (x, y), (x_valid, y_valid) = (prepared(fitter, kind, train=t) for t in (True, False))
    began = time.perf_counter()
    model = LogisticRegression(max_iter=30, tol=1e-2).fit(x[:states].numpy(), y[:states].numpy())
    seconds = time.perf_counter() - began
    known = np.isin(y_valid.numpy(), model.classes_)
    log_p = model.predict_log_proba(x_valid[torch.from_numpy(known)].numpy())
    at = np.searchsorted(model.classes_, y_valid.numpy()[known])
    return math.exp(-log_p[np.arange(len(at)), at].mean()), seconds


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, nargs="?", default=BUNDLED, help="a trained run")
    parser.add_argument("--corpus", help="where its corpus is now")
    parser.add_argument("--sentences", type=int, default=800)
    parser.add_argument("--kinds", default="x,l2,h2", help="for which the plain loop is run")
    parser.set_defaults(valid=None, test=None)
    args = parser.parse_args()
    run = Run(args.run)
    network, corpus = run.network(), encoded_corpus(run, Moved(args.corpus, args.valid, args.test))
    train, valid = part(corpus.splits["train"], args.sentences), part(corpus.splits["valid"], 100)
    fitter, moments = ours(network, train, valid)
    each = moments[-1][0] / len(fitter.kinds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    labels = network.label_count
    print(f"{fitter.pairs:,} states, {labels:,} labels; our peak memory {peak:,.0f} MB")
    for kind in filter(None, args.kinds.split(",")):
        k = fitter.kinds.index(kind)
        perplexity, taken = plain(fitter, kind, network.label_count)
        reached = (t for t, found in moments if found[k] <= WITHIN * perplexity)
        share = next(reached, math.inf) / len(fitter.kinds) / taken
        start, end = moments[0][1][k], moments[-1][1][k]
        print(
            f"{kind}: closed form {start:.1f}, after one epoch {end:.1f}; plain loop "
            f"{perplexity:.1f}; "
            f"{WITHIN} of that reached in {share:.3f} of its time, "
            f"the whole fit in {each / taken:.3f}"
        )
    found = scikit(fitter, fitter.kinds[-1], 1500)
    if found:
        print(
            f"scikit-learn, {fitter.kinds[-1]}, 1,500 states: perplexity {found[0]:.1f} on labels "
            f"it has seen; {found[1] / each:.1f} times as long as one of our kinds on all states"
        )
    else:
        print("scikit-learn is not installed: left out")


if __name__ == "__main__":
    main()
