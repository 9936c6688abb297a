"""States of a module with the labels they are asked about, against a naive loop."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.letters import Classifier, LanguageModel, Packed, batches
from torch import Tensor

from rnnlens.adapter import Adapter
from rnnlens.adapter.batches import Pair
from rnnlens.base.errors import RnnlensError
from rnnlens.probe import dataset as dataset_module
from rnnlens.probe.data import of_batches
from rnnlens.probe.dataset import Dataset, Stream

V = 6
SHIFTS = {"input": None, "output": 0, "output+1": 1, "output+2": 2, "output-1": -1, "output-2": -2}


def made(seed: int, count: int, packed: bool, first: bool) -> tuple[Any, list[Pair]]:
    """A module, and batches with gaps in their targets and sequences of other lengths."""
    random = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    data: list[Pair] = []
    steps = int(torch.randint(2, 6, (), generator=random))
    for _ in range(count):
        size = int(torch.randint(2, 6, (), generator=random))
        words = torch.randint(V, (size, steps), generator=random)
        targets = torch.randint(-2, V, (size, steps), generator=random)
        lengths = torch.randint(1, steps + 1, (size,), generator=random)
        if packed:
            data.append(((words, lengths), targets))
        else:
            data.append((words, targets) if first else (words.T.contiguous(), targets.T))
    return (Packed() if packed else LanguageModel(first)), data


def naive(module: Any, data: list[Pair], semantic: str) -> list[tuple[list[float], int]]:
    """The last output of every state that has a label, and the label, one sequence at a time."""
    found, shift = [], SHIFTS[semantic]
    for inputs, given_targets in data:
        words, lengths = inputs if isinstance(inputs, tuple) else (inputs, None)
        turned = not module.recurrence.batch_first
        words, targets = (words.T, given_targets.T) if turned else (words, given_targets)
        for b, row in enumerate(words):
            n = len(row) if lengths is None else int(lengths[b])
            x = module.embedding(row[:n])
            h = module.recurrence(x[:, None] if turned else x[None])[0].reshape(n, -1)
            for t in range(n):
                if targets[b, t] < 0 or (shift is not None and not 0 <= t + shift < n):
                    continue
                label = int(row[t] if shift is None else targets[b, t + shift])
                if label >= 0:
                    found.append((h[t].tolist(), label))
    return found


def source(
    module: Any, data: list[Pair], semantic: str, *more: str, follows: bool = False
) -> Stream:
    adapter = Adapter(module)
    adapter.align(data[0])
    dataset = Dataset(adapter, {"train": of_batches(adapter, data)}, V, follows=follows)
    return dataset.stream("train", semantic, 7, (*dataset.kinds, *more))


@pytest.mark.release
@given(
    st.integers(0, 10**6), st.integers(1, 3), st.sampled_from(["packed", "first", "time"]),
    st.sampled_from(sorted(SHIFTS)),
)  # fmt: skip
@settings(max_examples=settings().max_examples * 3 // 2, deadline=None)
@torch.no_grad()
def test_every_state_has_the_label_of_a_naive_loop(seed, count, how, semantic):
    module, data = made(seed, count, how == "packed", how != "time")
    states = source(module, data, semantic)
    expected = sorted(naive(module, data, semantic), key=lambda pair: (pair[1], pair[0]))
    chunks = list(states.chunks((3,)))
    labels = torch.cat([chunk.labels for chunk in chunks]).tolist()
    outputs = torch.cat([chunk.states["h1"] for chunk in chunks]).tolist()
    found = sorted(zip(outputs, labels, strict=True), key=lambda pair: (pair[1], pair[0]))
    assert [label for _, label in found] == [label for _, label in expected]
    for label in set(labels):
        ours, theirs = (
            torch.tensor([h for h, y in pairs if y == label]) for pairs in (found, expected)
        )
        gaps = torch.cdist(ours, theirs)  # rounding may change the order of equal ones
        assert gaps.min(1).values.max() < 1e-4
        assert gaps.min(0).values.max() < 1e-4
    counts = np.bincount([label for _, label in expected], minlength=V)
    assert states.frequencies().tolist() == counts.tolist()


@torch.no_grad()
def test_states_and_labels_stand_beside_each_other():
    module, data = made(5, 3, True, True)
    chunk = source(module, data, "output+2").chunk(np.array([2, 0]))
    expected = naive(module, [data[2]], "output+2"), naive(module, [data[0]], "output+2")
    assert len(chunk.labels) == sum(map(len, expected))
    pairs = {tuple(round(v, 4) for v in h): y for some in expected for h, y in some}
    for h, y in zip(chunk.states["h1"].tolist(), chunk.labels.tolist(), strict=True):
        assert pairs[tuple(round(v, 4) for v in h)] == y


@torch.no_grad()
def test_whole_sequences_ask_all_of_their_states():
    module, words = Classifier(), batches(count=3, size=5)
    data = [(x, x[:, 0].clone()) for x, _ in words]
    data[1][1][2] = -100
    states = source(module, data, "output", "y")
    assert states.data.counts.tolist() == [35, 28, 35]
    assert states.pairs == 98
    chunk = states.chunk(np.array([1]))
    kept = data[1][1] >= 0
    assert torch.equal(chunk.labels, data[1][1][kept].repeat(7))
    torch.testing.assert_close(chunk.states["y"], module(data[1][0])[kept].repeat(7, 1))


class Counting(LanguageModel):
    calls = 0

    def forward(self, words: Tensor) -> Any:
        type(self).calls += 1
        return super().forward(words)


def test_what_is_small_is_traced_once(monkeypatch):
    states = source(Counting(), batches(count=4), "output")
    start = Counting.calls
    for _ in range(3):
        list(states.chunks())
    assert states.frequencies().sum() == 4 * 8 * 7
    assert Counting.calls - start == 4
    for name in ("_ROOM", "_ROOM_OF_FEW"):
        monkeypatch.setattr(dataset_module, name, 0)
    large = source(Counting(), batches(count=4), "output")
    start = Counting.calls
    list(large.chunks())
    list(large.chunks())
    assert Counting.calls - start == 8


def test_taking_states_out_of_a_chunk_leaves_what_is_kept():
    states = source(LanguageModel(), batches(count=1), "output")
    for _ in range(3):
        chunk = states.chunk(np.array([0]))
        assert chunk.states["h1"].shape == (len(chunk.labels), 9)
        chunk.states.clear()


@torch.no_grad()
def test_the_first_word_stands_before_targets_that_follow_the_words():
    module, data = LanguageModel(), batches(count=2)
    chunk = source(module, data, "output-1", follows=True).chunk(np.array([0]))
    assert torch.equal(
        chunk.labels, data[0][0].T.flatten()
    )  # the word just read, from the first on
    before = source(module, data, "output-2", follows=True).chunk(np.array([0]))
    assert torch.equal(before.labels, data[0][0][:, :-1].T.flatten())


@pytest.mark.parametrize(
    ("batch", "semantic", "said"),
    [
        ((torch.ones(8, 7, dtype=torch.long), torch.full((8, 7), 6)), "output",
         "a target is 6, and there are 6 labels, 0 to 5"),
        ((torch.ones(8, 7, dtype=torch.long), torch.ones(8, 6, dtype=torch.long)), "output",
         "do not fit states of 7 timesteps"),
    ],
)  # fmt: skip
def test_batches_that_cannot_be_asked_are_refused(batch, semantic, said):
    states = source(LanguageModel(), [*batches(count=1), batch], semantic)
    with pytest.raises(RnnlensError, match=said):
        states.chunk(np.array([1]))


def test_words_must_be_there_to_be_asked_about():
    class Embedded(LanguageModel):
        def forward(self, x: Tensor) -> Any:
            return self.readout(self.recurrence(x)[0])

    data: list[Pair] = [(torch.randn(8, 7, 7), targets) for _, targets in batches(count=1)]
    with pytest.raises(RnnlensError, match="the semantic input needs batches that hold the words"):
        source(Embedded(), data, "input").chunk(np.array([0]))
