"""What a module returns beside its logits, or in place of them: probabilities, features, NaN."""

from typing import Any

import pytest
import torch
from tests.letters import LanguageModel, Packed
from torch import Tensor

from rnnlens.adapter import Adapter
from rnnlens.adapter.predictions import as_logits
from rnnlens.base.errors import RnnlensError

V = 6
WORDS = torch.randint(V, (8, 7), generator=torch.Generator().manual_seed(0))


class Returning(LanguageModel):
    """Returns what a function makes of its states and logits."""

    def __init__(self, made: Any) -> None:
        super().__init__()
        self.made = made

    def forward(self, words: Tensor) -> Any:
        states = self.recurrence(self.embedding(words))[0]
        return self.made(states, self.readout(states))


def attention(states: Tensor) -> Tensor:
    return (states @ states.transpose(1, 2)).softmax(-1)


@pytest.mark.parametrize(
    "made",
    [
        lambda h, y: (h.tanh(), y),
        lambda h, y: (attention(h), y),
        lambda h, y: (y[..., :3] * 2, h * 2, y),
        lambda h, y: {"a": h.tanh(), "b": y},
        lambda h, y: {"b": torch.zeros_like(y), "logits": y},
        lambda h, y: {"b": torch.zeros_like(y), "logits": y, "c": y * 0},
    ],
)
def test_of_several_tensors_the_one_as_wide_as_the_labels_is_the_logits(made):
    module = Returning(made)
    traced = Adapter(module, labels=range(V)).trace(WORDS)
    assert traced.logits is not None
    torch.testing.assert_close(traced.logits, module.readout(traced.states["h1"]))


def test_a_name_tells_more_than_a_width():
    module = Returning(lambda h, y: {"b": y, "logits": h.tanh()})
    traced = Adapter(module, labels=range(V)).trace(WORDS)
    assert traced.logits is not None
    torch.testing.assert_close(traced.logits, traced.states["h1"].tanh())


def test_what_is_picked_by_hand_need_not_be_as_wide():
    module = Returning(lambda h, y: (h.tanh(), y))
    traced = Adapter(module, labels=range(V), logits=lambda output: output[0]).trace(WORDS)
    assert traced.logits is not None
    assert traced.logits.shape == (7, 8, 9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_probabilities_become_logits(dtype):
    p = torch.randn(3, 2, V, generator=torch.Generator().manual_seed(0)).softmax(-1).to(dtype)
    found = as_logits(p, None)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double().softmax(-1), p.double(), rtol=5e-3, atol=1e-3)
    assert (found <= 0).all()
    torch.testing.assert_close(as_logits(p.log(), None), p.log())  # log-probabilities stay


def test_a_module_that_returns_probabilities_says_what_it_says():
    module = Returning(lambda h, y: y.softmax(-1))
    traced = Adapter(module).trace(WORDS)
    assert traced.logits is not None
    torch.testing.assert_close(traced.logits.softmax(-1), module(WORDS).transpose(0, 1))


def test_a_probability_of_zero_can_be_reckoned_with():
    found = as_logits(torch.tensor([[[0.5, 0.5, 0.0]]]), None)
    assert torch.isfinite(found).all()
    assert found.softmax(-1).tolist() == [[[0.5, 0.5, 0.0]]]
    masked = as_logits(torch.tensor([[[1.0, 2.0, -torch.inf]]]), None)
    assert torch.isfinite(masked).all()
    assert masked.softmax(-1)[0, 0, 2] == 0
    assert masked[0, 0, :2].tolist() == [1, 2]


@pytest.mark.parametrize(
    "values",
    [[0.5, 0.6, 0.1], [0.2, 0.2, 0.2], [1.2, -0.2, 0.0], [3.0, 1.0, 0.0]],
)
def test_logits_that_are_no_probabilities_stay(values):
    rows = torch.tensor([[[0.5, 0.25, 0.25], values]])
    assert torch.equal(as_logits(rows, None), rows)


def test_what_lies_past_a_sequences_end_does_not_count():
    values = torch.tensor([[[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [7.0, torch.nan]]])
    valid = torch.tensor([[True, True], [True, False]])
    found = as_logits(values, valid)
    torch.testing.assert_close(found[0].exp(), values[0])
    one_a_sequence = values[:1]
    torch.testing.assert_close(as_logits(one_a_sequence, valid).exp(), one_a_sequence)
    with pytest.raises(RnnlensError, match="logits are NaN or infinite"):
        as_logits(values, None)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_logits_that_are_no_numbers_are_refused(bad):
    module = LanguageModel()
    with torch.no_grad():
        module.readout.bias[0] = bad
    with pytest.raises(RnnlensError, match="look at its readout's weights"):
        Adapter(module).trace(WORDS)


def test_padding_of_a_packed_module_may_hold_anything():
    class Padding(Packed):
        def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
            made = super().forward(words, lengths)
            past = torch.arange(made.shape[1]) >= lengths[:, None]
            return made.masked_fill(past[..., None], torch.nan)

    lengths = torch.tensor([7, 3, 5, 2, 1, 6, 4, 2])
    traced = Adapter(Padding()).trace((WORDS, lengths))
    assert traced.logits is not None
    valid = torch.arange(7)[:, None] < lengths
    assert torch.isfinite(traced.logits[valid]).all()


def test_packed_sequences_of_one_length_may_come_back_flat_in_either_order():
    class Flat(Packed):
        def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
            return super().forward(words, lengths).reshape(-1, V)

    module, lengths = Flat(), torch.full((8,), 5)
    traced = Adapter(module).trace((WORDS, lengths))
    assert traced.logits is not None
    torch.testing.assert_close(traced.logits, module.readout(traced.states["h1"]))
