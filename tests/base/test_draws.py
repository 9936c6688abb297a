"""Draws that are the same everywhere, and intervals of their means."""

import math

import numpy as np
import pytest

from rnnlens.base.draws import half_width, uniform, weighted


def lowbias32(x: int) -> int:
    """Wellons' hash, by whole numbers of any size."""
    x ^= x >> 16
    x = x * 0x7FEB352D % 2**32
    x ^= x >> 15
    x = x * 0x846CA68B % 2**32
    return x ^ x >> 16


def test_draws_are_those_of_whole_numbers_of_any_size():
    for seed in (0, 7, 2**32 - 1):
        drawn = uniform(seed, 3, 5, 4)
        for sample in range(3):
            begin = lowbias32(lowbias32(lowbias32(seed) ^ sample) ^ 5)
            for k in range(4):
                bits = lowbias32((begin + k * 0x9E3779B9) % 2**32)
                assert drawn[sample, k] == (bits + 0.5) / 2**32


def test_what_weighs_more_is_drawn_more_often_and_what_weighs_nothing_never():
    weights = np.array([0.0, 3, 0, 1, 6, 0])
    places = weighted(weights, uniform(1, 20_000, 0, 1)[:, 0])
    shares = np.bincount(places, minlength=6) / 20_000
    np.testing.assert_allclose(shares, weights / 10, atol=0.015)
    assert not shares[[0, 2, 5]].any()
    assert weighted(weights, np.array([0.0, 0.299, 0.301, 1 - 1e-12])).tolist() == [1, 1, 3, 4]


@pytest.mark.parametrize(("draws", "quantile"), [(8, 2.364624), (12, 2.200985), (100, 1.984217)])
def test_an_interval_is_students(draws, quantile):
    assert half_width(3.0, draws) == pytest.approx(3 * quantile / math.sqrt(draws), rel=1e-3)


def test_intervals_hold_the_mean_that_is_known_in_95_of_100_cases():
    """400 means of 12 draws from words whose effects are known, a few of them large."""
    effects = np.random.default_rng(0).standard_t(5, 500) + 0.3
    weights = np.random.default_rng(1).integers(1, 200, 500).astype(float)
    known, held = float((effects * weights).sum() / weights.sum()), 0
    for seed in range(400):
        drawn = effects[weighted(weights, uniform(seed, 12, 3, 1)[:, 0])]
        wide = half_width(float(drawn.std(ddof=1)), 12)
        held += abs(float(drawn.mean()) - known) <= wide
    assert 0.93 <= held / 400 <= 0.97
