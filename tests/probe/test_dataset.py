import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.probe.conftest import dataset_of

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.split import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.traceable import Trace
from rnnlens.probe.data import Sentences, batch_starts


def states_one_by_one(network, split, shift):
    found = []
    for a, b in zip(split.starts, split.starts[1:], strict=False):
        sentence = split.ids[a:b]
        states = network.trace(torch.from_numpy(sentence[:-1])[:, None]).states
        for t in range(len(sentence) - 1):
            if 0 <= t + shift < len(sentence):
                row = {kind: v[t, 0] for kind, v in states.items()}
                found.append((int(sentence[t + shift]), row))
    return found


SEMANTICS = {"input": 0, "output": 1, "output+2": 3, "output-1": 0, "output-2": -1, "output-4": -3}


@pytest.mark.slow
@pytest.mark.parametrize(("semantic", "shift"), SEMANTICS.items())
def test_every_state_comes_once_with_its_label(network, valid, semantic, shift):
    stream = dataset_of(network, valid=valid).stream("valid", semantic, size=100)
    labels = torch.cat([chunk.labels for chunk in stream.chunks((3,))])
    h = torch.cat([chunk.states["h2"] for chunk in stream.chunks((3,))])
    expected = states_one_by_one(network, valid, shift)
    mine = sorted((int(y), *np.round(v.tolist(), 4)) for y, v in zip(labels, h, strict=True))
    theirs = sorted((y, *np.round(row["h2"].tolist(), 4)) for y, row in expected)
    np.testing.assert_allclose(mine, theirs, atol=2e-4)
    assert stream.pairs == len(expected)
    counts = torch.bincount(torch.tensor([y for y, _ in expected]), minlength=network.label_count)
    assert torch.equal(stream.frequencies(), counts)


def test_the_order_is_random_by_seed_and_chunks_are_about_their_size(network, train):
    stream = dataset_of(network, train=train).stream("train", "output", size=200)
    one, same, other = stream.plan((1,)), stream.plan((1,)), stream.plan((2,))
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert (np.concatenate(one) != np.concatenate(other)).any()
    assert sorted(np.concatenate(one)) == list(range(len(train)))
    sizes = [int((train.lengths[chosen] - 1).sum()) for chosen in one]
    assert max(sizes) <= 200 + 12
    assert min(sizes[:-1]) >= 200 - 12


def test_states_that_are_not_numbers_are_refused_by_kind(network, valid):
    broken = Network(network.config, network.label_count)
    broken.load_state_dict(network.state_dict())
    with torch.no_grad():
        broken.recurrent[1].weights()["w_x"].fill_(float("nan"))
    with pytest.raises(RnnlensError, match="kind f2"):
        next(dataset_of(broken, test=valid).stream("test", "output").chunks())


sentence_lists = st.lists(
    st.lists(st.integers(0, 9), min_size=2, max_size=6), min_size=1, max_size=6
)


@given(sentence_lists, st.integers(-7, 7))
@settings(deadline=None)
def test_labels_agree_with_looking_them_up_one_by_one(sentences, steps):
    network = Network(NetworkConfig(width=1), 10)
    stream = dataset_of(network, test=Split.joined(sentences)).stream(
        "test", f"output{steps:+d}" if steps else "output"
    )
    longest = max(map(len, sentences)) - 1
    order = np.argsort([len(s) for s in sentences], kind="stable")
    expected = torch.full((longest, len(sentences)), -1)
    for b, sentence in enumerate(sentences[k] for k in order):
        for t in range(len(sentence) - 1):
            if 0 <= t + 1 + steps < len(sentence):
                expected[t, b] = sentence[t + 1 + steps]
    (batch,) = stream.data.batches(np.arange(len(sentences)), torch.device("cpu"))
    assert torch.equal(stream.labels(batch, lambda: Trace({})), expected)
    assert stream.pairs == (expected >= 0).sum()


def test_sentences_side_by_side_are_so_alike_that_padding_is_worth_it():
    lengths = np.sort(np.random.default_rng(0).integers(1, 90, 3000))
    groups = np.split(lengths, batch_starts(lengths))
    assert np.concatenate(groups).tolist() == lengths.tolist()
    assert max(map(len, groups)) <= 1024
    for group in groups:  # to cut it in two would cost more than it saves
        assert (group[-1] - group).sum() <= 32 * group[-1]
    assert len(groups) < 20
    assert batch_starts(np.full(2500, 7)) == [1024, 2048]
    assert batch_starts(np.full(1000, 80)) == [409, 818]  # 32,768 timesteps at most
    assert batch_starts(np.array([10**5, 10**5])) == [1]
    assert batch_starts(np.array([3])) == []


def test_of_no_sentences_there_is_no_batch():
    data = Sentences(Split.joined([[1, 2], [3, 4, 5]]))
    for batches in (data.batches, data.together):
        assert not list(batches(np.array([], np.int64), torch.device("cpu")))
        assert len(list(batches(np.arange(2), torch.device("cpu")))) == 1
