"""Numbers of forms, block by block, against a dictionary of them all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus import forms
from rnnlens.corpus.flat import Shelf
from rnnlens.corpus.forms import Forms, Numbering

words = st.lists(st.lists(st.text("aé\n\ud800", max_size=4), unique=True, max_size=20), max_size=9)


@given(words, st.sampled_from([0, 1 << 20]))
def test_forms_are_numbered_in_the_order_in_which_they_are_met(blocks, few):
    known: dict[str, int] = {}
    with Shelf() as shelf, pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "_FEW", few)
        patch.setattr(forms, "_AT_ONCE", 3)
        numbering = Numbering(shelf)
        for block in blocks:
            wanted = [known.setdefault(form, len(known)) for form in block]
            assert numbering.of(block).tolist() == wanted
        arrays = shelf.arrays()
        table = Forms(arrays["forms"], arrays["ends"])
        assert list(table) == list(known)
        assert [table[k] for k in range(len(table))] == table[:] == list(known)
        assert len(numbering.runs) <= 1 + np.log2(len(known) + 1)


def test_there_is_no_form_behind_the_last(monkeypatch):
    monkeypatch.setattr(forms, "_FEW", 0)
    table = Forms(np.frombuffer(b"a\nbc\n", np.uint8), np.array([1, 4]))
    assert table[1] == "bc"
    with pytest.raises(IndexError):
        table[2]


@pytest.mark.parametrize("blocks", [[["a", "b"]], [["a"], ["b"]]])
def test_two_words_with_one_hash_are_noticed(blocks, monkeypatch):
    monkeypatch.setattr(forms, "hash", lambda form: form.endswith("\n") and ord(form[0]), False)
    with Shelf() as shelf:
        numbering = Numbering(shelf)
        for block in blocks[:-1]:
            numbering.of(block)
        with pytest.raises(RnnlensError, match="run the same command again"):
            numbering.of(blocks[-1])
