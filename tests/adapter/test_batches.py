"""Batches as users give them: the words in them, and targets of every sort as whole numbers."""

import math

import pytest
import torch

from rnnlens.adapter.batches import check_batches, check_forms, follows_along, words_of
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


def test_the_modules_own_targets_are_in_both_or_in_neither():
    own = check_batches([(X, {"output": NUMBERS, "own": SETS})])
    other = check_batches([(X, {"own": SETS})])
    for some in (own, other):
        check_forms(some, some[0].forms, "valid=")
    check_forms(check_batches([(X, NUMBERS)]), own[0].forms, "valid=")  # others may be missing
    with pytest.raises(RnnlensError, match="output are missing in valid=, and numbers where"):
        check_forms(other, own[0].forms, "valid=")
    with pytest.raises(RnnlensError, match="output are numbers in valid=, and missing where"):
        check_forms(own, other[0].forms, "valid=")


def test_a_few_targets_are_the_next_words_by_chance():
    words, targets = torch.tensor([[2, 0], [4, 0]]), torch.tensor([[4, 0], [0, -2]])
    assert follows_along(words, targets, 0)
    assert not follows_along(words, targets, 0, least=3)
    many = torch.arange(12)[:, None]
    assert follows_along(many, many + 1, 0, least=11)
    assert not follows_along(many, many + 1, 0, least=12)
