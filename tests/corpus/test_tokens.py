"""Sentences as numbers: the forms of words, splits and cuts."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus import tokens
from rnnlens.corpus.corpus import CorpusConfig, read_tokens
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.storage import Shelf
from rnnlens.corpus.tokens import Forms, Numbering, ReadingConfig, collect, split


def test_accents_that_stand_after_their_letters_are_put_onto_them():
    both = [Sentence(("cafe\u0301", "noir")), Sentence(("caf\u00e9", "noir"))]
    assert list(collect([both], lowercase=False).forms) == ["caf\u00e9", "noir"]


def test_whatever_is_read_otherwise_has_another_hash():
    first, second = Sentence(("The", "dog"), ("DET", "NOUN")), Sentence(("a", "cat"))
    others = [
        [[first, Sentence(("a", "cow"))]],
        [[second, first]],
        [[Sentence(("The", "dog")), second]],
        [[Sentence(("The", "dog", "a", "cat"))]],
        [[first], [second]],
        [[first._replace(labels=("x", "y")), second._replace(labels=("x", "y"))]],
        [[first._replace(labels=("x", "y")), second._replace(labels=("y", "x"))]],
    ]
    hashes = [collect(parts, False).hash for parts in [[[first, second]], *others]]
    assert len(set(hashes)) == len(hashes)
    assert collect([[first, Sentence(("left",)), second]], False).hash == hashes[0]
    # Runs of earlier versions name their corpus by this.
    assert hashes[0].startswith("be767b74958a")
    assert hashes[-1].startswith("bc82d9edc33c")


def test_forms_are_folded_only_when_asked(tmp_path: Path):
    path = tmp_path / "corpus.txt"
    path.write_text("The dog UNK\nthe NUM Dog\n")
    config = ReadingConfig(format="text")
    assert read_tokens(str(path), config, lowercase=False)[1].forms[:] == [
        "The", "dog", "UNK", "the", "NUM", "Dog",
    ]  # fmt: skip
    assert read_tokens(str(path), config, lowercase=True)[1].forms[:] == [
        "the",
        "dog",
        "UNK",
        "NUM",
    ]


@given(
    st.lists(st.integers(0, 2), min_size=12, max_size=60),
    st.floats(0.05, 0.4),
    st.floats(0.05, 0.4),
    st.integers(0, 9),
)
def test_shares_are_taken_from_what_was_given_for_no_part(part, valid, test, seed):
    config = ReadingConfig(valid_share=valid, test_share=test, split_seed=seed)
    free = part.count(0)
    sizes = [max(1, round(free * share)) for share in (valid, test)]
    if sum(sizes) >= free:
        with pytest.raises(RnnlensError, match=r"leaves? none for the"):
            split(np.array(part), config)
        return
    made = split(np.array(part), config)
    assert (made[np.array(part) > 0] == np.array(part)[np.array(part) > 0]).all()
    taken = made[np.array(part) == 0]
    assert [(taken == which).sum() for which in (1, 2)] == sizes
    assert (split(np.array(part), config) == made).all()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"format": "pdf"}, "no format is called 'pdf'"),
        ({"valid_share": 0.0}, "leave a part of the corpus empty"),
        ({"valid_share": 0.5, "test_share": 0.5}, "leave a part of the corpus empty"),
        ({"longest": 2}, "--longest 2: give at least 3"),
        ({"split_seed": -1}, "--split-seed -1: give at least 0"),
        ({"split_seed": 2**31}, "--split-seed"),
    ],
)
def test_what_cannot_work_is_refused_before_reading(config, said):
    with pytest.raises(RnnlensError, match=said):
        read_tokens("nowhere", ReadingConfig(**config), lowercase=False)


def test_one_sentence_of_words_with_labels_is_told_what_ends_one():
    with pytest.raises(RnnlensError, match="give more text; where a line has one word, an empty"):
        split(np.zeros(1, np.int64), CorpusConfig(task="tag"))


def test_a_corpus_without_sentences_is_refused(tmp_path: Path):
    some, none = tmp_path / "some.txt", tmp_path / "none.txt"
    some.write_text("a b\nc d\n")
    none.write_text("alone\n")
    with pytest.raises(RnnlensError, match=r"only 1 sentence of a single word; a language model"):
        read_tokens(str(none), ReadingConfig(format="text"), lowercase=False)
    with pytest.raises(RnnlensError, match=r"none.txt holds no sentence of two words"):
        read_tokens(str(some), ReadingConfig(format="text", test=str(none)), lowercase=False)


words = st.lists(
    st.lists(st.text("aé\n\U0001f600", max_size=4), unique=True, max_size=20), max_size=9
)


@given(words, st.sampled_from([0, 1 << 20]))
def test_forms_are_numbered_in_the_order_in_which_they_are_met(blocks, few):
    known: dict[str, int] = {}
    with Shelf() as shelf, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_FORMS_IN_MEMORY", few)
        patch.setattr(tokens, "_FORMS_DECODED", 3)
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
    monkeypatch.setattr(tokens, "_FORMS_IN_MEMORY", 0)
    table = Forms(np.frombuffer(b"a\nbc\n", np.uint8), np.array([1, 4]))
    assert table[1] == "bc"
    with pytest.raises(IndexError):
        table[2]


@pytest.mark.parametrize("blocks", [[["a", "b"]], [["a"], ["b"]]])
def test_two_words_with_one_hash_are_noticed(blocks, monkeypatch):
    monkeypatch.setattr(tokens, "hash", lambda form: form.endswith("\n") and ord(form[0]), False)
    with Shelf() as shelf:
        numbering = Numbering(shelf)
        for block in blocks[:-1]:
            numbering.of(block)
        with pytest.raises(RnnlensError, match="run the same command again"):
            numbering.of(blocks[-1])


def test_half_of_a_character_is_refused(tmp_path):
    text, folder = tmp_path / "a.txt", tmp_path / "folder"
    text.write_bytes(b"a dog sees +2AA-x .\n" * 20)  # UTF-7 has a way to write it
    with pytest.raises(RnnlensError, match=r"'\\ud800x' has half of a character, which is no text"):
        read_tokens(str(text), ReadingConfig(format="text", encoding="utf-7"), lowercase=True)
    folder.mkdir()
    for name in (b"good.txt", b"bad\xff.txt"):
        (folder / os.fsdecode(name)).write_text("a dog .\n" * 9)
    with pytest.raises(RnnlensError, match=r"'bad\\udcff' has half of a character"):
        read_tokens(str(folder), CorpusConfig(task="classify"), lowercase=True)
