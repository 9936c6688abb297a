"""Erasing in closed form, held to what it promises and to plain NumPy."""

import numpy as np
import torch
from tests.probe.conftest import LABELS, dataset_of

from rnnlens.probe.erasure import Concept, leace, random_eraser


def drawn(seed: int = 0, units: int = 6, labels: int = 3, count: int = 4000):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(units, units))
    y = rng.integers(0, labels, count)
    x = (rng.normal(size=(count, units)) + rng.normal(size=(labels, units))[y] * 2) @ mix + 5
    return x, y


def moments(x, y):
    z = np.eye(y.max() + 1)[y]
    near, about = x - x.mean(0), z - z.mean(0)
    return (
        torch.from_numpy(v) for v in (x.mean(0), near.T @ near / len(x), near.T @ about / len(x))
    )


def test_erased_states_go_with_no_label_and_change_least():
    x, y = drawn()
    mean, covariance, across = moments(x, y)
    eraser = leace(mean, covariance, across)
    assert eraser.rank == 2  # three labels
    erased = eraser(torch.from_numpy(x)).numpy()
    z = np.eye(3)[y]
    assert abs((erased - erased.mean(0)).T @ (z - z.mean(0)) / len(x)).max() < 1e-10
    # The same by NumPy: x - W+ P W (x - mean), where P projects on the columns of W across.
    values, vectors = np.linalg.eigh(covariance.numpy())
    whiten, colour = ((vectors * values**p) @ vectors.T for p in (-0.5, 0.5))
    basis = np.linalg.svd(whiten @ across.numpy(), full_matrices=False)[0][:, :2]
    plain = x - (x - x.mean(0)) @ (colour @ basis @ basis.T @ whiten).T
    assert np.allclose(erased, plain)
    # Another map that erases as well, at right angles to what is erased, changes states more.
    span = np.linalg.svd(across.numpy(), full_matrices=False)[0][:, :2]
    other = x - (x - x.mean(0)) @ span @ span.T

    def change(to):
        return np.einsum("nh,hk,nk->", to - x, np.linalg.inv(covariance.numpy()), to - x)

    assert change(erased) < change(other)


def test_a_rank_takes_out_what_tells_most_and_random_ones_something_else():
    x, y = drawn(labels=5)
    mean, covariance, across = moments(x, y)
    states, z = torch.from_numpy(x), np.eye(5)[y]

    def left(eraser):
        erased = eraser(states).numpy()
        whiten = np.linalg.inv(np.linalg.cholesky(covariance.numpy()))
        return np.linalg.norm(whiten @ (erased - x.mean(0)).T @ (z - z.mean(0))) / len(x)

    one, two, every = (leace(mean, covariance, across, rank) for rank in (1, 2, None))
    assert (one.rank, two.rank, every.rank) == (1, 2, 4)
    at_random = [left(random_eraser(mean, covariance, 2, seed)) for seed in range(8)]
    assert left(every) < 1e-10 < left(two) < left(one)
    assert left(two) < min(at_random)
    assert random_eraser(mean, covariance, 2).rank == 2


def test_units_that_do_not_move_are_left_alone():
    x, y = drawn()
    x[:, 3] = 7
    eraser = leace(*moments(x, y))
    erased = eraser(torch.from_numpy(x))
    assert torch.isfinite(erased).all()
    assert np.allclose(erased[:, 3], 7)


def test_sums_over_chunks_are_those_of_all_states(network, train):
    dataset = dataset_of(network, train=train)
    stream = dataset.stream("train", "output", 300, ("c2",))
    concept = Concept(("c2",), stream.frequencies()).of(stream.chunks(), 10**9)
    whole = dataset.stream("train", "output", 10**9, ("c2",))
    (chunk,) = whole.chunks()
    eraser = concept.eraser("c2", None)
    plain = leace(*moments(chunk.states["c2"].double().numpy(), chunk.labels.numpy()))
    assert concept.count == len(chunk.labels)
    assert torch.allclose(eraser.mean, plain.mean, atol=1e-5)
    assert torch.allclose(eraser.taken, plain.taken, atol=1e-3)
    fewer = Concept(("c2",), stream.frequencies()).of(stream.chunks(), 500)
    assert 500 <= fewer.count < concept.count


def test_reading_anew_erases_at_every_timestep(network, train):
    dataset = dataset_of(network, train=train)
    stream = dataset.stream("train", "output", kinds=("c1",))
    eraser = Concept(("c1",), stream.frequencies()).of(stream.chunks(), 10**9).eraser("c1", 3)
    words = torch.arange(12).view(6, 2) % LABELS
    trace = network.trace(words, edits=eraser.edits("c1", 6))
    # By hand: step by step, what is carried on is what was erased.
    start = None
    for step in range(6):
        plain = network.trace(words[step : step + 1], start).states["c1"][0]
        one = network.trace(words[step : step + 1], start, eraser.edits("c1", 1))
        assert torch.allclose(one.states["c1"][0], eraser(plain), atol=1e-5)
        assert torch.allclose(trace.states["c1"][step], one.states["c1"][0], atol=1e-5)
        start = one.last
