"""From sentences to encoded splits, against the same rules written out word by word."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, encode
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.tokens import collect
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.labels.sets import NUM, UNK

Parts = list[list[Sentence]]

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

WORDS = ("a", "A", "b", "c", "d", "Two", "two", "7", "3.5", "<unk>", "UNK", "NUM", "unk")


@st.composite
def some_sentence(draw: st.DrawFn) -> Sentence:
    words = tuple(draw(st.lists(st.sampled_from(WORDS), min_size=2, max_size=6)))
    size = len(words)
    tags = st.lists(st.sampled_from(("NOUN", "VERB", "NUM")), min_size=size, max_size=size)
    return Sentence(words, draw(st.none() | tags.map(tuple)))


some_parts = st.tuples(*[st.lists(some_sentence(), min_size=1, max_size=8)] * 3).map(list)
configs = st.builds(
    CorpusConfig,
    valid=st.just("given"),
    test=st.just("given"),
    min_count=st.integers(1, 4),
    lowercase=st.booleans(),
    numbers=st.booleans(),
)


def naive_labels(sentence: Sentence, config: CorpusConfig) -> list[str]:
    labels = []
    for place, form in enumerate(sentence.words):
        word = form.lower() if config.lowercase and form not in (NUM, UNK) else form
        tag = sentence.tags[place] if sentence.tags else None
        in_digits = any(letter.isdigit() for letter in word)
        if config.numbers and (tag == "NUM" or (tag is None and in_digits)):
            labels.append(NUM)
        else:
            labels.append(UNK if word in ("<unk>", UNK) else word)
    return labels


def naive(parts: Parts, config: CorpusConfig) -> list[list[list[str]]]:
    """Every part in its labels, rare words as UNK."""
    made = [[naive_labels(sentence, config) for sentence in part] for part in parts]
    counts = Counter(label for sentence in made[0] for label in sentence)
    kept = {label for label, n in counts.items() if n >= config.min_count or label == NUM}
    return [[[w if w in kept else UNK for w in s] for s in part] for part in made]


def prepared(parts: Parts, config: CorpusConfig) -> EncodedCorpus:
    return encode(Corpus.of("name", "text", collect([*parts], config.lowercase), config), config)


def decoded(corpus: EncodedCorpus, split: str) -> list[list[str]]:
    made = corpus.splits[split]
    return [[corpus.vocabulary.labels[k] for k in made.ids[a:b]] for a, b in pairwise(made.starts)]


@unhurried
@given(some_parts, configs)
def test_preprocessing_does_to_arrays_what_the_rules_say_of_words(parts, config):
    expected = naive(parts, config)
    frequency = Counter(word for sentence in expected[0] for word in sentence)
    if len({*frequency, UNK}) < 3:
        with pytest.raises(RnnlensError, match="gives a vocabulary of"):
            prepared(parts, config)
        return
    corpus = prepared(parts, config)
    assert [decoded(corpus, split) for split in ("train", "valid", "test")] == expected
    vocabulary = corpus.vocabulary
    assert len(set(vocabulary.labels)) == len(vocabulary.labels)
    assert set(vocabulary.labels) == {*frequency, UNK}
    falling = [frequency[label] for label in vocabulary.labels]
    assert falling == sorted(falling, reverse=True)
    targets = Counter(word for sentence in expected[0] for word in sentence[1:])
    assert list(vocabulary.counts) == [targets[label] for label in vocabulary.labels]
    for part, split in zip(expected, ("train", "valid", "test"), strict=True):
        flat = [word for sentence in part for word in sentence]
        assert corpus.unknown[split] == pytest.approx(flat.count(UNK) / len(flat))


@pytest.mark.slow
@unhurried
@given(some_parts, configs)
def test_tags_are_counted_for_the_labels_of_training_data(parts, config):
    expected: Counter[tuple[str, str]] = Counter()
    for sentence, labels in zip(parts[0], naive(parts, config)[0], strict=True):
        expected.update(zip(labels, sentence.tags or (), strict=False))
    try:
        corpus = prepared(parts, config)
    except RnnlensError:
        return
    found = {
        (label, UNIVERSAL[tag]): int(corpus.tag_counts[k, tag])
        for k, label in enumerate(corpus.vocabulary.labels)
        for tag in np.flatnonzero(corpus.tag_counts[k])
    }
    assert found == expected
    assert corpus.tag_counts.any() == bool(expected)


def sentence(text: str, tags: str = "") -> Sentence:
    return Sentence(tuple(text.split()), tuple(tags.split()) or None)


GIVEN = CorpusConfig(valid="given", test="given", min_count=2)
OTHER = [sentence("the dog")]


def test_a_word_is_rare_by_its_count_in_training_alone():
    often = [sentence("the cat")] * 5
    corpus = prepared([[sentence("the dog cat"), sentence("the dog")], often, often], GIVEN)
    assert set(corpus.vocabulary.labels) == {"the", "dog", UNK}
    assert decoded(corpus, "valid") == [["the", UNK]] * 5


def test_numerals_go_by_tag_where_there_are_tags_and_else_by_their_look():
    train = [
        sentence("the two 1984 dogs", "DET NUM PROPN NOUN"),
        sentence("the two 1984 dogs", "DET NUM PROPN NOUN"),
        sentence("the two 1984 dogs"),
    ]
    corpus = prepared([train, OTHER, OTHER], GIVEN)
    assert decoded(corpus, "train") == [
        ["the", NUM, "1984", "dogs"],
        ["the", NUM, "1984", "dogs"],
        ["the", UNK, NUM, "dogs"],
    ]


@pytest.mark.parametrize(
    ("tags", "numerals"),
    [
        ("NUM NUM NUM", {"one"}),
        ("NUM NUM PRON", {"one"}),
        ("NUM PRON", set()),
        ("NUM", {"one"}),
    ],
)
def test_a_spelled_out_numeral_is_one_tagged_so_more_often_than_not(tags, numerals):
    train = [sentence("the one 7", f"DET {tag} NUM") for tag in tags.split()] + OTHER * 2
    corpus = prepared([train, OTHER, OTHER], GIVEN)
    assert corpus.vocabulary.numerals == numerals


def test_numerals_stay_words_when_asked():
    config = CorpusConfig(valid="given", test="given", min_count=2, numbers=False)
    corpus = prepared([[sentence("two 7", "NUM NUM")] * 2, OTHER, OTHER], config)
    assert set(corpus.vocabulary.labels) == {"two", "7", UNK}
    assert corpus.vocabulary.numerals == frozenset()
    assert not corpus.vocabulary.numbers


def test_unknown_words_of_the_source_are_one_with_rare_ones():
    corpus = prepared([[sentence("the <unk> dog rare"), *OTHER, *OTHER], OTHER, OTHER], GIVEN)
    assert decoded(corpus, "train")[0] == ["the", UNK, "dog", UNK]
    assert corpus.vocabulary.labels.count(UNK) == 1
    assert corpus.unknown["train"] == 0.25


@unhurried
@given(st.integers(2, 200), st.integers(3, 60))
def test_a_long_sentence_is_cut_evenly_with_no_piece_of_one_word(size, longest):
    config = CorpusConfig(valid="given", test="given", longest=longest, min_count=1)
    long = Sentence(tuple(f"w{k}" for k in range(size)))
    corpus = prepared([[long], OTHER, OTHER], config)
    pieces = corpus.splits["train"].lengths
    assert pieces.sum() == size
    assert 2 <= pieces.min() <= pieces.max() <= longest
    assert np.ptp(pieces) <= 1
    assert [word for piece in decoded(corpus, "train") for word in piece] == list(long.words)


def test_the_pieces_of_a_sentence_stay_in_one_split():
    long = [Sentence(tuple(f"s{s}w{k}" for k in range(50))) for s in range(20)]
    corpus = prepared([long, [], []], CorpusConfig(longest=10, min_count=1))
    assert corpus.cut == 20
    assert [len(split) for split in corpus.splits.values()] == [80, 10, 10]


def test_sentences_of_a_single_word_are_left_out_and_counted():
    tokens = collect(
        [[sentence("yes"), sentence(""), sentence("a b"), sentence("no")]], GIVEN.lowercase
    )
    assert (tokens.short, len(tokens.part)) == (3, 1)
    assert list(tokens.forms) == ["a", "b"]
