import math

import numpy as np
import pytest
import torch
from tests.probe.conftest import dataset_of

from rnnlens.probe.evaluation import evaluate
from rnnlens.probe.probes import Probes


@pytest.fixture(scope="module")
def probes(network) -> Probes:
    """The model's own classifier for the last kind, a random one for the embedding."""
    torch.manual_seed(0)
    _, weight, bias = network.classifier()
    tensors = {
        "output/h2/weight": weight,
        "output/h2/bias": bias,
        "output/x/weight": torch.randn(network.label_count, 12),
        "output/x/bias": torch.zeros(network.label_count),
    }
    return Probes.of("linear", ("x", "h2"), ("output",), network.label_count, tensors)


def measured(probes, network, train, test, **options):
    return evaluate(probes, dataset_of(network, train=train, test=test), **options)


def test_the_models_own_classifier_scores_as_the_model(network, probes, train, valid):
    scores = {s.kind: s for s in measured(probes, network, train, valid)}
    assert scores["h2"].ratio == pytest.approx(1, abs=1e-5)
    assert scores["h2"].divergence == pytest.approx(0, abs=1e-5)
    assert (scores["x"].ratio or 0) > 1
    assert (scores["x"].divergence or 0) > 0


def test_scores_agree_with_a_plain_float64_computation(network, probes, train, valid):
    score = next(s for s in measured(probes, network, train, valid) if s.kind == "x")
    chunk = next(dataset_of(network, test=valid).stream("test", "output", 10**6).chunks())
    p = probes.logits("x", chunk.states["x"]).double().softmax(-1).numpy()
    own = network.predict(chunk.states["h2"]).double().softmax(-1).numpy()
    y = chunk.labels.numpy()
    came = p[np.arange(len(y)), y]
    assert score.pairs == valid.pairs == len(y)
    assert score.perplexity == pytest.approx(math.exp(-np.log(came).mean()), rel=1e-5)
    assert score.accuracy == pytest.approx((p.argmax(1) == y).mean())
    assert score.divergence == pytest.approx((own * np.log2(own / p)).sum(1).mean(), rel=1e-4)
    confidence, right = p.max(1), p.argmax(1) == y
    place = np.minimum((confidence * 15).astype(int), 14)
    gap = sum(abs(confidence[place == b].sum() - right[place == b].sum()) for b in range(15))
    assert score.calibration == pytest.approx(gap / len(y), rel=1e-4)
    counts = np.bincount(train.targets(), minlength=network.label_count) + 1
    assert score.unigram == pytest.approx(
        math.exp(-np.log(counts[y] / counts.sum()).mean()), rel=1e-5
    )


def test_a_limit_looks_at_fewer_states(network, probes, train, valid):
    score = next(iter(measured(probes, network, train, valid, states=1)))
    assert 0 < score.pairs <= valid.pairs
