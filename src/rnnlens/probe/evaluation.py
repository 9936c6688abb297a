"""How good probes are, kind by kind, on data that had no part in fitting them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.train.perplexity import perplexity
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.prior import log_prior
from rnnlens.probe.probes import Probes
from rnnlens.probe.used import Used

_BINS = 15  # of confidence, for the calibration error


@dataclass(frozen=True)
class Score:
    """How well one kind predicts under one semantic."""

    semantic: str  #: What was asked.
    kind: str  #: Its id.
    pairs: int  #: States that the score is about.
    perplexity: float  #: Of the probe.
    #: To the model's own perplexity; None where the model predicts another label.
    ratio: float | None
    accuracy: float  #: How often the most probable label is right.
    divergence: float | None  #: Mean KL divergence of the probe from the model's own, in bits.
    calibration: float  #: Expected calibration error: mean gap of confidence and accuracy.
    unigram: float  #: Perplexity of the labels' frequencies in training.
    #: How much of what the probe reads the model itself uses; None: not measured.
    used: Used | None = None


class _Sums:
    """Running sums over the states of one kind."""

    def __init__(self, device: torch.device) -> None:
        self.nll = torch.zeros((), dtype=torch.float64, device=device)
        self.right = torch.zeros_like(self.nll)
        self.divergence = torch.zeros_like(self.nll)
        self.bins = torch.zeros(3, _BINS, dtype=torch.float64, device=device)

    def add(self, log_p: Tensor, labels: Tensor, model_log_p: Tensor | None) -> None:
        """Take in log-probabilities (N, V); the divergence is from those of the model."""
        self.nll -= log_p.gather(1, labels[:, None]).sum()
        confidence, guess = log_p.max(-1)
        confidence, right = confidence.exp(), (guess == labels).float()
        self.right += right.sum()
        place = (confidence * _BINS).long().clamp_max(_BINS - 1)
        for row, values in enumerate((confidence, right, torch.ones_like(right))):
            self.bins[row] += torch.bincount(place, values, _BINS)
        if model_log_p is not None:
            gap = model_log_p - log_p
            self.divergence += (model_log_p.exp() * gap).sum() / np.log(2)

    def calibration(self) -> float:
        confidence, right, count = self.bins
        return float((confidence - right).abs().sum() / count.sum())


def with_use(scores: Iterable[Score], measured: Iterable[Used]) -> list[Score]:
    """Scores of the semantic output with what is used of each kind."""
    by_kind = {use.kind: use for use in measured}
    return [
        replace(score, used=by_kind.get(score.kind)) if score.semantic == "output" else score
        for score in scores
    ]


@torch.no_grad()
def evaluate(
    probes: Probes, dataset: Dataset, states: int = 0, advance: Callable[[int], object] = int
) -> Iterator[Score]:
    """Score every kind and semantic on the test split, on at most about `states` states; 0: all.

    `advance` is told the number of states after each chunk.
    """
    for semantic in probes.semantics:
        kinds = (*probes.kinds, *((PREDICTION,) if semantic == "output" else ()))
        stream, counts = dataset.stream("test", semantic, kinds=kinds), probes.counts.get(semantic)
        prior = log_prior(dataset.counts(semantic) if counts is None else counts)
        sums = {kind: _Sums(dataset.device) for kind in probes.kinds}
        model = _Sums(dataset.device) if semantic == "output" else None
        pairs, unigram = 0, 0.0
        chunks = stream.chunks((0,) if states else None) if stream.pairs else ()
        for chunk in chunks:
            model_log_p = None
            if model:
                model_log_p = dataset.model.predict(chunk.states[PREDICTION]).log_softmax(-1)
                model.add(model_log_p, chunk.labels, None)
            for kind in probes.kinds:
                log_p = probes.logits(kind, chunk.states[kind], semantic).log_softmax(-1)
                sums[kind].add(log_p, chunk.labels, model_log_p)
            unigram -= float(prior[chunk.labels.cpu()].sum())
            pairs += len(chunk.labels)
            advance(len(chunk.labels))
            if states and pairs >= states:
                break
        if not pairs:
            raise RnnlensError(f"no test sentence is long enough for the semantic {semantic!r}")
        for kind, total in sums.items():
            yield Score(
                semantic=semantic,
                kind=kind,
                pairs=pairs,
                perplexity=perplexity(float(total.nll), pairs),
                ratio=float(np.exp(float(total.nll - model.nll) / pairs)) if model else None,
                accuracy=float(total.right) / pairs,
                divergence=float(total.divergence) / pairs if model else None,
                calibration=total.calibration(),
                unigram=perplexity(unigram, pairs),
            )
