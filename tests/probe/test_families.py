"""Starts and gradients of both families against independent references."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.probe.conftest import dataset_of

from rnnlens.labels.sets import LabelSet
from rnnlens.probe import families
from rnnlens.probe.dataset import Chunk
from rnnlens.probe.families import Linear, Shared
from rnnlens.probe.kernels import softmax_gradient_
from rnnlens.probe.moments import Moments, measure

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def kinds(network):
    return [kind.id for kind in network.kinds]


@pytest.fixture(scope="module")
def stream(network, train):
    return dataset_of(network, train=train).stream("train", "output", 500)


@pytest.fixture(scope="module")
def everything(stream):
    chunks = list(stream.chunks())
    states = {kind: torch.cat([c.states[kind] for c in chunks]) for kind in chunks[0].states}
    return states, torch.cat([c.labels for c in chunks])


@pytest.fixture(scope="module")
def moments(stream, kinds):
    return measure(stream.chunks(), kinds[-1])


def linear(moments, kinds, network):
    family = Linear(moments, kinds, LabelSet.numbered(network.label_count), CPU)
    family.start(network.classifier(), torch.zeros(network.label_count))
    return family


def shared(moments, kinds, network, rank=6):
    family = Shared(moments, kinds, LabelSet.numbered(network.label_count), CPU, rank)
    family.start(network.classifier(), torch.zeros(network.label_count))
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
    own = network.predict(h)
    k = len(kinds) - 1
    got = family.stack.logits(k, family.stack.prepare(k, h))[:, : network.label_count]
    torch.testing.assert_close(got.softmax(-1), own.softmax(-1), rtol=0, atol=5e-3)


def test_a_shared_start_of_full_rank_is_the_linear_one(moments, kinds, network, everything):
    one = linear(moments, kinds, network)
    other = shared(moments, kinds, network, rank=14)
    for k, kind in enumerate(kinds):
        states = everything[0][kind][:50]
        a = one.stack.logits(k, one.stack.prepare(k, states))[:, : network.label_count]
        b = other.stack.logits(k, other.stack.prepare(k, states))[:, : network.label_count]
        torch.testing.assert_close(a.softmax(-1), b.softmax(-1), rtol=0, atol=1e-3)


@pytest.mark.parametrize("make", [linear, shared])
def test_gradients_are_autograds(make, moments, kinds, network, everything):
    family = make(moments, kinds, network)
    states, labels = everything
    masters = {name: w.clone().requires_grad_() for name, w in family.weights.items()}
    family.refresh()
    total = torch.zeros(())
    for k in (0, 5, 16):
        x = family.stack.prepare(k, states[kinds[k]][:40])
        family.learn(k, x[:25], labels[:25], 1 / 40)
        family.learn(k, x[25:], labels[25:40], 1 / 40)
        logits = x @ masters["map"][k].T
        if "labels" in masters:
            logits = logits @ masters["labels"].T
        total = total + F.cross_entropy(logits[:, : network.label_count], labels[:40])
    total.backward()
    for name, master in masters.items():
        expected = master.grad.clone()
        if name == "map" and family.rank:
            expected[:, family.rank :] = 0  # the coordinates that are always 0 or 1
        torch.testing.assert_close(family.gradients[name], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("make", [linear, shared])
def test_the_result_says_what_was_fitted(make, moments, kinds, network, everything):
    family = make(moments, kinds, network)
    stack = family.result(family.weights)
    for k, kind in enumerate(kinds):
        states = everything[0][kind][:20]
        expected = family.stack.logits(k, family.stack.prepare(k, states))
        got = stack.logits(k, stack.prepare(k, states))
        assert got.shape == (20, network.label_count)
        torch.testing.assert_close(got, expected[:, : network.label_count])


@pytest.mark.parametrize(("offset", "size"), [(300.0, 1.0), (3e4, 1.0), (0.0, 1e-12), (5.0, 1e12)])
def test_moments_keep_what_is_small_beside_what_is_large(offset, size):
    generator = torch.Generator().manual_seed(0)
    plain = torch.randn(900, 4, generator=generator) @ torch.randn(4, 4, generator=generator)
    states = ((plain + offset) * size).split(300)
    moments = Moments("h")
    for some in states:
        labels = torch.zeros(300, dtype=torch.long)
        moments.add(Chunk({"h": some}, labels, labels, 1))
    v = torch.cat(states).double()
    wanted = torch.cov(v.T, correction=0)
    torch.testing.assert_close(moments.mean("h"), v.mean(0), rtol=1e-6, atol=1e-6 * size)
    torch.testing.assert_close(moments.covariance("h"), wanted, rtol=1e-3, atol=1e-3 * size**2)
    torch.testing.assert_close(moments.scale("h"), wanted.diagonal().sqrt(), rtol=1e-3, atol=0)


def test_the_softmax_goes_into_the_product_where_logits_are_not_wanted(
    moments, kinds, network, everything, monkeypatch
):
    def fused(gradient, weight, x, targets, labels, scale):
        asked.append(len(x))
        logits = x @ weight.T
        nll = softmax_gradient_(logits, targets, labels, scale)
        gradient.addmm_(logits.T, x)
        return nll

    def learnt(back: bool) -> tuple[torch.Tensor, ...]:
        family = linear(moments, kinds, network)
        x = family.stack.prepare(1, everything[0][kinds[1]][:50])
        there = torch.zeros_like(x) if back else None
        nll = family.learn(1, x, everything[1][:50], 0.5, there)
        return nll, family.gradients["map"]

    asked: list[int] = []
    plain = learnt(back=False)
    monkeypatch.setattr(families, "fuses", lambda *_: True)
    monkeypatch.setattr(families, "softmax_regression_", fused)
    torch.testing.assert_close(learnt(back=True), plain)
    assert not asked
    torch.testing.assert_close(learnt(back=False), plain)
    assert asked == [50]
