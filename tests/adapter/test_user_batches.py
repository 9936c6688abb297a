"""Targets of every sort as whole numbers beside the states, and what is refused of them."""

import math

import pytest
import torch

from rnnlens.adapter.batches import check_batches
from rnnlens.base.errors import RnnlensError

X = torch.zeros(2, 3)
NUMBERS = torch.tensor([[0.5, -1.0, 0.5], [2.0, 0.5, -1.0]])
SETS = torch.tensor([[[1, 0], [0, 0], [1, 0]], [[0, 1], [1, 1], [0, 0]]])


def given_back(batch):
    return batch.tables["output"][batch.targets]


def test_numbers_are_places_in_a_table():
    first, second = check_batches([(X, NUMBERS), (X, NUMBERS[..., None] * 2)])
    assert first.tables["output"] is second.tables["output"]
    assert torch.equal(given_back(first).float(), NUMBERS)
    assert torch.equal(given_back(second).float(), NUMBERS * 2)
    assert first.sort == "number"


def test_numbers_that_are_ignored_are_none():
    for mark in (math.nan, -1.0):
        targets = NUMBERS.masked_fill(NUMBERS == -1.0, mark)
        (batch,) = check_batches([(X, targets)], ignore_index=mark)
        assert torch.equal(batch.targets < 0, NUMBERS == -1.0)


@pytest.mark.parametrize("sort", [torch.long, torch.float, torch.bool])
def test_a_last_axis_of_yes_and_no_is_a_set_of_labels(sort):
    (batch,) = check_batches([(X, SETS.to(sort))])
    assert (batch.sort, batch.targets.shape) == ("labels", (2, 3))
    assert torch.equal(given_back(batch), SETS.float())


def test_sets_of_whole_sequences_are_told_by_the_number_of_labels():
    sets = SETS[:, 0].float()
    assert check_batches([(X, sets)], label_counts={"output": 2})[0].sort == "labels"
    assert check_batches([(X, sets)], label_counts={"output": 3})[0].sort == "number"
    assert check_batches([(X, sets.long())], label_counts={"output": 2})[0].sort == "label"
    (batch,) = check_batches([(X, {"a": sets, "b": sets, "c": sets > 0})], label_counts={"a": 2})
    assert batch.forms == {"a": "sets of 2 labels", "b": "numbers", "c": "labels"}
    steps = [(X, {"a": sets > 0}), (X, {"a": SETS.flatten(1) > 0})]  # two steps, and six
    assert check_batches(steps, label_counts={"a": 2})[0].forms == {"a": "labels"}


def test_a_set_with_a_negative_is_none():
    (batch,) = check_batches([(X, torch.tensor([[[1, 0], [-1, -1], [1, 0]]]))])
    assert (batch.targets < 0).tolist() == [[False, True, False]]


def test_targets_by_name_stand_beside_the_modules():
    words = torch.tensor([[1, 2, 3], [0, 1, 2]])
    (batch,) = check_batches([(X, {"tag": words % 2, "output": words, "size": NUMBERS})])
    assert (batch.sort, [*batch.others]) == ("label", ["tag", "size"])
    assert batch.targets is words
    assert torch.equal(batch.tables["size"][batch.others["size"]].float(), NUMBERS)
    (alone,) = check_batches([(X, {"tag": words})])
    assert (alone.sort, alone.targets is alone.others["tag"]) == ("nothing", True)


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([NUMBERS * math.nan], r"a target is nan; .* ignore_index=float\('nan'\)"),
        ([NUMBERS * math.inf], "a target is (-)?inf"),
        ([NUMBERS, NUMBERS.long()], "targets are of several sorts"),
        ([NUMBERS, SETS], "targets are of several sorts"),
        ([SETS, torch.cat([SETS, SETS], -1)], "are of 2 and 4 labels"),
        ([SETS * 2], "neither 0 nor 1 somewhere; .* of several numbers, choose one"),
        ([{"input": NUMBERS}], "a batch has targets for input; name them output"),
        ([{}], "a batch has targets for nothing"),
        ([{"tag": NUMBERS}, {"size": NUMBERS}], "one batch has targets for tag and another for"),
    ],
)
def test_bad_targets_are_told(targets, said):
    with pytest.raises(RnnlensError, match=said):
        check_batches([(X, one) for one in targets])
