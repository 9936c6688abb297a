"""Starts and gradients of both families against independent references."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from rnnlens.probe.families import Linear, Readout, Shared
from rnnlens.probe.moments import measure
from rnnlens.probe.stream import Stream

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def kinds(network):
    return [kind.id for kind in network.kinds]


@pytest.fixture(scope="module")
def stream(network, train):
    return Stream(network, train, 1, CPU, 500)


@pytest.fixture(scope="module")
def everything(stream):
    chunks = list(stream.chunks())
    states = {kind: torch.cat([c.states[kind] for c in chunks]) for kind in chunks[0].states}
    return states, torch.cat([c.labels for c in chunks])


@pytest.fixture(scope="module")
def moments(stream, kinds):
    return measure(stream.chunks(), kinds[-1])


def linear(moments, kinds, network):
    family = Linear(moments, kinds, network.labels, CPU)
    family.start(Readout(*network.classifier()), torch.zeros(network.labels))
    return family


def shared(moments, kinds, network, rank=6):
    family = Shared(moments, kinds, network.labels, CPU, rank)
    family.start(Readout(*network.classifier()), torch.zeros(network.labels))
    return family


def test_moments_are_means_deviations_and_least_squares(moments, everything):
    states, _ = everything
    for kind in ("x", "l2", "h2"):
        v = states[kind].double()
        torch.testing.assert_close(moments.mean(kind), v.mean(0), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(
            moments.scale(kind), v.std(0, correction=0), rtol=1e-3, atol=1e-5
        )
    v, h = states["c2"].double(), states["h2"].double()
    best = np.linalg.lstsq((v - v.mean(0)).numpy(), (h - h.mean(0)).numpy(), rcond=None)[0]
    guess = (v - v.mean(0)).numpy()
    ours = guess @ moments.regression("c2").numpy()
    assert np.abs(ours - guess @ best).max() < 0.02


def test_the_closed_form_of_the_last_kind_is_the_models_own_classifier(
    moments, kinds, network, everything
):
    family = linear(moments, kinds, network)
    h = everything[0]["h2"][:200]
    own = network.logits(h)
    k = len(kinds) - 1
    got = family.logits(k, family.prepare("h2", h))[:, : network.labels]
    torch.testing.assert_close(got.softmax(-1), own.softmax(-1), rtol=0, atol=5e-3)


def test_a_shared_start_of_full_rank_is_the_linear_one(moments, kinds, network, everything):
    one = linear(moments, kinds, network)
    other = shared(moments, kinds, network, rank=14)
    for k, kind in enumerate(kinds):
        states = everything[0][kind][:50]
        a = one.logits(k, one.prepare(kind, states))[:, : network.labels]
        b = other.logits(k, other.prepare(kind, states))[:, : network.labels]
        torch.testing.assert_close(a.softmax(-1), b.softmax(-1), rtol=0, atol=1e-3)


@pytest.mark.parametrize("make", [linear, shared])
def test_gradients_are_autograds(make, moments, kinds, network, everything):
    family = make(moments, kinds, network)
    states, labels = everything
    masters = {name: w.clone().requires_grad_() for name, w in family.weights.items()}
    family.refresh()
    total = torch.zeros(())
    for k in (0, 5, 16):
        x = family.prepare(kinds[k], states[kinds[k]][:40])
        family.learn(k, x[:25], labels[:25], 1 / 40)
        family.learn(k, x[25:], labels[25:40], 1 / 40)
        if "map" in masters:
            logits = (x @ masters["map"][k].T) @ masters["labels"].T
        else:
            logits = x @ masters["weight"][k].T
        total = total + F.cross_entropy(logits[:, : network.labels], labels[:40])
    total.backward()
    for name, master in masters.items():
        expected = master.grad.clone()
        if name == "map":
            expected[:, family.rank :] = 0  # the coordinates that are always 0 or 1
        torch.testing.assert_close(family.gradients[name], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("make", [linear, shared])
def test_folded_weights_read_plain_states(make, moments, kinds, network, everything):
    family = make(moments, kinds, network)
    tensors = family.folded(family.weights, "output")
    for k, kind in enumerate(kinds):
        states = everything[0][kind][:20]
        z = F.linear(states, tensors[f"output/{kind}/weight"], tensors[f"output/{kind}/bias"])
        if "output/labels" in tensors:
            z = F.linear(z, tensors["output/labels"], tensors[f"output/{kind}/label_bias"])
        expected = family.logits(k, family.prepare(kind, states))[:, : network.labels]
        torch.testing.assert_close(z, expected, rtol=1e-3, atol=1e-3)
