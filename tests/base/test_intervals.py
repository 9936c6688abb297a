"""Intervals by resampling sentences, held to plain loops and to corpora whose truth is known."""

import math

import numpy as np
import pytest

from rnnlens.base.intervals import (
    DRAWS,
    LEAST,
    Interval,
    Resamples,
    below,
    exponential,
    interval,
    is_apart,
    too_few,
)
from rnnlens.base.intervals import _beyond as beyond


def test_a_draw_is_sentences_with_replacement_and_always_the_same():
    values = np.arange(30.0)
    resamples = Resamples(30)
    sizes = resamples.sums(np.ones(30))
    assert (sizes == 30).all()
    assert np.array_equal(resamples.sums(values), Resamples(30).sums(values))
    assert not np.array_equal(resamples.sums(values), Resamples(30, seed=1).sums(values))


def test_sums_are_those_of_a_loop_over_draws():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(25, 2, 3))
    draw = np.random.default_rng((7, 1))
    plain = [values[row].sum(0) for row in draw.integers(0, 25, (50, 25))]
    assert np.allclose(Resamples(25, seed=7, draws=50).sums(values), plain)


def test_an_interval_is_between_the_quantiles_of_ratios():
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 30, 200)
    values = weights * rng.normal(2, 1, 200)
    found = interval(values, weights)
    chosen = np.random.default_rng((0, 1)).integers(0, 200, (DRAWS, 200))
    plain = np.sort([values[row].sum() / weights[row].sum() for row in chosen])
    assert found is not None
    assert found.low == pytest.approx(np.quantile(plain, beyond(200)))
    assert found.high == pytest.approx(np.quantile(plain, 1 - beyond(200)))


def test_few_sentences_have_wider_intervals_and_fewer_none():
    # Of 10, t with 9 degrees is 2.262, and the bootstrap lacks a factor sqrt(9 / 10).
    expected = 0.5 * math.erfc(2.262 * math.sqrt(10 / 9) / math.sqrt(2))
    assert beyond(10) == pytest.approx(expected, rel=0.03)
    assert beyond(10**6) == pytest.approx(0.025, rel=1e-4)
    assert isinstance(interval(np.arange(float(LEAST))), Interval)
    assert interval(np.arange(LEAST - 1.0)) is None
    assert interval([]) is None
    assert too_few(3).startswith("3 sentences are too few")


def test_what_most_draws_do_not_have_has_no_interval():
    rare = np.zeros(50)
    rare[0] = 1
    assert interval(rare, rare) is None  # a third of the draws leave that sentence out


def test_what_is_infinite_in_a_draw_has_no_interval_and_no_warning():
    losses = np.full(DRAWS, 1.0)
    assert Resamples(LEAST).interval(exponential(losses)) == Interval(math.e, math.e)
    losses[7] = 1e38
    found = exponential(losses)
    assert np.isinf(found[7])
    assert Resamples(LEAST).interval(found) is None


def test_numbers_of_the_same_draws_are_compared_in_pairs():
    rng = np.random.default_rng(0)
    base = rng.normal(size=300)
    resamples, ones = Resamples(300), np.ones(300)
    a, b = resamples.ratios(base, ones), resamples.ratios(base + 0.01, ones)
    assert below(a, b) == 1  # each is a hundredth lower, however much both vary
    assert below(a, a) == 0.5
    with pytest.raises(ValueError, match="2 values are given for 300"):
        resamples.sums([1, 2])


def test_many_sentences_are_drawn_in_groups_as_wide():
    rng = np.random.default_rng(0)
    values = rng.normal(size=40_000)
    found = interval(values)
    assert found is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 / math.sqrt(40_000), rel=0.1)


def corpus(rng: np.random.Generator, sentences: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of -log p and words of each sentence; the mean over words is 5 in the long run.

    Sentences differ in length and in how hard they are.
    """
    words = rng.integers(3, 40, sentences)
    hard = rng.gamma(4, 0.25, sentences)  # mean 1
    noise = np.array([rng.exponential(1, n).sum() for n in words])
    return hard * noise * 5, words


def answers(rng: np.random.Generator, sentences: int) -> tuple[np.ndarray, np.ndarray]:
    """Right answers and words of each sentence; 30 of 100 are right in the long run."""
    words = rng.integers(3, 40, sentences)
    return rng.binomial(words, rng.beta(3, 7, sentences)), words


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    rng, held = np.random.default_rng(5), []
    for made, truth in ((corpus, 5), (answers, 0.3)):
        for sentences in (60, 150):  # of 800 together, sure to a point and a half
            for _ in range(200):
                found = interval(*made(rng, sentences))
                held.append(found is not None and found.low <= truth <= found.high)
    assert 0.93 <= np.mean(held) <= 0.97


# What scipy.stats.ttest_1samp gives below .05 and what not, by hand for few and many numbers.
@pytest.mark.parametrize(
    ("values", "apart"),
    [
        ([1.0, 1.1], True),  # t = 21, of which 12.7 is enough
        ([1.0, 1.4], False),  # t = 6
        ([1.0, 2.0, 3.0], False),  # t = 3.46, p = .074
        ([1.0, 2.0, 3.0, 4.0], True),  # t = 3.87, p = .030
        ([-1.0, -2.0, -3.0, -4.0], True),
        ([0.5, 0.5], True),  # no spread at all
        ([0.0, 0.0, 0.0], False),
        ([1.0, -1.0] * 50, False),
        ([*[1.0, -1.0] * 50, *[1.0] * 25], True),  # t = 2.27
    ],
)
def test_a_mean_is_apart_from_zero_where_its_interval_leaves_it_out(values, apart):
    assert is_apart(values) is apart
