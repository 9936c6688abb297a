"""Batches as users give them: what is none is refused, and the words in them are found."""

import pytest
import torch

from rnnlens.adapter.batches import check_batches, words_of
from rnnlens.base.errors import RnnlensError

WHOLE = torch.tensor([[3, 1, 2], [2, 0, 1]])


@pytest.mark.parametrize(
    ("inputs", "targets"),
    [
        (WHOLE, WHOLE),
        ((torch.ones(2, 3, dtype=torch.long), WHOLE), WHOLE),
        ({"mask": torch.ones(2, 3, dtype=torch.long), "ids": WHOLE}, WHOLE),
        ([WHOLE.int() * 0, WHOLE, torch.tensor([3, 3])], WHOLE),
        ((WHOLE, torch.tensor([3, 3])), torch.tensor([1, 0])),
        ((WHOLE, WHOLE[None]), WHOLE.flatten()),
    ],
)
def test_words_are_the_whole_numbers_beside_the_targets(inputs, targets):
    assert words_of(inputs, targets) is WHOLE


@pytest.mark.parametrize("inputs", [WHOLE.float(), WHOLE[:, :2], {"a": "b"}, None, (WHOLE[None],)])
def test_there_may_be_no_words(inputs):
    assert words_of(inputs, WHOLE) is None


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        (None, "and not NoneType; give a list of them"),
        ([1], "one is int"),
        ([(WHOLE, WHOLE, WHOLE)], "every batch must be a pair"),
        ([{"a": WHOLE}], "one is dict"),
        ([(WHOLE, [1, 2])], "one is list"),
        ([(WHOLE, WHOLE.to(torch.complex64))], r"one is complex64 of shape \(2, 3\)"),
        ([(WHOLE, WHOLE[None, None])], r"one is int64 of shape \(1, 1, 2, 3\)"),
        ([(WHOLE, WHOLE[None])], "neither 0 nor 1 somewhere; .* targets\\[..., 0\\]"),
        ([(WHOLE, torch.tensor(3))], r"of shape \(\)"),
        ([(WHOLE, WHOLE), (WHOLE, WHOLE[:0])], "a batch has no targets"),
    ],
)
def test_what_are_no_batches_is_told(given_, said):
    with pytest.raises(RnnlensError, match=said):
        check_batches(given_)


def test_batches_may_come_from_anything_that_gives_them():
    pairs = [(WHOLE, WHOLE.int()), [WHOLE, WHOLE[0]]]
    found = check_batches(pair for pair in pairs)
    assert [(a is WHOLE, b.shape) for a, b in found] == [(True, (2, 3)), (True, (3,))]
