"""Sums by sentence, and what is made of them, held to plain NumPy."""

import math

import numpy as np
import pytest
import torch
from tests.probe.conftest import LABELS, dataset_of, make_split

from rnnlens.base.intervals import UNITS, Resamples
from rnnlens.base.intervals import _beyond as beyond
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import CHUNK, Chunk, Dataset
from rnnlens.probe.evaluation import model_scores, probe_scores
from rnnlens.probe.probes import Probes
from rnnlens.probe.tally import ALL, BANDS, Units


@pytest.fixture(scope="module")
def test():
    return make_split(90, 4)


@pytest.fixture(scope="module")
def probes(network):
    _, weight, bias = network.classifier()
    generator = torch.Generator().manual_seed(0)
    tensors = {
        "output/h2/weight": weight, "output/h2/bias": bias,
        "output/x/weight": torch.randn(LABELS, 12, generator=generator),
        "output/x/bias": torch.zeros(LABELS),
        "output/counts": torch.tensor([10, 49, 50, 499, 500, 9000] * 4)[:LABELS],
    }  # fmt: skip
    return Probes.of("linear", ("x", "h2"), ("output",), LABELS, tensors)


@pytest.fixture(scope="module")
def plain(network, probes, test):
    """Of each sentence: its length, and -log p, right answers and confidences by each kind."""
    rows = []
    for a, b in zip(test.starts, test.starts[1:], strict=False):
        words = torch.from_numpy(test.ids[a:b])
        trace = network.trace(words[:-1, None])
        row = {}
        for kind in ("x", "h2"):
            p = probes.logits(kind, trace.states[kind][:, 0]).double().softmax(-1).numpy()
            came = p[np.arange(len(words) - 1), words[1:].numpy()]
            right = p.argmax(1) == words[1:].numpy()
            row[kind] = -np.log(came), right, p.max(1), p.argmax(1)
        rows.append(row)
    return rows


def quantiles(numbers, count):
    return np.quantile(numbers, (beyond(count), 1 - beyond(count)))


def test_intervals_are_over_sentences_and_pairs_of_kinds_share_their_draws(
    network, probes, train, test, plain
):
    scores = {s.kind: s for s in probe_scores(probes, dataset_of(network, train=train, test=test))}
    chosen = np.random.default_rng((0, 1)).integers(0, 90, (1000, 90))
    order = Sentences(test).in_order(np.arange(90))  # in which they come
    draws = {}
    for kind, score in scores.items():
        loss, right = (np.array([row[kind][k].sum() for row in plain])[order] for k in (0, 1))
        length = np.array([len(row[kind][0]) for row in plain])[order]
        draws[kind] = loss[chosen].sum(1) / length[chosen].sum(1)
        low, high = quantiles(np.exp(draws[kind]), 90)
        assert score.sentences == 90
        assert score.intervals["perplexity"].low == pytest.approx(low, rel=1e-4)
        assert score.intervals["perplexity"].high == pytest.approx(high, rel=1e-4)
        low, high = quantiles(right[chosen].sum(1) / length[chosen].sum(1), 90)
        assert score.intervals["accuracy"].low == pytest.approx(low, rel=1e-4)
        assert score.intervals["accuracy"].high == pytest.approx(high, rel=1e-4)
    low, high = quantiles(np.exp(draws["x"] - draws["h2"]), 90)
    assert scores["x"].intervals["ratio"].low == pytest.approx(low, rel=1e-3)
    assert scores["h2"].intervals["kl"].high == pytest.approx(0, abs=1e-5)
    assert scores["x"].below == {"h2": pytest.approx((draws["x"] < draws["h2"]).mean())}
    assert scores["h2"].below == {"x": 1.0}


def test_a_curve_has_how_often_states_of_a_confidence_are_right(
    network, probes, train, test, plain
):
    score = next(iter(probe_scores(probes, dataset_of(network, train=train, test=test))))
    said, right, guess = (np.concatenate([row["x"][k] for row in plain]) for k in (2, 1, 3))
    place = np.minimum((said * 10).astype(int), 9)
    curve = {round(one.start * 10): one for one in score.reliability[ALL]}
    assert set(curve) == {k for k in range(10) if (place == k).sum() >= 30}
    for k, one in curve.items():
        assert one.states == (place == k).sum()
        assert one.confidence == pytest.approx(said[place == k].mean(), rel=1e-4)
        assert one.accuracy == pytest.approx(right[place == k].mean(), rel=1e-4)
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.accuracy <= one.high
    bands = np.digitize(probes.counts["output"], [50, 500])[guess]
    assert set(bands) == {0, 1, 2}
    assert set(score.reliability) == {ALL, *(BANDS[b][0] for b in set(bands))}
    for name, bins in score.reliability.items():
        if name != ALL:
            of = bands == [n for n, _ in BANDS].index(name)
            for one in bins:
                assert one.states == (of & (place == round(one.start * 10))).sum()


def test_few_sentences_have_numbers_and_no_intervals(network, probes, train):
    few = dataset_of(network, train=train, test=make_split(9, 1))
    for score in probe_scores(probes, few):
        assert (score.sentences, score.intervals, score.below) == (9, {}, {})
        assert all(one.low is None for one in score.reliability[ALL])
    assert model_scores(few).parts["test"]["intervals"] == {}


def test_many_sentences_are_taken_together():
    units = Units()
    for first in range(0, 5000, 100):
        sequences = torch.arange(100).repeat_interleave(3)
        chunk = Chunk({}, torch.zeros(300, dtype=torch.int64), sequences, 100)
        found = units.of(chunk)
        assert torch.equal(found, (first + sequences) % UNITS)
    assert (units.sentences, units.count) == (5000, UNITS)


def test_sentences_that_occur_in_training_are_told_apart(network, train, test):
    known, found = (
        [split.ids[a:b].tolist() for a, b in zip(split.starts, split.starts[1:], strict=False)]
        for split in (train, test)
    )
    fresh = [sentence for sentence in found if sentence not in known]
    mixed = [s for pair in zip(known[: len(fresh)], fresh, strict=True) for s in pair]
    parts = model_scores(dataset_of(network, train=train, test=test.joined(mixed))).parts
    new = test.joined(fresh)
    alone = model_scores(dataset_of(network, train=train, test=new)).parts["test"]
    unseen = parts["test"]["unseen"]
    assert 80 < len(fresh) < 90
    assert (unseen["sentences"], unseen["pairs"]) == (len(fresh), new.pairs)
    assert unseen["perplexity"] == pytest.approx(alone["perplexity"], rel=1e-6)
    ends = unseen["intervals"]["perplexity"]
    assert ends["low"] < unseen["perplexity"] < ends["high"]
    assert "unseen" not in alone  # none of them occurs there
    assert "unseen" not in parts["train"]
    assert math.isfinite(parts["test"]["perplexity"])


def test_a_model_is_worth_the_same_however_many_states_are_read_at_once(
    network, train, monkeypatch
):
    many = make_split(UNITS + 300, 5)  # so that some sentences are put together
    data = dataset_of(network, train=train, test=many)
    sizes = list[int]()

    def worth(size: int):
        monkeypatch.setattr(Dataset, "many_at_once", lambda *_: size)
        return model_scores(data, sizes.append).parts["test"]

    whole = worth(100_000)
    assert max(sizes) > CHUNK >= len(many) / 2
    few = worth(CHUNK)
    assert whole["pairs"] == few["pairs"] == many.pairs
    for name in ("perplexity", "unigram"):
        assert whole[name] == pytest.approx(few[name], rel=1e-6)
    for end in ("low", "high"):
        found, wanted = (one["intervals"]["perplexity"][end] for one in (whole, few))
        assert found == pytest.approx(wanted, rel=1e-6)


def test_an_interval_of_the_model_is_that_of_its_sentences(network, test, train, plain):
    found = model_scores(dataset_of(network, train=train, test=test)).parts["test"]
    loss = np.array([row["h2"][0].sum() for row in plain])
    length = np.array([len(row["h2"][0]) for row in plain])
    order = Sentences(test).in_order(np.arange(90))
    resamples = Resamples(90)
    ends = resamples.interval(np.exp(resamples.ratios(loss[order], length[order])))
    assert ends is not None
    assert found["intervals"]["perplexity"]["low"] == pytest.approx(ends.low, rel=1e-4)
    assert found["intervals"]["perplexity"]["high"] == pytest.approx(ends.high, rel=1e-4)
