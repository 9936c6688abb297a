"""A module on its batches: what it is asked, how often each label comes, how well it does."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.letters import Classifier, LanguageModel, Packed, batches, trained
from torch import Tensor

from rnnlens.adapter import Adapter
from rnnlens.adapter.batches import Pair
from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet
from rnnlens.probe.data import of_batches
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import model_scores

V = 6


def dataset(
    module: Any, train: list[Pair], valid: list[Pair] | None = None, labels: int = V
) -> Dataset:
    adapter = Adapter(module)
    adapter.align(train[0])
    splits = {"train": train, "valid": valid or train[:1]}
    return Dataset(adapter, {n: of_batches(adapter, some) for n, some in splits.items()}, labels)


def test_frequencies_are_those_of_training_by_semantic():
    words = torch.tensor([[1, 1, 2], [1, 3, 3]])
    targets = torch.tensor([[4, 4, -100], [5, 4, 0]])
    found = dataset(LanguageModel(), [(words, targets)], batches(size=3))
    assert found.counts("output").tolist() == [1, 0, 0, 0, 3, 1]
    assert found.counts("input").tolist() == [0, 3, 0, 2, 0, 0]
    assert found.counts("output+1").tolist() == [1, 0, 0, 0, 2, 0]
    prior = LabelSet.numbered(len(found.counts("output"))).prior(found.counts("output"))
    assert prior.exp().tolist() == pytest.approx([2 / 11, 1 / 11, 1 / 11, 1 / 11, 4 / 11, 2 / 11])


def test_padding_of_packed_sequences_is_not_counted():
    data: list[Pair] = []
    expected: Counter[int] = Counter()
    for k, (words, targets) in enumerate(batches(count=5)):
        lengths = torch.tensor([7, 1, 2, 3, 2, 1, 1, k + 1])
        past = torch.arange(7) >= lengths[:, None]
        data.append(((words, lengths), targets.masked_fill(past, 0)))  # 0 is a label too
        expected.update(targets[~past].tolist())
    found = dataset(Packed(), data).counts("output")
    assert found.tolist() == [expected[k] for k in range(V)]
    assert found[0] == 0


def test_the_word_that_was_read_is_asked_only_of_who_predicts_words():
    adapter = Adapter(LanguageModel(labels=3))
    data: list[Pair] = [(words, targets % 3) for words, targets in batches()]
    adapter.align(data[0])
    tagger = Dataset(adapter, {"train": of_batches(adapter, data)}, 3, reads_labels=False)
    with pytest.raises(RnnlensError, match="labels are not the words it reads; leave input out"):
        tagger.stream("train", "input")
    assert tagger.stream("train", "output").pairs == 12 * 8 * 7


def test_perplexities_are_those_of_the_module_and_of_frequencies():
    torch.manual_seed(0)
    train, valid = batches(count=6), batches(count=2, seed=5)
    valid[0][1][:, 2:4] = -100
    model = trained(LanguageModel(), train, 2)
    found = model_scores(dataset(model, train, valid)).parts
    counts = torch.bincount(torch.cat([t.flatten() for _, t in train]), minlength=V).double() + 1
    for name, data in (("train", train), ("valid", valid)):
        targets = torch.cat([t.flatten() for _, t in data])
        there = targets >= 0
        with torch.no_grad():
            logits = torch.cat([model(x).flatten(0, 1) for x, _ in data])
        own = F.cross_entropy(logits[there], targets[there]).exp()
        unigram = (-(counts / counts.sum()).log()[targets[there]].mean()).exp()
        assert found[name]["perplexity"] == pytest.approx(float(own), rel=1e-4)
        assert found[name]["unigram"] == pytest.approx(float(unigram), rel=1e-6)
        assert found[name]["pairs"] == int(there.sum())
        assert found[name]["batches"] == len(data)


def test_a_module_without_logits_cannot_be_measured():
    class Silent(LanguageModel):
        def forward(self, words: Tensor) -> Any:
            return self.recurrence(self.embedding(words))[0]

    with pytest.raises(RnnlensError, match=r"logits were not found .* give logits="):
        model_scores(dataset(Silent(), batches()))


def test_the_classifier_is_a_linear_map_of_a_kind_that_is_there():
    module = LanguageModel()
    found = dataset(module, batches()).classifier
    assert found is not None
    assert found.kind == "h1"
    torch.testing.assert_close(found.weight, module.readout.weight.detach())
    adapter = Adapter(module)
    axes = adapter.align(batches()[0])
    adapter.axes = replace(axes, kinds=axes.kinds[:-1])
    assert Dataset(adapter, {"train": of_batches(adapter, batches())}, V).classifier is None


def test_the_states_of_whole_sequences_are_what_is_counted():
    data: list[Pair] = [(words, words[:, 0]) for words, _ in batches(count=3)]
    found = dataset(Classifier(), data)
    assert found.stream("train", "output").pairs == 3 * 8 * 7
    expected = 7 * np.bincount(np.concatenate([t.numpy() for _, t in data]), minlength=V)
    assert found.counts("output").tolist() == expected.tolist()
    assert model_scores(found).parts["train"]["pairs"] == 3 * 8 * 7


def test_padding_in_front_is_no_first_word():
    data = batches(count=2)
    for words, targets in data:
        words[0, :2], targets[0, :2] = 0, -1
    for semantic in ("output-1", "output-2", "output-3"):
        chunk = dataset(LanguageModel(), data).stream("train", semantic).chunk(np.arange(2))
        assert 0 not in chunk.labels.tolist()
