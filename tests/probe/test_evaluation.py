import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.probe.conftest import LABELS, dataset_of, make_split

from rnnlens.corpus.split import Split
from rnnlens.labels.sets import LabelSet
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import _answered, model_scores, probe_scores
from rnnlens.probe.measures import MOST_CONFUSED, Verdicts
from rnnlens.probe.probes import Probes


@pytest.fixture(scope="module")
def probes(network) -> Probes:
    """The model's own classifier for the last kind, a random one for the embedding."""
    torch.manual_seed(0)
    _, weight, bias = network.classifier()
    tensors = {
        "output/h2/weight": weight,
        "output/h2/bias": bias,
        "output/x/weight": torch.randn(network.label_count, 12),
        "output/x/bias": torch.zeros(network.label_count),
    }
    return Probes.of("linear", ("x", "h2"), ("output",), network.label_count, tensors)


def measured(probes, network, train, test, **options):
    return probe_scores(probes, dataset_of(network, train=train, test=test), **options)


def test_the_models_own_classifier_scores_as_the_model(network, probes, train, valid):
    scores = {s.kind: s for s in measured(probes, network, train, valid)}
    assert scores["h2"].ratio == pytest.approx(1, abs=1e-5)
    assert scores["h2"].kl == pytest.approx(0, abs=1e-5)
    assert (scores["x"].ratio or 0) > 1
    assert (scores["x"].kl or 0) > 0


def test_scores_agree_with_a_plain_float64_computation(network, probes, train, valid):
    score = next(s for s in measured(probes, network, train, valid) if s.kind == "x")
    chunk = next(dataset_of(network, test=valid).stream("test", "output", 10**6).chunks())
    p = probes.logits("x", chunk.states["x"]).double().softmax(-1).numpy()
    own = network.predict(chunk.states["h2"]).double().softmax(-1).numpy()
    y = chunk.labels.numpy()
    came = p[np.arange(len(y)), y]
    assert score.pairs == valid.pairs == len(y)
    assert score.perplexity == pytest.approx(math.exp(-np.log(came).mean()), rel=1e-5)
    assert score.accuracy == pytest.approx((p.argmax(1) == y).mean())
    assert score.kl == pytest.approx((own * np.log2(own / p)).sum(1).mean(), rel=1e-4)
    confidence, right = p.max(1), p.argmax(1) == y
    place = np.minimum((confidence * 15).astype(int), 14)
    gap = sum(abs(confidence[place == b].sum() - right[place == b].sum()) for b in range(15))
    assert score.calibration == pytest.approx(gap / len(y), rel=1e-4)
    counts = np.bincount(train.targets(), minlength=network.label_count) + 1
    assert score.unigram == pytest.approx(
        math.exp(-np.log(counts[y] / counts.sum()).mean()), rel=1e-5
    )


def test_a_limit_looks_at_fewer_states(network, probes, train, valid):
    score = next(iter(measured(probes, network, train, valid, states=1)))
    assert 0 < score.pairs <= valid.pairs


def labelled(seed: int = 0, of_texts: bool = False) -> Split:
    split = make_split(60, seed)
    labels = split.ids % 3
    if of_texts:
        labels = labels[split.starts[:-1]].repeat(split.lengths)
    return Split(split.ids, split.starts, labels)


def dataset(split: Split, both: bool = False, of_texts: bool = False) -> Dataset:
    config = NetworkConfig("gru", 6, tied=False, bidirectional=both)
    network = Network(config, 3, LABELS).initialise(5).requires_grad_(False)
    data = {name: Sentences(split, with_lengths=both) for name in ("train", "test")}
    return Dataset(network, data, 3, reads_labels=False, follows=False, of_texts=of_texts)


def test_accuracy_f1_and_confusion_by_hand():
    answers = Verdicts(4)
    answers.add(torch.tensor([0, 0, 0]), torch.tensor([0, 1, 0]))
    answers.add(torch.tensor([1, 2]), torch.tensor([1, 0]))
    assert answers.accuracy == pytest.approx(3 / 5)
    # 0: two of three, and one of three said; 1: one, and two said; 2: never; 3 does not occur.
    assert answers.macro_f1 == pytest.approx((4 / 6 + 2 / 3 + 0) / 3)
    assert answers.confusion == [[2, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert Verdicts(MOST_CONFUSED + 1).confusion is None


@pytest.mark.parametrize("both", [False, True])
def test_a_tagger_is_asked_at_every_word(both):
    split = labelled()
    made = dataset(split, both)
    right = 0
    for k in range(len(split)):
        a, b = split.starts[k], split.starts[k + 1]
        assert split.labels is not None
        logits = made.model.trace(torch.from_numpy(split.ids[a:b])[:, None]).logits
        assert logits is not None
        right += int((logits[:, 0].argmax(-1) == torch.from_numpy(split.labels[a:b])).sum())
    found = model_scores(made)
    assert found.parts["test"]["accuracy"] == pytest.approx(right / len(split.ids))
    assert found.parts["test"]["pairs"] == len(split.ids)
    assert found.confusion is not None
    assert sum(map(sum, found.confusion)) == len(split.ids)


@pytest.mark.parametrize("both", [False, True])
def test_a_text_is_answered_once_after_its_last_word_or_by_the_mean(both):
    split = labelled(of_texts=True)
    made = dataset(split, both, of_texts=True)
    right = 0
    for a, b in zip(split.starts, split.starts[1:], strict=False):
        assert split.labels is not None
        logits = made.model.trace(torch.from_numpy(split.ids[a:b])[:, None]).logits
        assert logits is not None
        p = logits[:, 0].softmax(-1)
        right += int((p.mean(0) if both else p[-1]).argmax()) == split.labels[a]
    found = model_scores(made)
    assert found.parts["test"]["accuracy"] == pytest.approx(right / len(split))
    assert found.confusion is not None
    assert sum(map(sum, found.confusion)) == len(split)


def test_a_language_models_answers_are_not_counted(network, train):
    found = model_scores(dataset_of(network, train=train, test=train))
    assert set(found.parts["test"]) == {"sentences", "pairs", "perplexity", "unigram", "intervals"}
    assert found.confusion is None


def test_a_models_own_predictions_are_measured_without_its_states(network, train, monkeypatch):
    told = model_scores(dataset_of(network, train=train, test=train)).parts["test"]
    monkeypatch.setattr(Network, "prediction_alone", Network.trace)
    slow = model_scores(dataset_of(network, train=train, test=train)).parts["test"]
    monkeypatch.undo()
    assert told["perplexity"] == pytest.approx(slow["perplexity"], rel=1e-6)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("no state is asked for")

    monkeypatch.setattr(Network, "trace", refused)
    assert model_scores(dataset_of(network, train=train, test=train)).parts["test"] == told


@pytest.mark.parametrize("semantic", ["output", "output+2", "output-1", "tag", "tag+1", "tag-2"])
@pytest.mark.parametrize("of", ["words", "texts", "next words"])
def test_states_with_labels_are_as_many_as_is_said(semantic, of):
    split = labelled(of_texts=of == "texts")
    split = replace(split, labels=None) if of == "next words" else split
    tagged = Sentences(split, tags=split.ids % 2)
    found = dataset(split)
    found.splits, found.answers["tag"] = {"test": tagged}, LabelSet(("a", "b"))
    if of == "next words":
        found.follows, found.answers["output"] = True, LabelSet.numbered(LABELS)
    stream = found.stream("test", semantic, kinds=("x",))
    assert sum(len(chunk.labels) for chunk in stream.chunks()) == stream.pairs


@pytest.mark.parametrize("both", [False, True])
def test_a_sequence_without_a_label_is_not_counted(both):
    data = dataset(labelled(of_texts=True), both, of_texts=True)
    chunk = next(iter(data.stream("test", "output", kinds=("y",)).chunks()))
    there = chunk.sequences != 1
    fewer = replace(chunk, labels=chunk.labels[there], sequences=chunk.sequences[there])
    logits = torch.randn(len(chunk.labels), 3)
    labels, answers, _ = _answered(chunk, logits, data)
    kept = torch.arange(chunk.count) != 1
    some = _answered(fewer, logits[there], data)
    assert torch.equal(some[0], labels[kept])
    assert torch.equal(some[1], answers[kept])
