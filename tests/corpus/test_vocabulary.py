import json
from dataclasses import replace

import pytest
from tests.runfiles import vocabulary_in

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.vocabulary import Vocabulary, is_numeral
from rnnlens.labels.sets import NUM, UNK

VOCABULARY = Vocabulary(
    labels=("the", UNK, "dog", NUM, "one", "20-year"),
    counts=(0, 9, 7, 5, 3, 3),
    numerals=frozenset({"two", "one"}),
)


@pytest.mark.parametrize(
    "word",
    "7 42 3.5 1,000,000 .5 -3 +4.2 1/2 10:30 1990-91 3rd 1st 22nd 4th 50% 2.5% 7. ,5".split(),
)
def test_words_in_digits_are_numerals(word):
    assert is_numeral(word)


@pytest.mark.parametrize(
    "word",
    ["two", "", "-", ".", "%", "a1", "20-year", "1990s", "B-52", "3d", "$5", "--5", "5 6", "NUM"],
)
def test_other_words_are_not(word):
    assert not is_numeral(word)


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("the", "the"),
        ("The", "the"),
        ("DOG", "dog"),
        ("cat", UNK),
        ("<unk>", UNK),
        ("42", NUM),
        ("3rd", NUM),
        ("two", NUM),
        ("Two", NUM),
        ("one", NUM),
        ("three", UNK),
        ("20-year", "20-year"),
        ("30-year", UNK),
    ],
)
def test_typed_words_become_labels(word, label):
    assert [VOCABULARY.labels[k] for k in VOCABULARY.encode([word])] == [label]


def test_a_sentence_is_encoded_word_by_word():
    assert VOCABULARY.encode("The dog saw 7 cats".split()) == [0, 2, 1, 3, 1]
    assert VOCABULARY.encode([]) == []


def test_case_matters_when_the_corpus_kept_it():
    kept = replace(VOCABULARY, labels=("The", UNK, "the"), counts=(2, 2, 1), lowercase=False)
    assert kept.encode(["The", "the", "THE"]) == [0, 2, 1]


def test_numerals_are_words_like_others_when_the_corpus_kept_them():
    kept = Vocabulary(("7", UNK, "two"), (2, 2, 1), frozenset(), numbers=False)
    assert kept.encode(["7", "8", "two"]) == [0, 1, 2]


def test_a_numeral_the_corpus_kept_as_a_word_is_that_word():
    kept = Vocabulary(("1990", UNK, NUM), (2, 2, 1))
    assert kept.encode(["1990", "1991"]) == [0, 2]


def test_numerals_are_unknown_where_the_corpus_had_none():
    assert Vocabulary(("the", UNK), (3, 1)).encode(["7"]) == [1]


def test_length_and_unknown_id():
    assert (len(VOCABULARY), VOCABULARY.unknown) == (6, 1)


@pytest.mark.parametrize(
    "vocabulary",
    [VOCABULARY, replace(VOCABULARY, lowercase=False), replace(VOCABULARY, numbers=False)],
)
def test_json_gives_the_same_vocabulary_back(vocabulary):
    text = json.dumps(vocabulary.to_json())
    assert vocabulary_in(json.loads(text)) == vocabulary


def test_json_does_not_depend_on_the_order_of_a_set():
    assert VOCABULARY.to_json()["numerals"] == ["one", "two"]


def damaged(**changes: object) -> dict[str, object]:
    return {**json.loads(json.dumps(VOCABULARY.to_json())), **changes}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "labels",
        {},
        damaged(numerals=3),
        damaged(labels=None),
        damaged(labels=[]),
        damaged(labels=[["the"], "UNK"], counts=[1, 1]),
        damaged(labels=["the", "dog"], counts=[1, 1]),
        damaged(counts=[1, 2, 3]),
        damaged(labels=["the", "the", "UNK"], counts=[1, 1, 1]),
        damaged(labels=["the", "the", "UNK"], counts=[1, 1]),
    ],
)
def test_a_damaged_vocabulary_is_refused(value):
    with pytest.raises(RnnlensError, match=r"vocabulary\.json is damaged"):
        vocabulary_in(value)


def test_accents_may_stand_after_their_letters():
    whole = Vocabulary(("caf\u00e9", "UNK"), (1, 1))
    assert whole.encode(["cafe\u0301", "CAF\u00c9", "CAFE\u0301", "cafe"]) == [0, 0, 0, 1]
    apart = Vocabulary(("cafe\u0301", "UNK"), (1, 1))  # as an older version has read it
    assert apart.encode(["cafe\u0301"]) == [0]


def test_placeholders_are_named_only_where_they_stand_for_words():
    assert VOCABULARY.placeholders == {"UNK": "rare word", "NUM": "number"}
    own = Vocabulary.of_user(("NUM", "a", "<unk>"), (1, 1, 1), ("NUM", "a", "<unk>"))
    assert own.placeholders == {"<unk>": "rare word"}  # its NUM is a word like others
    tagger = replace(VOCABULARY, labels=("NOUN", "NUM"), counts=(1, 1), words=VOCABULARY.labels)
    assert tagger.placeholders == {}  # there NUM is a part of speech
    assert Vocabulary(("a", "b"), (1, 1), lowercase=False, numbers=False).placeholders == {}
