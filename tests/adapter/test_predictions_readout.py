"""The readout is found where the prediction is linear in a kind, and only there."""

from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rnnlens.adapter import Adapter
from rnnlens.model.traceable import Readout

V, H = 11, 6
WORDS = torch.randint(V, (5, 3))


def classifier(adapter: Adapter, words: Tensor = WORDS) -> Readout | None:
    """What is found by these words."""
    adapter.trace(words)
    return adapter.classifier()


class Model(nn.Module):
    """A language model with a readout to be chosen."""

    def __init__(self, head: Any, **flags: Any) -> None:
        super().__init__()
        self.embedding = nn.Embedding(V, H)
        self.part = nn.LSTM(H, H, 2, **flags)
        self.linear = nn.Linear(H, V)
        self.project = nn.Linear(H, H)
        self.norm = nn.LayerNorm(H)
        self.both = nn.Linear(2 * H, V)
        self.bias = nn.Parameter(torch.randn(V))
        self.drop = nn.Dropout(0.5)
        self.head = head

    def forward(self, words: Tensor) -> Tensor:
        output, (h, c) = self.part(self.embedding(words))
        return cast("Tensor", self.head(self, output, h, c))


LINEAR = {
    "linear": lambda m, o, h, c: m.linear(m.drop(o)),
    "tied": lambda m, o, h, c: o @ m.embedding.weight.T,
    "tied with a bias": lambda m, o, h, c: o @ m.embedding.weight.T + m.bias,
    "projected": lambda m, o, h, c: m.linear(m.project(o)),
    "projected and tied": lambda m, o, h, c: m.project(o) @ m.embedding.weight.T + m.bias,
    "log-probabilities": lambda m, o, h, c: m.linear(o).log_softmax(-1),
    "probabilities": lambda m, o, h, c: m.linear(o).softmax(-1),
    "last": lambda m, o, h, c: m.linear(o[-1]),
}
OTHER = {
    "norm": lambda m, o, h, c: m.linear(m.norm(o)),
    "tanh": lambda m, o, h, c: m.linear(m.project(o).tanh()),
    "twice": lambda m, o, h, c: m.linear(o) * 2,
    "residual": lambda m, o, h, c: m.linear(o + m.project(o)),
    "sums": lambda m, o, h, c: m.linear(o.cumsum(0)),
    "states": lambda m, o, h, c: o,
}


@pytest.mark.parametrize("head", sorted(LINEAR))
def test_a_linear_readout_is_found(head):
    module = Model(LINEAR[head])
    adapter = Adapter(module)
    found = classifier(adapter)
    assert found is not None
    kind, weight, bias = found
    assert kind == "h2"
    traced = adapter.trace(torch.randint(V, (7, 2)))  # on words it has not seen
    states = traced.states["h2"][-1:] if head == "last" else traced.states["h2"]
    assert traced.logits is not None
    made = (states @ weight.T + bias).log_softmax(-1)
    torch.testing.assert_close(made, traced.logits.log_softmax(-1), rtol=0, atol=1e-4)
    assert not weight.requires_grad
    assert not bias.requires_grad


@pytest.mark.parametrize("head", sorted(OTHER))
def test_nothing_else_is_taken_for_one(head):
    assert classifier(Adapter(Model(OTHER[head]))) is None


def test_a_readout_that_fits_almost_everywhere_is_none():
    def head(module: Model, output: Tensor, h: Tensor, c: Tensor) -> Tensor:
        logits = module.linear(output)
        logits[0, 1] += 1
        return cast("Tensor", logits)

    assert classifier(Adapter(Model(head)), torch.randint(V, (10, 8))) is None


def test_any_kind_may_be_read_out():
    found = classifier(Adapter(Model(lambda m, o, h, c: m.linear(c[-1]))))
    assert found is not None
    assert found[0] == "c2"


def test_both_directions_together_are_the_joined_output():
    head = lambda m, o, h, c: m.both(o)  # noqa: E731
    found = classifier(Adapter(Model(head, bidirectional=True)))
    assert found is not None
    assert found[0] == "j2"


def test_the_last_states_of_both_directions_are_no_state_of_one_timestep():
    head = lambda m, o, h, c: m.both(torch.cat([h[2], h[3]], -1))  # noqa: E731
    assert classifier(Adapter(Model(head, bidirectional=True))) is None


def test_one_direction_of_two_is_a_kind():
    for way, kind in enumerate(["h2", "h2<"]):
        head = lambda m, o, h, c, way=way: m.linear(h[2 + way])  # noqa: E731
        found = classifier(Adapter(Model(head, bidirectional=True)))
        assert found is not None
        assert found[0] == kind


def test_sequences_of_several_lengths():
    class Packed(Model):
        def forward(self, words: Tensor) -> Tensor:
            packed = pack_padded_sequence(self.embedding(words), [2, 5, 3], enforce_sorted=False)
            output, (h, _) = self.part(packed)
            return cast("Tensor", self.head(self, pad_packed_sequence(output)[0], h, None))

    for head in (lambda m, o, h, c: m.linear(o), lambda m, o, h, c: m.linear(h[-1])):
        found = classifier(Adapter(Packed(head)))
        assert found is not None
        assert found[0] == "h2"


def test_the_weights_are_copies_and_the_module_is_untouched():
    module = Model(LINEAR["linear"]).train()
    found = classifier(Adapter(module))
    assert found is not None
    assert torch.equal(found[1], module.linear.weight)
    found[1].zero_()
    assert module.linear.weight.abs().max() > 0
    assert module.training
    assert module.drop.training


def test_a_parametrised_readout():
    module = Model(LINEAR["linear"])
    nn.utils.parametrizations.weight_norm(module.linear)
    found = classifier(Adapter(module))
    assert found is not None
    assert torch.allclose(found[1], module.linear.weight)
