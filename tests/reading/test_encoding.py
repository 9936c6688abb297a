"""The encoding: worked by hand, and against a naive one in double precision."""

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet
from rnnlens.reading import encoding
from rnnlens.reading.encoding import (
    Encodings,
    Palette,
    among_top,
    encode,
    faded,
    largest,
    separating,
    significant,
)

GREEN, PURPLE, YELLOW = "#00ff00", "#800080", "#ffff00"
GROUPING = {
    "colours": {"N": GREEN, "V": PURPLE, "OTHER": YELLOW},
    "groups": {"a": "N", "b": "V", "c": "N"},
}


def named(count):
    return ["a", "b", "c", *(f"w{k}" for k in range(count))][:count]


def palette(count):
    return Palette.of(named(count), GROUPING)


def spread(count, first):
    """So many labels: the first ones given, the rest evenly improbable."""
    rest = (1 - sum(first)) / (count - len(first))
    return [*first, *[rest] * (count - len(first))]


def encoded(p, bars=20, wanted=-1):
    logits = torch.tensor([p], dtype=torch.float64).log().float()
    return encode(logits, palette(len(p)), np.array([wanted]), bars)


def fade(colour, share):
    channels = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)]]
    return faded(np.array(channels, float), np.array([share]))[0]


@pytest.mark.parametrize(
    ("share", "expected"),
    [(1.0, "#00ff00"), (0.9, "#19ff19"), (0.5, "#80ff80"), (1 / 3, "#aaffaa"), (0.0, "#ffffff")],
)
def test_colours_fade_towards_white(share, expected):
    assert fade(GREEN, share) == expected


@pytest.mark.parametrize(
    ("labels", "first", "share", "expected"),
    [
        (30, (0.54, 0.09, 0.27), 0.9, "#19ff19"),  # three take part: a and c are green, b is not
        (20, (0.45, 0.45), 0.5, "#80ff80"),  # two take part, one of each group
        (30, (0.3, 0.3, 0.0, 0.3), 1 / 3, "#aaffaa"),  # three take part, one of each group
    ],
)
def test_the_papers_figure(labels, first, share, expected):
    made = encoded(spread(labels, first))
    assert made.share[0] == pytest.approx(share, abs=1e-6)
    assert made.colours(palette(labels)) == [expected]


def test_the_dominant_group_is_the_largest_sum_not_the_largest_label():
    made = encoded(spread(30, (0.3, 0.4, 0.25)), bars=2)
    assert made.labels.tolist() == [[1, 0]]
    assert made.probabilities[0].tolist() == pytest.approx([0.4, 0.3])
    assert made.share.tolist() == pytest.approx([0.55 / 0.95])
    assert made.colours(palette(30)) == [fade(GREEN, 0.55 / 0.95)]


def test_few_labels_all_take_part():
    made = encode(torch.tensor([[1.0, 3.0, 2.0]]), palette(3), np.array([0]), 3)
    assert made.share.tolist() == pytest.approx([0.6652], abs=1e-4)  # that of b; a and c are green
    assert made.colours(palette(3)) == [fade(PURPLE, made.share[0])]
    assert made.labels.tolist() == [[1, 2, 0]]
    assert made.rank.tolist() == [3]


def test_labels_that_are_groups_of_their_own_fade_by_their_probability():
    grouping = {
        "colours": {"A": GREEN, "B": PURPLE, "OTHER": YELLOW},
        "groups": {"a": "A", "b": "B"},
    }
    colours = Palette.of(["a", "b", "c"], grouping)
    assert colours.alone
    assert not palette(3).alone  # a and c are one group
    logits = torch.tensor([[0.34, 0.32, 0.34], [0.8, 0.1, 0.1]]).log()
    made = encode(logits, colours, np.array([-1, -1]))
    assert made.share.tolist() == pytest.approx([0.34, 0.8])
    assert made.colours(colours) == [fade(GREEN, 0.34), fade(GREEN, 0.8)]


def test_entropy_and_outcome_by_hand():
    made = encoded([0.5, 0.25, 0.125, 0.125], wanted=1)
    assert made.entropy[0] == pytest.approx(1.75, abs=1e-5)
    assert (made.came[0], made.rank[0]) == (pytest.approx(0.25), 2)
    nothing = encoded([0.5, 0.25, 0.125, 0.125], wanted=-1)
    assert (nothing.came[0], nothing.rank[0]) == (0, 0)


def test_labels_equally_probable_stand_in_their_order_and_the_first_take_part():
    logits = torch.zeros(1, 3000)
    made = encode(logits, palette(3000), np.array([2999]), 20)
    assert made.labels.tolist() == [list(range(20))]
    assert made.rank.tolist() == [1]  # none is more probable
    assert among_top(logits, 300).nonzero()[:, 1].tolist() == list(range(300))
    assert made.entropy[0] == pytest.approx(np.log2(3000), abs=1e-4)


def test_a_network_that_gives_no_numbers_is_refused():
    with pytest.raises(RnnlensError, match="too large"):
        encode(torch.full((1, 30), torch.inf), palette(30), np.array([-1]))
    one = torch.zeros(2, 30).index_fill_(1, torch.tensor([7]), torch.nan)
    with pytest.raises(RnnlensError, match="too large"):
        encode(one, palette(30), np.array([-1, -1]))


def test_a_grouping_without_other_is_refused():
    with pytest.raises(RnnlensError, match="OTHER"):
        Palette.of(["a"], {"colours": {"N": GREEN}, "groups": {}})


@given(st.lists(st.sampled_from(["N", "V", "OTHER"]), min_size=1, max_size=9))
def test_a_palette_becomes_the_grouping_it_was_made_of(groups):
    labels = [f"w{k}" for k in range(len(groups))]
    listed = {label: g for label, g in zip(labels, groups, strict=True) if g != "OTHER"}
    made = Palette.of(labels, {"colours": GROUPING["colours"], "groups": listed})
    assert made.grouping(labels) == {"colours": GROUPING["colours"], "groups": listed}


def naive(logits, groups, wanted, bars):
    """By the definitions, one state, in double precision."""
    x = logits.astype(np.float64)
    p = np.exp(x - x.max())
    p /= p.sum()
    order = sorted(range(len(x)), key=lambda k: (-logits[k], k))
    sums = [0.0] * 3
    alone, tenth = len(set(groups.tolist())) == len(groups), math.floor(0.1 * len(x) + 0.5)
    for k in order[: len(x) if alone or tenth < 2 else tenth]:
        sums[groups[k]] += p[k]
    entropy = -sum(q * np.log2(q) for q in p if q > 0)
    rank = 1 + sum(other > logits[wanted] for other in logits)
    return order[:bars], [p[k] for k in order[:bars]], sums, entropy, p[wanted], rank


coarse = st.integers(-12, 12).map(float)  # ties abound
fine = st.floats(-30, 30, width=32)


@given(
    st.integers(2, 60).flatmap(
        lambda v: arrays(
            np.float32, st.tuples(st.integers(1, 4), st.just(v)), elements=fine | coarse
        )
    ),
    st.integers(1, 25),
    st.integers(0, 59),
)
def test_encodings_are_the_naive_ones(x, bars, chosen):
    wanted = chosen % x.shape[1]
    colours = palette(x.shape[1])
    made = encode(torch.from_numpy(x), colours, np.full(len(x), wanted), bars)
    for row in range(len(x)):
        labels, values, sums, entropy, came, rank = naive(x[row], colours.group_of, wanted, bars)
        assert made.labels[row].tolist() == labels
        assert made.probabilities[row] == pytest.approx(values, rel=1e-4, abs=1e-7)
        share = max(sums) / sum(sums)
        assert made.share[row] == pytest.approx(share, rel=1e-4)
        assert sums[made.group[row]] == pytest.approx(max(sums), rel=1e-4)
        assert made.entropy[row] == pytest.approx(entropy, abs=1e-3)
        assert (made.came[row], made.rank[row]) == (pytest.approx(came, rel=1e-4, abs=1e-7), rank)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2048, 6000),
    st.sampled_from(["normal", "ties", "few values", "spike", "ramp", "constant"]),
)
@example(0, 2048, "constant")
@example(1, 4096, "spike")
def test_bounds_found_by_counting_separate_exactly(seed, labels, shape):
    """The fast way of finding the top labels, which only large vocabularies take."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(5, labels)).astype(np.float32)
    if shape == "ties":
        x = x.round(1)
    elif shape == "few values":
        x = x.round(0)
    elif shape == "spike":
        x[:, : labels // 9] += 50
    elif shape == "ramp":
        x = np.sort(x, 1)
    elif shape == "constant":
        x[:] = 2.5
    top = math.floor(0.1 * labels + 0.5)
    bound = separating(x, top)
    exact = -np.sort(-x, 1)[:, top - 1, None]
    assert ((x >= bound) == (x >= exact)).all()
    order = np.argsort(-x, 1, kind="stable")
    kept = among_top(torch.from_numpy(x), top).numpy().astype(bool)
    assert kept.sum(1).tolist() == [top] * 5
    assert np.take_along_axis(kept, order[:, :top], 1).all()
    assert (largest(x, 20) == order[:, :20]).all()


@pytest.mark.parametrize("columns", [7, 50, 113, 600, 1000])
def test_equal_ones_stand_in_the_order_of_their_numbers(columns):
    random = np.random.default_rng(2)
    x = random.integers(0, 9, (5, columns)).astype(np.float32)  # with many ties
    assert (largest(x, 7) == np.argsort(-x, 1, kind="stable")[:, :7]).all()
    numbers = random.permutation(columns)
    named = numbers[largest(x, 7, numbers)]
    assert (named == np.argsort(-x[:, np.argsort(numbers)], 1, kind="stable")[:, :7]).all()


def test_labels_group_by_group_have_the_sums_of_their_groups():
    p = torch.rand(6, 40, generator=torch.Generator().manual_seed(1))
    plain = palette(40)
    grouped = plain.by_group
    order = torch.from_numpy(grouped.numbers)
    assert (np.diff(grouped.group_of) >= 0).all()
    assert (np.diff(grouped.numbers) < 0).any()
    assert torch.allclose(grouped.sums(p[:, order]), plain.members @ p.T)
    assert torch.allclose(plain.sums(p), plain.members @ p.T)


@pytest.mark.parametrize("unasked", [0, 3, 15, 20])
def test_ranks_of_the_labels_that_came_among_states_that_are_asked_for_none(unasked):
    x = np.random.default_rng(3).integers(0, 30, (20, 40)).astype(np.float32)
    wanted = np.arange(20) * 2
    wanted[:unasked] = -1
    made = encode(torch.from_numpy(x), palette(40), wanted)
    above = [
        int((row > row[w]).sum()) + 1 if w >= 0 else 0 for row, w in zip(x, wanted, strict=True)
    ]
    assert made.rank.tolist() == above


def test_parts_join_in_order():
    logits = torch.randn(7, 40, generator=torch.Generator().manual_seed(0))
    wanted = np.arange(7)
    whole = encode(logits, palette(40), wanted)
    parts = [encode(logits[a:b], palette(40), wanted[a:b]) for a, b in ((0, 3), (3, 4), (4, 7))]
    joined = Encodings.join(parts)
    assert (joined.labels == whole.labels).all()
    assert joined.share == pytest.approx(whole.share)
    assert joined.rank.tolist() == whole.rank.tolist()


def test_numbers_have_five_digits():
    given_ = np.array([[0.123456789, 1.0, 0.0, 3.2109876e-12, 12.3456]], np.float32)
    assert significant(given_) == [[0.12346, 1.0, 0.0, 3.211e-12, 12.346]]
    assert significant(np.array([1e-305, 1e-299])) == [0.0, 1e-299]


@pytest.mark.parametrize("labels", [1, 7, 8, 2039, 2040, 2041, 9000])
def test_numbers_that_reach_a_bound_are_counted_whatever_their_number(labels):
    x = np.random.default_rng(labels).normal(size=(3, labels)).astype(np.float32)
    bounds = np.array([-9, 0, 9], np.float32)
    assert encoding._count(x, bounds).tolist() == (x >= bounds[:, None]).sum(1).tolist()


def naive_shares(p, members, counts):
    """By what each group exceeds its base rate, as the documentation has it, state by state."""
    u = (counts + 1) / (counts + 1).sum()
    frequent, even = members @ u, members.mean(1)
    bits, most = -(u * np.log2(u)).sum(), np.log2(len(u))
    shares = []
    for row in p:
        entropy = -(row[row > 0] * np.log2(row[row > 0])).sum()
        beyond = min(max((entropy - bits) / (most - bits), 0), 1) if most > bits else 0
        base = (1 - beyond) * frequent + beyond * even
        shares.append((members @ row - base) / (1 - base))
    return np.array(shares)


@pytest.mark.parametrize("labels", [4, 30, 2500])
def test_colours_fade_by_what_exceeds_the_base_rates(labels):
    draw = np.random.default_rng(labels)
    counts = draw.integers(0, 1000, labels)
    colours = palette(labels).against(torch.from_numpy(counts))
    assert (colours.rule, palette(labels).rule) == ("excess", "paper")
    logits = torch.from_numpy(draw.normal(0, draw.uniform(0, 6, (50, 1)), (50, labels))).float()
    shares = naive_shares(
        logits.double().softmax(1).numpy(), colours.members.numpy().astype(float), counts
    )
    made = encode(logits, colours, np.full(50, -1))
    assert made.group.tolist() == shares.argmax(1).tolist()
    first, second = np.sort(shares.clip(0, 1), 1)[:, :-3:-1].T
    assert made.share == pytest.approx(first, abs=1e-5)
    assert made.lead == pytest.approx(first - second, abs=1e-5)
    close = (first - second < 0.05) & (first >= 0.05) & (second > 0)
    assert (made.rivals() >= 0).tolist() == close.tolist()
    for k in np.flatnonzero(close):
        assert shares[k, made.rivals()[k]] == pytest.approx(second[k], abs=1e-5)


@pytest.mark.parametrize("labels", [4, 30, 2500])
def test_what_knows_nothing_is_white_and_what_is_certain_has_the_whole_colour(labels):
    counts = torch.from_numpy(np.random.default_rng(labels).integers(0, 10**6, labels))
    colours = palette(labels).against(counts)
    frequencies = ((counts + 1) / (counts + 1).sum()).log().float()
    certain = torch.full((labels,), -80.0)
    certain[1] = 0
    logits = torch.stack([frequencies, torch.zeros(labels), certain])
    made = encode(logits, colours, np.full(3, -1))
    assert made.share.tolist() == pytest.approx([0, 0, 1], abs=1e-4)
    assert made.colours(colours) == ["#ffffff", "#ffffff", PURPLE]
    assert (made.rivals() == -1).all()
    by_paper = encode(logits, palette(labels), np.full(3, -1)).share
    assert (by_paper[:2] > 0.3).all()  # where the same is painted


def test_rates_that_nobody_counted_leave_the_papers_rule():
    for counts in (torch.zeros(3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.int64)):
        assert palette(3).against(counts).base is None
    several = Palette.of(named(3), GROUPING, LabelSet(tuple(named(3)), several=True))
    assert several.against(torch.ones(3)).rule == "paper"


def test_one_group_for_all_labels_says_nothing():
    alone = {"colours": {"OTHER": YELLOW}, "groups": {}}
    colours = Palette.of(named(5), alone).against(torch.arange(5))
    made = encode(torch.eye(5) * 9, colours, np.full(5, -1))
    assert made.share.tolist() == pytest.approx([0] * 5, abs=1e-6)
    assert (made.rivals() == -1).all()


def test_states_are_encoded_in_any_mode_one_after_the_other():
    logits = torch.randn(5, 40, generator=torch.Generator().manual_seed(1))
    nothing = np.full(5, -1)
    with torch.inference_mode():
        first = encode(logits, palette(40), nothing)
    again = encode(logits, palette(40), nothing)
    with torch.no_grad():
        fewer = encode(logits[:2], palette(40), nothing[:2])
    assert np.array_equal(first.probabilities, again.probabilities)
    assert np.array_equal(first.probabilities[:2], fewer.probabilities)
