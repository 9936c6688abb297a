"""What states are asked for: bins of numbers, and labels that hold or not each by itself."""

import math
from statistics import NormalDist

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet, Scale, number_of, step_group, width_at

EVEN = Scale((0.0, 1.0, 2.0, 4.0), (0.5, 1.5, 3.0), error=0.5)


def test_bins_are_equally_full_and_keep_their_order():
    values = torch.randn(1600, generator=torch.Generator().manual_seed(0)).exp()
    scale = Scale.of(values)
    bins = scale.bins(values)
    assert torch.bincount(bins).tolist() == [100] * 16
    assert bool((bins[values.argsort()].diff() >= 0).all())
    wanted = [float(values[bins == k].mean()) for k in range(16)]
    assert scale.middles == pytest.approx(wanted, rel=1e-5)


def test_edges_are_names():
    assert EVEN.names == ("below 1", "1 to 2", "2 or more")
    assert Scale((-1, -0.5, -0.0001, 0.25, 1), (0,) * 4).names == (
        "below -0.50", "-0.50 to 0.00", "0.00 to 0.25", "0.25 or more"
    )  # fmt: skip
    wide = Scale((0, 0.001, 12345.6, 1e9, 1e10), (0,) * 4)
    assert wide.names[1:3] == ("0.001 to 1.2e+04", "1.2e+04 to 1e+09")


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=60))
def test_whatever_numbers_come_there_are_bins_for_them(numbers):
    values = torch.tensor(numbers, dtype=torch.float64)
    if len(set(numbers)) == 1:
        with pytest.raises(RnnlensError, match=r"every target is .*; give targets that differ"):
            Scale.of(values)
        return
    scale = Scale.of(values)
    assert len(set(scale.names)) == len(scale.middles) <= 16
    assert len(scale.bins(values).unique()) >= 2


def test_a_models_number_is_a_normal_distribution_over_the_bins():
    below_one, below_two = (0.5 * (1 + math.erf((e - 1.3) / 0.5 / 2**0.5)) for e in (1, 2))
    p = EVEN.logits(torch.tensor([[1.3]])).softmax(-1)[0]
    assert p.tolist() == pytest.approx([below_one, below_two - below_one, 1 - below_two], rel=1e-4)


def test_mean_and_interval_of_a_distribution():
    p = torch.tensor([[0.25, 0.5, 0.25]])
    assert EVEN.mean(p).tolist() == [0.25 * 0.5 + 0.5 * 1.5 + 0.25 * 3]
    low, high = 0.4, 2 + 2 * (0.15 / 0.25)
    assert EVEN.spread(p)[0].tolist() == pytest.approx([low, 1.5, high])
    assert EVEN.numbers(p)[0].tolist() == pytest.approx([1.625, low, high])
    sure = EVEN.spread(torch.tensor([[0.0, 1.0, 0.0]]))[0].tolist()
    assert sure == pytest.approx([1.1, 1.5, 1.9])


def test_intervals_are_widened_about_the_median_and_around_a_models_own_number():
    p = torch.tensor([[0.25, 0.5, 0.25], [0.25, 0.5, 0.25]])
    own = torch.tensor([math.nan, 7.0])
    z = NormalDist().inv_cdf(0.9)
    found = EVEN.numbers(p, own, torch.tensor([2.0, 3.0])).tolist()
    assert found[0] == pytest.approx([1.625, 1.5 - 2 * 1.1, 1.5 + 2 * 1.7])
    assert found[1] == pytest.approx([7, 7 - 3 * z * EVEN.error, 7 + 3 * z * EVEN.error])
    beyond = EVEN.beyond(EVEN.spread(p, own), torch.tensor([-0.7, 7.0]))
    assert beyond.tolist() == pytest.approx([2, 0])


def test_steps_fall_into_groups_and_the_last_holds_for_all_later_ones():
    steps = torch.tensor([-1, 0, 1, 3, 4, 5, 6, 14, 15, 1000])
    assert step_group(steps).tolist() == [0, 0, 1, 3, 4, 4, 5, 6, 7, 7]
    assert width_at((3.0, 2.0, 1.0), steps).tolist() == [3, 3, 2, 1, 1, 1, 1, 1, 1, 1]


def test_a_linear_map_to_a_number_gives_almost_the_logits_of_its_bins():
    values = torch.linspace(-2, 2, 4000)
    scale = Scale.of(values)
    scale = Scale(scale.edges, scale.middles, error=0.8)
    weight, bias = torch.tensor([[2.0]]).double(), torch.tensor([0.5]).double()
    states = torch.linspace(-0.4, 0.3, 9).double()[:, None]
    read, constant = scale.linear(weight, bias, 0.0)
    ours = (states @ read.T + constant).softmax(-1)[:, 1:-1]  # the outer bins have no end
    theirs = scale.logits(states @ weight.T + bias).softmax(-1).double()[:, 1:-1]
    ours, theirs = ours / ours.sum(1, keepdim=True), theirs / theirs.sum(1, keepdim=True)
    torch.testing.assert_close(ours, theirs, rtol=0.02, atol=1e-3)


def test_several_labels_are_yes_and_no_for_each():
    several = LabelSet(("a", "b"), several=True)
    labels = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    assert several.counts(labels).tolist() == [[1, 2], [2, 1]]
    assert several.prior(several.counts(labels)).exp().tolist() == pytest.approx([3 / 2, 2 / 3])
    logits = torch.tensor([[0.3, -2.0]]).expand(3, 2)
    rows, wanted = several.questions(logits, labels)
    log_p = rows.log_softmax(-1).gather(1, wanted[:, None])[:, 0]
    p = logits.sigmoid()
    assert log_p.exp().tolist() == pytest.approx(
        torch.where(labels > 0, p, 1 - p).flatten().tolist(), rel=1e-5
    )


def test_what_is_compared_of_several_labels_is_the_mean_of_their_divergences():
    several = LabelSet(("a", "b", "c"), several=True)
    p, q = (several.pooled(torch.randn(1, 3, generator=torch.Generator().manual_seed(k)))
            for k in (0, 1))  # fmt: skip
    kl = (p.softmax(-1) * (p.log_softmax(-1) - q.log_softmax(-1))).sum()
    each = [
        torch.distributions.kl_divergence(
            *(torch.distributions.Bernoulli(probs=v.exp()[0, k]) for v in (p, q))
        )
        for k in range(3)
    ]
    torch.testing.assert_close(kl, torch.stack(each).mean())


def test_numbers_in_double_precision_fall_into_the_bins_of_their_edges():
    tenths = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7] * 20, dtype=torch.float64)
    scale = Scale.of(tenths)
    assert torch.bincount(scale.bins(tenths), minlength=len(scale.middles)).min() > 0
    ends = zip(scale.edges, scale.middles, scale.edges[1:], strict=False)
    assert all(low - 1e-9 <= middle <= high + 1e-9 for low, middle, high in ends)


def test_a_word_of_several_pieces_is_refused_with_those_that_it_begins_with():
    known = ["▁solid", "▁sol", "arity", "▁the"]
    assert number_of("the", known) == 3
    with pytest.raises(RnnlensError, match="'solidarity'; it is more than one piece, and begins"):
        number_of("solidarity", known)
