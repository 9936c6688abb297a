"""A corpus in the numbers of a user's module: names, sentences, groups of one length."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import grammar
from tests.runfiles import vocabulary_in

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import Corpus, numbered
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.split import Split, equally_long
from rnnlens.corpus.tokens import NO_TAG, SPLITS, TAG_IDS, ReadingConfig
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import UNKNOWN

LETTERS = Vocabulary.of_user(("x",), (1,), ("<unk>", *"abcdefgh"))


def known(*inputs: str) -> Vocabulary:
    return Vocabulary.of_user(("x", "y"), (1, 2), inputs)


def test_words_have_the_numbers_of_their_names():
    assert known("a", "b", "c").encode(["c", "a", "a"]) == [2, 0, 0]


@pytest.mark.parametrize("name", UNKNOWN)
def test_whatever_unknown_words_are_called_they_have_its_number(name):
    vocabulary = known("a", name)
    assert vocabulary.unknown == 1
    assert vocabulary.encode(["zebra", "a"]) == [1, 0]


def test_of_several_names_for_unknown_words_the_likeliest_counts():
    assert known("unk", "a", "<unk>").unknown == 2


def test_a_word_that_is_neither_known_nor_unknown_is_named():
    with pytest.raises(RnnlensError, match="no word 'zebra'"):
        known("a").encode(["a", "zebra"])
    with pytest.raises(RnnlensError, match="give inputs="):
        known().encode(["a"])


names = st.lists(st.text('aé\n "', max_size=3), min_size=1, max_size=6, unique=True).map(tuple)


@given(names, names, st.sampled_from(["same", "none", "other"]))
def test_what_is_written_is_read_back(labels, others, how):
    inputs = {"same": labels, "none": (), "other": others}[how]
    made = Vocabulary.of_user(labels, tuple(range(len(labels))), inputs)
    assert vocabulary_in(made.to_json()) == made


@pytest.mark.parametrize(
    "change",
    [{"labels": None}, {"labels": []}, {"labels": ["a", "a"]}, {"counts": [1]},
     {"counts": ["many", 2]}, {"inputs": 3}],
)  # fmt: skip
def test_a_damaged_vocabulary_is_refused(change):
    whole = known("a").to_json()
    vocabulary_in(whole)
    with pytest.raises(RnnlensError, match=r"vocabulary\.json is damaged"):
        vocabulary_in({**whole, **change})
    for name in ("labels", "counts"):
        with pytest.raises(RnnlensError, match=r"vocabulary\.json is damaged"):
            vocabulary_in({k: v for k, v in whole.items() if k != name})


def test_a_corpus_is_split_and_otherwise_as_it_was_written(tmp_path: Path):
    path = tmp_path / "corpus.conllu"
    path.write_text(grammar.conllu(50).replace("\tdog\t", "\tDog\t"), encoding="utf-8")
    corpus = Corpus.read(str(path), ReadingConfig(test_share=0.2))
    parts = {name: list(corpus.sentences(name)) for name in SPLITS}
    assert {name: len(some) for name, some in parts.items()} == {
        "train": 35, "valid": 5, "test": 10,
    }  # fmt: skip
    written = [
        Sentence(tuple("Dog" if w == "dog" else w for w in s.words), s.tags)
        for s in grammar.sentences(50)
    ]
    assert any("Dog" in s.words for s in written)
    assert Counter(s for some in parts.values() for s in some) == Counter(written)
    assert (corpus.format, corpus.name) == ("conllu: by its ending", str(path))


def test_a_corpus_of_its_own_is_for_what_it_was_given(tmp_path: Path):
    for name in SPLITS:
        (tmp_path / name).write_text(f"the {name} part\nand {name} again\n")
    config = ReadingConfig(valid=str(tmp_path / "valid"), test=str(tmp_path / "test"))
    corpus = Corpus.read(str(tmp_path / "train"), config)
    for name in SPLITS:
        assert [s.words for s in corpus.sentences(name)] == [
            ("the", name, "part"), ("and", name, "again"),
        ]  # fmt: skip
        assert all(s.tags is None for s in corpus.sentences(name))


def test_what_was_read_is_known_again_wherever_it_is(tmp_path: Path):
    made = []
    for name, text in (("one", "a b\nc d\ne f\n"), ("two", "a b\nc d\ne f\n"),
                       ("three", "a b\nc d\ne g\n"), ("four", "a b c\nd\ne f\n")):  # fmt: skip
        (tmp_path / name).write_text(text)
        config = ReadingConfig(format="text", valid=str(tmp_path / "one"))
        made.append(Corpus.read(str(tmp_path / name), config).hash)
    assert made[0] == made[1]
    assert len(set(made)) == 3


tagged = st.lists(st.tuples(st.sampled_from("abcxyz"), st.sampled_from(sorted(TAG_IDS))),
                  min_size=1, max_size=9)  # fmt: skip


@given(st.lists(st.tuples(tagged, st.booleans()), max_size=6), st.integers(3, 5))
def test_sentences_become_numbers_beside_their_tags(drawn, longest):
    sentences = []
    for pairs, has_tags in drawn:
        words, tags = zip(*pairs, strict=True)
        sentences.append(Sentence(words, tags if has_tags else None))
    split, numbers = numbered(sentences, LETTERS, str.split, longest)
    expected = [
        (LETTERS.encode([word])[0], TAG_IDS[s.tags[k]] if s.tags else NO_TAG)
        for s in sentences
        for k, word in enumerate(s.words)
    ]
    assert list(zip(split.ids.tolist(), numbers.tolist(), strict=True)) == expected
    ends = np.cumsum([len(s.words) for s in sentences]).tolist()
    assert set(ends) <= set(split.starts.tolist())  # no piece goes over a sentence's end
    assert all(1 <= n <= longest for n in split.lengths)


def test_a_sentence_that_is_split_otherwise_has_no_tags():
    sentences = [Sentence(("ab", "c"), ("NOUN", "VERB")), Sentence(("a", "b"), ("DET", "NOUN"))]
    split, tags = numbered(sentences, LETTERS, lambda text: list(text.replace(" ", "")), 50)
    assert split.ids.tolist() == [1, 2, 3, 1, 2]
    assert split.starts.tolist() == [0, 3, 5]
    assert tags.tolist() == [NO_TAG] * 3 + [TAG_IDS["DET"], TAG_IDS["NOUN"]]


@given(st.lists(st.integers(1, 6), max_size=40), st.integers(1, 7))
def test_sentences_of_one_length_come_together_each_once(lengths, most):
    split = Split.joined([[0] * n for n in lengths])
    groups = list(equally_long(split, most))
    found = [int(k) for group in groups for k in group]
    assert sorted(found) == [k for k, n in enumerate(lengths) if n > 1]
    for group in groups:
        assert 1 <= len(group) <= most
        assert len({lengths[k] for k in group}) == 1
    per_length = Counter(n for n in lengths if n > 1)
    assert len(groups) == sum(-(-count // most) for count in per_length.values())
