"""What logits are best divided by."""

import math

import numpy as np
import pytest
import torch
from tests.probe.conftest import LABELS, dataset_of

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.probes import Probes
from rnnlens.probe.temperature import lowest, temperatures


def of_classifier(network, times: float) -> Probes:
    """The model's own classifier, made surer than it is by a factor."""
    _, weight, bias = network.classifier()
    tensors = {"output/h2/weight": times * weight, "output/h2/bias": times * bias}
    return Probes.of("linear", ("h2",), ("output",), LABELS, tensors)


def test_a_probe_that_is_too_sure_is_cooled_by_as_much(network, train, valid):
    dataset = dataset_of(network, train=train, valid=valid, test=valid)
    right = temperatures(of_classifier(network, 1.0), dataset, "output")["h2"]
    sure = temperatures(of_classifier(network, 1.5), dataset, "output")["h2"]
    assert sure.value == pytest.approx(1.5 * right.value, rel=0.02)
    assert sure.perplexity == pytest.approx(right.perplexity, rel=1e-3)
    assert right.states == valid.pairs
    # Plain: no other temperature has a lower loss.
    chunk = next(dataset.stream("valid", "output", 10**9, ("h2",)).chunks())
    logits = of_classifier(network, 1.5).logits("h2", chunk.states["h2"]).double()

    def loss(value: float) -> float:
        p = (logits / value).softmax(-1)[torch.arange(len(chunk.labels)), chunk.labels]
        return -float(p.log().mean())

    tried = np.linspace(0.6, 2.4, 400)
    assert sure.value == pytest.approx(tried[np.argmin([loss(v) for v in tried])], rel=0.02)
    assert sure.perplexity == pytest.approx(math.exp(loss(sure.value)), rel=1e-4)


def test_the_lowest_point_of_a_parabola_and_of_a_slope():
    places = np.linspace(-1, 1, 9)
    assert lowest(places, (places - 0.3) ** 2) == pytest.approx(0.3)
    assert lowest(places, -places) == 1
    assert lowest(places, np.zeros(9)) == -1


def test_without_validation_data_there_is_none(network, train, valid):
    dataset = dataset_of(network, train=train, test=valid)
    with pytest.raises(RnnlensError, match="validation data"):
        temperatures(of_classifier(network, 1.0), dataset, "output")
