import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.semantics import NONE, labels_at, offset, parse


@pytest.mark.parametrize(
    ("semantic", "expected"),
    [
        ("input", 0),
        ("output", 1),
        ("output+1", 2),
        ("output-1", 0),
        ("output-3", -2),
        ("tag", 0),
        ("tag+2", 2),
    ],
)
def test_the_offset_counts_from_the_word_just_read(semantic, expected):
    assert offset(semantic) == expected


@pytest.mark.parametrize("text", ["", "Output", "output+", "output+0", "input+1", "output,,input"])
def test_what_is_no_semantic_is_named(text):
    with pytest.raises(RnnlensError, match="is no semantic"):
        parse(text)


def test_a_semantic_asked_for_twice_is_one():
    assert parse("output, input,output") == ("output", "input")


def test_labels_before_the_first_and_after_the_last_are_none():
    labels = torch.tensor([[4, 7], [5, 8], [6, 9]])
    assert labels_at(labels, torch.tensor([-1, 0, 2, 3])).tolist() == [
        [NONE, NONE], [4, 7], [6, 9], [NONE, NONE]]  # fmt: skip
    assert labels_at(labels[:0, 0], torch.tensor([0, 1])).tolist() == [NONE, NONE]
