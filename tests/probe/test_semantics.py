import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.semantics import offset, parse


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
