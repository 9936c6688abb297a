from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rnnlens.corpus.split import PADDING, Batch, Split

Encoded = list[list[int]]

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

encoded = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=9), min_size=1, max_size=40)


def split_of(sentences: Encoded) -> Split:
    ids = np.array([word for sentence in sentences for word in sentence], dtype=np.int64)
    return Split(ids, np.cumsum([0, *map(len, sentences)]))


def pairs_of(sentences: Encoded) -> Counter[tuple[int, int]]:
    return Counter(pair for sentence in sentences for pair in pairwise(sentence))


def pairs_in(batches: list[Batch]) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for batch in batches:
        flat = zip(batch.inputs.flatten().tolist(), batch.targets.flatten().tolist(), strict=True)
        found.update((a, b) for a, b in flat if b != PADDING)
    return found


def test_a_batch_holds_sentences_side_by_side_padded_at_the_end():
    split = split_of([[1, 2, 3, 4], [5, 6], [7, 8, 9]])
    batch = split.batch(np.array([2, 0, 1]))
    assert batch.inputs.tolist() == [[7, 1, 5], [8, 2, 0], [0, 3, 0]]
    assert batch.targets.tolist() == [[8, 2, 6], [9, 3, PADDING], [PADDING, 4, PADDING]]
    assert (batch.columns, batch.sentences, batch.pairs) == (slice(0, 3), 3, 6)


def test_padding_is_what_cross_entropy_ignores():
    import torch

    assert torch.nn.CrossEntropyLoss().ignore_index == PADDING


@unhurried
@given(encoded, st.integers(1, 7), st.integers(0, 99))
def test_an_epoch_holds_every_pair_of_the_split_exactly_once(sentences, size, seed):
    split = split_of(sentences)
    batches = [split.batch(chosen) for chosen in split.shuffled(size, (seed, 3))]
    assert pairs_in(batches) == pairs_of(sentences)
    assert sum(batch.pairs for batch in batches) == split.pairs == pairs_of(sentences).total()


@unhurried
@given(encoded, st.integers(1, 7), st.integers(0, 99))
def test_an_epoch_holds_every_sentence_exactly_once(sentences, size, seed):
    groups = split_of(sentences).shuffled(size, (seed,))
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(sentences)))
    assert sorted(map(len, groups))[1:] == [size] * (len(groups) - 1)


@unhurried
@given(encoded, st.integers(1, 7))
def test_in_order_holds_everything_shortest_first(sentences, size):
    split = split_of(sentences)
    groups = list(split.in_order(size))
    order = np.concatenate(groups).tolist()
    assert order == sorted(range(len(sentences)), key=lambda k: (len(sentences[k]), k))
    assert [len(group) for group in groups[:-1]] == [size] * (len(groups) - 1)
    assert pairs_in([split.batch(group) for group in groups]) == pairs_of(sentences)


@unhurried
@given(encoded, st.integers(1, 5))
def test_processes_share_a_batch_column_by_column(sentences, ranks):
    split = split_of(sentences)
    chosen = np.arange(len(sentences))[::-1]
    whole = split.batch(chosen)
    shares = [split.batch(chosen, rank, ranks) for rank in range(ranks)]
    columns = [k for share in shares for k in range(len(sentences))[share.columns]]
    assert columns == list(range(len(sentences)))
    for share in shares:
        assert share.inputs.tolist() == whole.inputs[:, share.columns].tolist()
        assert share.targets.tolist() == whole.targets[:, share.columns].tolist()
        assert (share.sentences, share.pairs) == (whole.sentences, whole.pairs)
    widths = [share.inputs.shape[1] for share in shares]
    assert max(widths) - min(widths) <= 1


@unhurried
@given(encoded, st.data())
def test_chosen_sentences_make_a_split_of_their_own(sentences, data):
    numbers = st.lists(st.integers(0, len(sentences) - 1), unique=True)
    chosen = data.draw(numbers)
    whole = split_of(sentences)
    made = Split.of(whole.ids, whole.starts, np.array(chosen, dtype=np.int64))
    again = [made.ids[a:b].tolist() for a, b in pairwise(made.starts)]
    assert again == [sentences[k] for k in chosen]
    assert (len(made), made.pairs) == (len(chosen), pairs_of(again).total())
    assert made.lengths.tolist() == [len(sentences[k]) for k in chosen]


@unhurried
@given(encoded)
def test_targets_are_every_word_but_the_first_of_each_sentence(sentences):
    assert split_of(sentences).targets().tolist() == [w for s in sentences for w in s[1:]]


@pytest.fixture(scope="module")
def lengths():
    return np.random.default_rng(0).integers(2, 60, 3000)


@pytest.fixture(scope="module")
def long(lengths):
    return split_of([[1] * int(length) for length in lengths])


def listed(groups: list[np.ndarray]) -> list[list[int]]:
    return [group.tolist() for group in groups]


def test_the_same_seed_gives_the_same_order_and_another_does_not(long):
    first = listed(long.shuffled(8, (1, 0)))
    assert listed(long.shuffled(8, (1, 0))) == first
    assert listed(long.shuffled(8, (1, 1))) != first
    assert {tuple(sorted(g)) for g in listed(long.shuffled(8, (1, 1)))} != {
        tuple(sorted(g)) for g in first
    }


def test_a_shuffled_group_holds_sentences_of_similar_length(long, lengths):
    spread = [np.ptp(lengths[group]) for group in long.shuffled(8, (0,))]
    assert np.mean(spread) < 1.5


def test_groups_come_in_no_order_of_length(long, lengths):
    means = [lengths[group].mean() for group in long.shuffled(8, (0,))]
    place = np.arange(len(means))
    assert abs(np.corrcoef(place, means)[0, 1]) < 0.2
