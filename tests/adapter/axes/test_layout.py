"""Tensors in any of the usual orders are brought into one; others are left alone."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from rnnlens.adapter.axes.layout import Layout, described, tensors

T, B, H = 5, 3, 2
VALUES = torch.arange(T * B * H, dtype=torch.float32).view(T, B, H)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize(
    ("given", "doubt"),
    [
        (VALUES, 0),
        (VALUES.transpose(0, 1), 0),
        (VALUES[-1], 2),
    ],
)
def test_a_shape_that_tells(batch_first, given, doubt):
    fit = Layout(T, B, batch_first).arrange(given)
    assert fit is not None
    assert fit.doubt == doubt
    assert fit.other is None
    assert torch.equal(fit.values, VALUES if doubt == 0 else VALUES[-1:])


@pytest.mark.parametrize("batch_first", [True, False])
def test_flat_rows_may_be_in_either_order(batch_first):
    rows = (VALUES.transpose(0, 1) if batch_first else VALUES).reshape(-1, H)
    fit, other = (Layout(T, B, order).arrange(rows) for order in (batch_first, not batch_first))
    assert fit is not None
    assert other is not None
    assert torch.equal(fit.values, VALUES)
    assert other.other is not None
    assert torch.equal(other.other, VALUES)


@pytest.mark.parametrize("shape", [(4, 3, 2), (5, 4, 2), (6, 3, 2), (7, 2), (3,), (5, 3, 2, 2)])
def test_a_shape_that_fits_nothing(shape):
    assert Layout(T, B, batch_first=False).arrange(torch.zeros(shape)) is None


def test_padding_past_the_longest_sequence_is_cut_off():
    layout = Layout(T, B, batch_first=False, lengths=torch.tensor([5, 2, 1]))
    longer = torch.cat([VALUES, torch.zeros(4, B, H)])
    for given in (longer, longer.transpose(0, 1)):
        fit = layout.arrange(given)
        assert fit is not None
        assert torch.equal(fit.values, VALUES)
    valid = layout.valid()
    assert valid is not None
    assert valid.sum(0).tolist() == [5, 2, 1]


@dataclass
class Answer:
    logits: Tensor
    more: object


def test_tensors_are_found_wherever_they_are():
    one = torch.ones(1)
    answer = Answer(one, {"a": [None, one], 3: (one,)})
    assert [path for path, _ in tensors(answer)] == [".logits", ".more['a'][1]", ".more[3][0]"]
    assert list(tensors("nothing")) == []
    endless: list[object] = [one]
    endless.append(endless)
    assert len(list(tensors(endless))) < 10


def test_what_came_is_described_in_few_words():
    value = (torch.ones(2, 3), None, "x" * 99, [1.5], {"a": torch.tensor(1)})
    said = described(value)
    assert said.startswith("tuple of Tensor 2 x 3 (float32), NoneType, str 'xxx")
    assert "list of float 1.5, dict of Tensor single number (int64)" in said
    assert len(said) < 200
