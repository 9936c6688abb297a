"""Type-wise controls and description lengths, held to plain NumPy and to planted truths."""

import numpy as np
import pytest
import torch
from tests.probe.conftest import LABELS, dataset_of, make_split

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.split import Split
from rnnlens.labels.sets import LabelSet
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.probe import control
from rnnlens.probe.control import ClosedForm, controls, sample, typewise
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Dataset


def test_a_probe_in_closed_form_is_that_of_normal_distributions():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    means = np.array([[3.0, 0], [0, 3.0], [-2.0, -2.0]])
    x = (means[y] + rng.normal(size=(900, 2))).astype(np.float32)
    probe = ClosedForm(torch.from_numpy(x), torch.from_numpy(y), 3)
    right, loss = probe.answers(torch.from_numpy(x), torch.from_numpy(y))
    # Plain: pooled covariance within labels, Bayes' rule, means drawn a little to that of all.
    counts = np.bincount(y)
    near = x - x.mean(0)
    found = np.stack([near[y == v].sum(0) / (counts[v] + 1) for v in range(3)])
    apart = near - found[y]
    within = apart.T @ apart / len(x)
    inverse = np.linalg.inv(within + 0.01 * np.diag(within).mean() * np.eye(2))
    distance = near @ inverse @ found.T - np.einsum("vh,hk,vk->v", found, inverse, found) / 2
    logits = probe.share * distance + np.log((counts + 1) / (counts + 1).sum())
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    assert np.allclose(loss.numpy(), -log_p[np.arange(900), y], atol=1e-3)
    assert right.float().mean() == pytest.approx((log_p.argmax(1) == y).mean())
    assert right.float().mean() > 0.9
    assert probe.share > 0.5


def test_states_that_tell_nothing_are_no_worse_than_the_frequencies():
    rng = np.random.default_rng(0)
    y = torch.from_numpy(rng.choice(20, 800, p=np.arange(1, 21) / 210))
    noise = torch.from_numpy(rng.normal(size=(800, 30)).astype(np.float32))
    _, loss = ClosedForm(noise[:400], y[:400], 20).answers(noise[400:], y[400:])
    counts = np.bincount(y[:400], minlength=20) + 1
    unigram = -np.log(counts / counts.sum())[y[400:]].mean()
    assert float(loss.mean()) < unigram * 1.02


def test_each_type_has_one_label_from_the_same_distribution():
    words = torch.from_numpy(np.random.default_rng(0).integers(0, 500, 6000))
    labels = torch.from_numpy(np.random.default_rng(1).choice(3, 4000, p=[0.7, 0.2, 0.1]))
    (learnt, asked), types = typewise(words[:4000], words[4000:], labels, 0)
    given = torch.cat([learnt, asked])
    assert types == 500
    for word in range(500):
        assert len(given[words == word].unique()) == 1
    share = torch.stack([given[words == word][0] for word in range(500)]).bincount() / 500
    assert share.numpy() == pytest.approx([0.7, 0.2, 0.1], abs=0.05)
    assert not torch.equal(typewise(words[:4000], words[4000:], labels, 1)[0][0], learnt)


def test_a_kind_that_knows_the_word_alone_memorises_and_one_that_knows_more_selects(network, train):
    found = controls(dataset_of(network, train=train, test=make_split(120, 9)), "output")
    memory, _ = found["x"]
    assert memory.control > 0.6  # x is a row for each word
    last, told = found["h2"]
    assert last.selectivity > memory.selectivity
    assert last.low is not None
    assert last.high is not None
    assert last.low <= last.selectivity <= last.high
    assert last.selectivity == last.accuracy - last.control
    assert (last.types, last.sentences) == (LABELS, 120)
    assert told.bits < told.unigram < told.uniform * 1.1
    assert told.low is not None
    assert told.high is not None
    assert told.low < told.bits < told.high
    assert told.compression == told.uniform / told.bits
    # The embedding of a noisy circle tells what follows as well as anything: both compress.
    assert found["x"][1].bits < found["f1"][1].bits


def test_a_description_length_is_the_sum_over_blocks(network, train):
    learnt = sample(dataset_of(network, train=train), "train", "output", 1024)
    states, labels = learnt.states["h2"], learnt.labels
    bits = [np.log2(LABELS) * 256]
    for first in (256, 512):
        probe = ClosedForm(states[:first], labels[:first], LABELS)
        _, loss = probe.answers(states[first : 2 * first], labels[first : 2 * first])
        bits.append(float(loss.sum()) / np.log(2))
    found = control._described(states, learnt, LABELS)
    assert found.states == 1024 == len(labels)
    assert found.bits == pytest.approx(sum(bits) / 1024, rel=1e-5)
    plain = np.bincount(learnt.sentences.numpy(), minlength=learnt.count)
    assert plain.sum() == 1024
    assert (plain > 0).all()


def test_a_sample_keeps_sentences_together_and_their_words(network, train):
    some = sample(dataset_of(network, train=train), "train", "output", 200)
    assert len(some.labels) == 200
    assert (some.sentences.diff() >= 0).all()
    assert torch.allclose(some.states["x"], network.embedding[some.words])


def test_labels_without_types_are_refused():
    split = make_split(40, 0)
    made = Network(NetworkConfig("gru", 6), LABELS).initialise(5).requires_grad_(False)
    several = Dataset(made, {"train": Sentences(split), "test": Sentences(split)}, LABELS)
    several.answers["output"] = LabelSet(several.answers["output"].names, several=True)
    with pytest.raises(RnnlensError, match="several hold at once"):
        controls(several, "output")

    class Mute(Sentences):
        def batches(self, chosen, device):
            return (batch._replace(words=None) for batch in super().batches(chosen, device))

    mute = Dataset(made, {"train": Mute(split), "test": Mute(split)}, LABELS)
    with pytest.raises(RnnlensError, match="no words beside its labels") as problem:
        controls(mute, "output")
    assert "\n" not in str(problem.value)
    short = Dataset(
        made, {"train": Sentences(split), "test": Sentences(Split.joined([[1]]))}, LABELS
    )
    with pytest.raises(RnnlensError, match="no test sentence is long enough"):
        controls(short, "output")
