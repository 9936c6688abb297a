from collections import Counter
from itertools import pairwise

import pytest
from tests.grammar import conllu, sentences

from rnnlens.corpus.read.conll import read_conllu
from rnnlens.labels.parts_of_speech import UNIVERSAL

PLURAL_PRONOUNS = ("they", "we")


@pytest.fixture(scope="module")
def made():
    return list(sentences(600, seed=1))


def test_the_same_seed_gives_the_same_sentences(made):
    assert list(sentences(600, seed=1)) == made
    assert list(sentences(50, seed=1)) == made[:50]
    assert list(sentences(600, seed=2)) != made


def test_every_word_has_a_universal_tag(made):
    assert len(made) == 600
    for sentence in made:
        assert sentence.tags is not None
        assert len(sentence.words) == len(sentence.tags) >= 3
        assert set(sentence.tags) <= set(UNIVERSAL)


def test_conllu_text_reads_back_as_the_sentences(tmp_path, made):
    path = tmp_path / "made.conllu"
    path.write_text(conllu(600, seed=1))
    assert list(read_conllu(path, "utf-8")) == made


def test_no_sentences_are_no_text():
    assert list(sentences(0)) == []
    assert conllu(0) == ""


def test_a_quotation_opens_first_and_closes_before_who_said_it(made):
    quoted = [s for s in made if "``" in s.words]
    assert 0.15 < len(quoted) / len(made) < 0.35
    for sentence in made:
        counts = Counter(sentence.words)
        assert counts["``"] == counts["''"] == (sentence.words[0] == "``")
        assert sentence.words.index(".") == len(sentence.words) - 1
    for sentence in quoted:
        assert sentence.words[-5:-3] == (",", "''")
        assert sentence.tags[-3:] == ("PRON", "VERB", "PUNCT")


def is_plural(noun: str) -> bool:
    return noun in PLURAL_PRONOUNS or noun == "children" or noun.endswith("s")


def test_verbs_agree_with_their_subjects_across_relative_clauses(made):
    crossed = 0
    for sentence in made:
        subjects = []
        for (word, tag), (following, _) in pairwise(
            zip(sentence.words, sentence.tags, strict=True)
        ):
            if tag in ("NOUN", "PRON") and word != "that":
                subjects.append(word)
            if following == "that":
                continue
            if tag == "VERB":
                crossed += len(subjects) == 1 and "that" in sentence.words
                assert word.endswith("s") != is_plural(subjects.pop())
                if not subjects:
                    break
    assert crossed > 30


def test_numerals_stand_before_plural_nouns_only(made):
    followed = []
    for sentence in made:
        for place, tag in enumerate(sentence.tags):
            if tag == "NUM":
                rest = zip(sentence.words[place:], sentence.tags[place:], strict=True)
                followed.append(next(word for word, part in rest if part == "NOUN"))
    assert len(followed) > 20
    assert all(map(is_plural, followed))
