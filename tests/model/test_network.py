"""The whole network agrees with a stack of torch's recurrences, however it is read."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rnnlens.base.errors import RnnlensError
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.traceable import StateEdit, Trace
from rnnlens.model.train.dropout import Dropout, DropoutConfig

REFERENCES: dict[str, Callable[..., nn.RNNBase]] = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
LABELS = 7
NOTHING_DROPPED = DropoutConfig(0, 0, 0, 0, 0)


def network(config: NetworkConfig, seed: int) -> Network:
    """Every weight random, biases and readout too."""
    generator = torch.Generator().manual_seed(seed)
    made = Network(config, LABELS).double().requires_grad_(False)
    for p in made.parameters():
        p.normal_(generator=generator)
    return made


def words(time: int, batch: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(LABELS, (time, batch), generator=generator)


def stacked(net: Network) -> nn.RNNBase:
    config = net.config
    made = REFERENCES[config.cell](net.embedding.shape[1], config.width, config.layers).double()
    made.requires_grad_(False)
    for cell, weights in zip(net.recurrent, made.all_weights, strict=True):
        for p, weight in zip(weights, cell.weights().values(), strict=True):
            assert isinstance(p, Tensor)
            p.copy_(weight)
    return made


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def logits(trace: Trace) -> Tensor:
    assert trace.logits is not None
    return trace.logits


def same(a: Trace, b: Trace) -> None:
    assert list(a.states) == list(b.states)
    for kind in a.states:
        close(a.states[kind], b.states[kind])
    close(logits(a), logits(b))


size, seeds = st.integers(1, 5), st.integers(0, 2**31)
configs = st.builds(
    NetworkConfig,
    cell=st.sampled_from(sorted(REFERENCES)),
    width=size,
    layers=st.integers(1, 3),
    embedding=st.integers(0, 5),
    tied=st.booleans(),
)
quick = settings(deadline=None)


@given(configs, size, size, seeds)
@quick
def test_network_equals_a_stack_of_torchs_recurrences(config, time, batch, seed):
    net, inputs = network(config, seed), words(time, batch, seed)
    h, last = stacked(net)(F.embedding(inputs, net.embedding))
    expected = h @ (net.embedding @ net.readout if config.tied else net.readout).T + net.bias
    trace = net.trace(inputs)
    close(trace.states[f"h{config.layers}"], h)
    close(logits(trace), expected)
    close(net.hidden(inputs), h)
    carried = dict(zip(("h", "c"), last, strict=True)) if config.cell == "lstm" else {"h": last}
    for letter, values in carried.items():
        ids = [f"{letter}{layer}" for layer in range(1, config.layers + 1)]
        close(torch.stack([trace.last[id_] for id_ in ids]), values)


@given(configs, st.integers(2, 7), size, seeds, st.data())
@quick
def test_reading_in_pieces_equals_reading_in_one_go(config, time, batch, seed, data):
    net, inputs = network(config, seed), words(time, batch, seed)
    cut = data.draw(st.integers(1, time - 1))
    whole, first = net.trace(inputs), net.trace(inputs[:cut])
    second = net.trace(inputs[cut:], first.last)
    joined = {k: torch.cat([first.states[k], second.states[k]]) for k in whole.states}
    same(Trace(joined, None, torch.cat([logits(first), logits(second)])), whole)
    assert list(second.last) == list(whole.last) == list(net.carried)
    for kind, values in whole.last.items():
        close(second.last[kind], values)


@given(configs, st.lists(st.integers(1, 6), min_size=1, max_size=5), seeds)
@quick
def test_sentences_of_unequal_length_are_read_as_if_alone(config, lengths, seed):
    net, inputs = network(config, seed), words(max(lengths), len(lengths), seed)
    trace = net.trace((inputs, torch.tensor(lengths)))
    for b, length in enumerate(lengths):
        alone = net.trace(inputs[:length, b : b + 1])
        cut = {k: values[:length, b : b + 1] for k, values in trace.states.items()}
        same(Trace(cut, None, logits(trace)[:length, b : b + 1]), alone)
        for kind, expected in alone.last.items():
            close(trace.last[kind][b : b + 1], expected)


@pytest.mark.parametrize("cell", sorted(REFERENCES))
def test_a_trace_names_every_kind_in_order_with_its_width(cell):
    net = network(NetworkConfig(cell, width=4, layers=2, embedding=3), 0)
    trace = net.trace(words(5, 2, 0))
    assert list(trace.states) == [kind.id for kind in net.kinds]
    widths = {kind: values.shape[-1] for kind, values in trace.states.items()}
    assert widths.pop("x") == 3
    assert set(widths.values()) == {4}
    assert logits(trace).shape == (5, 2, LABELS)


@given(configs, st.integers(2, 5), size, seeds, st.data())
@quick
def test_edits_go_through_the_whole_network(config, time, batch, seed, data):
    net, inputs = network(config, seed), words(time, batch, seed)
    kind = data.draw(st.sampled_from(net.kinds))
    step = data.draw(st.integers(0, time - 1))
    plain = net.trace(inputs)
    identity = net.trace(inputs, edits=[StateEdit(kind.id, step, lambda value: value)])
    for id_, values in identity.states.items():
        assert torch.equal(values, plain.states[id_])  # to the bit
    zeroed = net.trace(inputs, edits=[StateEdit(kind.id, step, torch.zeros_like)])
    assert not zeroed.states[kind.id][step].any()
    for id_, values in zeroed.states.items():
        close(values[:step], plain.states[id_][:step])
    if kind.letter in "ch":  # what follows continues from the edited state
        rest = (
            net.trace(inputs[step + 1 :], _carried(net, zeroed, step)) if step + 1 < time else None
        )
        if rest:
            close(logits(zeroed)[step + 1 :], logits(rest))


def _carried(net: Network, trace: Trace, step: int) -> dict[str, Tensor]:
    return {kind: trace.states[kind][step] for kind in net.carried}


def test_logits_are_computed_when_they_are_asked_for():
    net, inputs = network(NetworkConfig("lstm", width=3), 0), words(4, 2, 0)
    trace = net.trace(inputs)
    assert "logits" not in vars(trace)
    close(logits(trace), net.predict(trace.states["h2"]))
    assert trace.logits is trace.logits


@pytest.mark.parametrize("cell", ["lstm", "gru", "gla"])
def test_what_is_read_without_states_is_as_exact_within_an_autocast(cell):
    network = Network(NetworkConfig(cell, width=12, layers=1), 9).initialise(0)
    words = torch.arange(8).view(4, 2)
    with torch.no_grad():
        wanted = network.prediction_alone(words).prediction
        with torch.autocast("cpu", torch.bfloat16):
            found = network.prediction_alone(words).prediction
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("tied", [True, False])
def test_initial_weights_depend_on_nothing_but_the_seed(tied):
    def drawn(seed: int) -> dict[str, Tensor]:
        torch.rand(1)
        return Network(NetworkConfig(width=6, tied=tied), LABELS).initialise(seed).state_dict()

    first, again, other = drawn(3), drawn(3), drawn(4)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["layers.1.w_h"], other["layers.1.w_h"])
    assert all(torch.isfinite(values).all() for values in first.values())


def test_a_tied_network_starts_by_reading_out_through_the_embedding():
    net = Network(NetworkConfig(width=4, layers=1), LABELS).initialise(0)
    h = torch.randn(2, 4)
    torch.testing.assert_close(net.predict(h), h @ net.embedding.T)
    assert net.readout.shape == (4, 4)


def dropped(**shares: float) -> Tensor:
    """What the last layer gives for three sentences of five words while training."""
    net = network(NetworkConfig("lstm", width=20), 0)
    dropout = Dropout(DropoutConfig(**{**vars(NOTHING_DROPPED), **shares}), torch.device("cpu"))
    dropout.begin(0, slice(None), 3)
    return net.hidden(words(5, 3, 0), dropout)


def test_dropping_nothing_changes_nothing():
    net = network(NetworkConfig("lstm", width=20), 0)
    assert torch.equal(dropped(), net.hidden(words(5, 3, 0)))


def test_output_dropout_zeroes_the_same_features_of_the_last_layer_at_every_timestep():
    zero = dropped(dropout_output=0.5) == 0
    assert 0 < zero[0].float().mean() < 1
    assert bool((zero == zero[0]).all())


@pytest.mark.parametrize("share", ["dropout_words", "dropout_input", "dropout_hidden"])
def test_dropout_below_the_last_layer_changes_it_without_zeroing_it(share):
    h = dropped(**{share: 0.5})
    assert bool((h != 0).all())
    assert not torch.allclose(h[0], dropped()[0])


def test_weight_drop_acts_from_the_second_word_on():
    h, plain = dropped(dropout_weight=0.5), dropped()
    assert torch.equal(h[0], plain[0])
    assert not torch.allclose(h[1], plain[1])


@pytest.mark.parametrize(
    "config",
    [
        NetworkConfig("lstn"),
        NetworkConfig(width=0),
        NetworkConfig(width=-1),
        NetworkConfig(width=10**9),
        NetworkConfig(layers=0),
        NetworkConfig(layers=65),
        NetworkConfig(embedding=-1),
        NetworkConfig(embedding=10**6),
    ],
)
def test_impossible_shapes_are_refused(config):
    with pytest.raises(RnnlensError):
        Network(config, LABELS)


@pytest.mark.parametrize(("kind", "step"), [("x", 4), ("q7", 0), ("h1", 4), ("h1", -1)])
def test_edits_of_what_there_is_not_are_refused(kind, step):
    net = network(NetworkConfig("lstm", width=3), 0)
    with pytest.raises(RnnlensError, match="edited"):
        net.trace(words(4, 2, 0), edits=[StateEdit(kind, step, torch.zeros_like)])


def test_two_edits_of_one_state_are_made_one_after_the_other():
    net = network(NetworkConfig("gru", width=3), 0)
    twice = [StateEdit("h1", 1, lambda v: v + 1), StateEdit("h1", 1, lambda v: 2 * v)]
    once = [StateEdit("h1", 1, lambda v: 2 * (v + 1))]
    same(*(net.trace(words(4, 2, 0), edits=edits) for edits in (twice, once)))


@pytest.mark.parametrize("tied", [True, False])
def test_a_single_state_is_predicted_as_many_are_also_after_the_weights_change(tied):
    network = Network(NetworkConfig(width=4, embedding=3, tied=tied), 12).initialise(0)
    network.eval().requires_grad_(False)
    states = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    for _ in range(2):
        every = network.predict(states)
        torch.testing.assert_close(network.predict(states[2:3]), every[2:3])
        torch.testing.assert_close(network.predict(states[2:4]), every[2:4])
        (network.embedding if tied else network.readout).mul_(2)


@pytest.mark.parametrize("tied", [True, False])
def test_aligned_labels_have_the_same_loss_and_gradients(tied):
    losses, slopes = [], []
    targets = torch.tensor([0, 3, LABELS - 1])
    for name in ("predict", "predict_aligned"):
        net = network(NetworkConfig(width=4, tied=tied), 0).requires_grad_()
        logits = getattr(net, name)(torch.randn(3, 4, generator=torch.Generator().manual_seed(1),
                                                dtype=torch.float64))  # fmt: skip
        loss = F.cross_entropy(logits, targets)
        loss.backward()
        losses.append(loss.item())
        slopes.append(
            [p.grad for p in (net.embedding, net.readout, net.bias) if p.grad is not None]
        )
    assert logits.shape == (3, 64)
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)
    assert len(slopes[0]) == 2 + tied
    for plain, aligned in zip(*slopes, strict=True):
        torch.testing.assert_close(plain, aligned)
