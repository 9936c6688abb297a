import numpy as np
import pytest
import torch

from rnnlens.errors import RnnlensError
from rnnlens.model.network import Network
from rnnlens.probe.stream import Stream

CPU = torch.device("cpu")


def states_one_by_one(network, split, shift):
    found = []
    for a, b in zip(split.starts, split.starts[1:], strict=False):
        sentence = split.ids[a:b]
        states, _ = network.states(torch.from_numpy(sentence[:-1])[:, None])
        for t in range(len(sentence) - 1):
            if 0 <= t + shift < len(sentence):
                row = {kind: v[t, 0] for kind, v in states.items()}
                found.append((int(sentence[t + shift]), row))
    return found


@pytest.mark.parametrize("shift", [0, 1, 3, -1])
def test_every_state_comes_once_with_its_label(network, valid, shift):
    stream = Stream(network, valid, shift, CPU, size=100)
    labels = torch.cat([chunk.labels for chunk in stream.chunks((3,))])
    h = torch.cat([chunk.states["h2"] for chunk in stream.chunks((3,))])
    expected = states_one_by_one(network, valid, shift)
    mine = sorted((int(y), *np.round(v.tolist(), 4)) for y, v in zip(labels, h, strict=True))
    theirs = sorted((y, *np.round(row["h2"].tolist(), 4)) for y, row in expected)
    np.testing.assert_allclose(mine, theirs, atol=2e-4)


def test_the_order_is_random_by_seed_and_chunks_are_about_their_size(network, train):
    stream = Stream(network, train, 1, CPU, size=200)
    one, same, other = stream.plan((1,)), stream.plan((1,)), stream.plan((2,))
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert (np.concatenate(one) != np.concatenate(other)).any()
    assert sorted(np.concatenate(one)) == list(range(len(train)))
    sizes = [int((train.lengths[chosen] - 1).sum()) for chosen in one]
    assert max(sizes) <= 200 + 12
    assert min(sizes[:-1]) >= 200 - 12


def test_states_that_are_not_numbers_are_refused_by_kind(network, valid):
    broken = Network(network.config, network.labels)
    broken.load_state_dict(network.state_dict())
    with torch.no_grad():
        broken.cells[1].w_x.fill_(float("nan"))
    with pytest.raises(RnnlensError, match="kind f2"):
        next(Stream(broken, valid, 1, CPU, 100).chunks())
