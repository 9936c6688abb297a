"""How good probes are, kind by kind, on data that had no part in fitting them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rnnlens.corpus.batches import Split
from rnnlens.errors import RnnlensError
from rnnlens.model.network import Network
from rnnlens.model.perplexity import perplexity
from rnnlens.probe import semantics
from rnnlens.probe.probes import Probes
from rnnlens.probe.stream import Stream

_BINS = 15  # of confidence, for the calibration error
_CHUNK = 4096


@dataclass(frozen=True)
class Score:
    """One kind under one semantic."""

    semantic: str
    kind: str
    pairs: int
    perplexity: float
    ratio: (
        float | None
    )  # to the model's own perplexity; None where the model predicts another label
    accuracy: float  # of the most probable label
    divergence: float | None  # mean KL divergence of the probe from the model's own, in bits
    calibration: float  # expected calibration error: mean gap of confidence and accuracy
    unigram: float  # perplexity of the labels' frequencies in training


class _Sums:
    """Running sums of one kind."""

    def __init__(self, device: torch.device) -> None:
        self.nll = torch.zeros((), dtype=torch.float64, device=device)
        self.right = torch.zeros_like(self.nll)
        self.divergence = torch.zeros_like(self.nll)
        self.bins = torch.zeros(3, _BINS, dtype=torch.float64, device=device)

    def add(self, log_p: Tensor, labels: Tensor, own: Tensor | None) -> None:
        self.nll -= log_p.gather(1, labels[:, None]).sum()
        confidence, guess = log_p.max(-1)
        confidence, right = confidence.exp(), (guess == labels).float()
        self.right += right.sum()
        place = (confidence * _BINS).long().clamp_max(_BINS - 1)
        for row, values in enumerate((confidence, right, torch.ones_like(right))):
            self.bins[row] += torch.bincount(place, values, _BINS)
        if own is not None:
            self.divergence += (own.exp() * (own - log_p)).sum() / np.log(2)

    def calibration(self) -> float:
        confidence, right, count = self.bins
        return float((confidence - right).abs().sum() / count.sum())


@torch.no_grad()
def evaluate(
    probes: Probes,
    network: Network,
    log_prior: Callable[[int], Tensor],
    test: Split,
    device: torch.device,
    states: int = 0,
    advance: Callable[[int], object] = int,
) -> Iterator[Score]:
    """Every kind and semantic; `states` limits how many are looked at, 0 is all of them.

    `log_prior` gives the labels' log frequencies in training so many words after the one read.
    """
    last = network.kinds[-1].id
    for semantic in probes.semantics:
        shift = semantics.offset(semantic)
        if not semantics.count(test, shift):
            raise RnnlensError(f"no test sentence is long enough for the semantic {semantic!r}")
        stream = Stream(network, test, shift, device, _CHUNK)
        sums = {kind: _Sums(device) for kind in probes.kinds}
        model, pairs, unigram = _Sums(device), 0, 0.0
        prior = log_prior(shift)
        for chunk in stream.chunks((0,) if states else None):
            own = None
            if semantic == "output":
                own = network.logits(chunk.states[last]).log_softmax(-1)
                model.add(own, chunk.labels, None)
            for kind in probes.kinds:
                log_p = probes.logits(kind, chunk.states[kind], semantic).log_softmax(-1)
                sums[kind].add(log_p, chunk.labels, own)
            unigram -= float(prior[chunk.labels.cpu()].sum())
            pairs += len(chunk.labels)
            advance(len(chunk.labels))
            if states and pairs >= states:
                break
        for kind, found in sums.items():
            own_nll = float(model.nll)
            yield Score(
                semantic=semantic,
                kind=kind,
                pairs=pairs,
                perplexity=perplexity(float(found.nll), pairs),
                ratio=float(np.exp((float(found.nll) - own_nll) / pairs)) if own_nll else None,
                accuracy=float(found.right) / pairs,
                divergence=float(found.divergence) / pairs if own_nll else None,
                calibration=found.calibration(),
                unigram=perplexity(unigram, pairs),
            )


def log_prior_of(train: Split, labels: int) -> Callable[[int], Tensor]:
    """Log frequencies of labels so many words after the one read, each counted once more."""

    def log_prior(shift: int) -> Tensor:
        found = semantics.labels(train, np.arange(len(train)), shift)
        counts = np.bincount(found[found >= 0], minlength=labels) + 1.0
        return torch.from_numpy(np.log(counts / counts.sum()))

    return log_prior
