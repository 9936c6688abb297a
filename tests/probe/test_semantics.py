import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.corpus.batches import Split
from rnnlens.errors import RnnlensError
from rnnlens.probe.semantics import count, labels, offset, parse


@pytest.mark.parametrize(
    ("semantic", "expected"),
    [("input", 0), ("output", 1), ("output+1", 2), ("output-1", 0), ("output-3", -2)],
)
def test_the_offset_counts_from_the_word_just_read(semantic, expected):
    assert offset(semantic) == expected


@pytest.mark.parametrize("text", ["", "outputs", "output+", "output+0", "input+1", "output,,input"])
def test_what_is_no_semantic_is_named(text):
    with pytest.raises(RnnlensError, match="is no semantic"):
        parse(text)


def test_a_semantic_asked_for_twice_is_one():
    assert parse("output, input,output") == ("output", "input")


sentence_lists = st.lists(
    st.lists(st.integers(0, 9), min_size=2, max_size=6), min_size=1, max_size=6
)


@given(sentence_lists, st.integers(-7, 7))
def test_labels_agree_with_looking_them_up_one_by_one(sentences, shift):
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sentences])])
    split = Split(np.concatenate(sentences).astype(np.int64), starts.astype(np.int64))
    found = labels(split, np.arange(len(sentences)), shift)
    expected = np.full(found.shape, -1)
    for b, sentence in enumerate(sentences):
        for t in range(len(sentence) - 1):
            if 0 <= t + shift < len(sentence):
                expected[t, b] = sentence[t + shift]
    assert (found == expected).all()
    assert count(split, shift) == (expected >= 0).sum()
