from collections.abc import Iterable

import numpy as np
import pytest
from tests.grammar import sentences

from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, encode
from rnnlens.corpus.sentence import Sentence
from rnnlens.corpus.tokens import collect
from rnnlens.labels.groups import parts_of_speech
from rnnlens.labels.tags import UNIVERSAL

GERMAN = """
der hund und die katze sind nicht in dem haus
die kinder haben den hund auf der wiese gesehen
er hat das buch von dem lehrer nicht gelesen
sie ist mit der mutter nach hause gegangen
wir werden heute bei den nachbarn zu abend essen
das wetter ist im herbst oft kalt und nass
"""
FRENCH = """
le chien et le chat ne sont pas dans la maison
les enfants de la ville ont vu un oiseau sur le toit
il est parti avec une amie pour la mer
elle lit un livre que le professeur lui a donné
nous irons au marché avec les voisins du village
la pluie tombe sur les arbres de la forêt
"""
RARE = "abacus badger cactus dahlia easel falcon gazebo heron iguana jackal kayak lantern".split()


def encoded(train: Iterable[Sentence], min_count: int = 1) -> EncodedCorpus:
    config = CorpusConfig(valid="given", test="given", min_count=min_count)
    other = [Sentence(("any", "words"))]
    return encode(
        Corpus.of("name", "text", collect([train, other, other], config.lowercase), config), config
    )


def told(corpus: EncodedCorpus) -> tuple[list[str] | None, str]:
    vocabulary = corpus.vocabulary
    return parts_of_speech(vocabulary.labels, vocabulary.counts, corpus.tag_counts)


def parts(corpus: EncodedCorpus) -> dict[str, str]:
    found, _ = told(corpus)
    assert found is not None
    return dict(zip(corpus.vocabulary.labels, found, strict=True))


def test_tagged_words_have_their_most_frequent_tag():
    seen = ("NOUN", "VERB", "VERB", "ADJ")
    corpus = encoded([Sentence(("the", "play"), ("DET", tag)) for tag in seen])
    assert parts(corpus) == {"the": "DET", "play": "VERB", "UNK": "X"}
    assert told(corpus)[1] == "each word's most frequent tag in the corpus"


def test_only_training_data_decides_the_tag():
    config = CorpusConfig(valid="given", test="given", min_count=1)
    train = [Sentence(("the", "play"), ("DET", "NOUN"))]
    other = [Sentence(("the", "play"), ("DET", "VERB"))] * 5
    corpus = encode(
        Corpus.of("name", "text", collect([train, other, other], config.lowercase), config), config
    )
    assert parts(corpus)["play"] == "NOUN"


def test_numerals_and_rare_words_have_the_tags_of_what_they_stand_for():
    train = [Sentence(("the", "7", name), ("DET", "NUM", "PROPN")) for name in RARE]
    found = parts(encoded(train, min_count=2))
    assert found == {"the": "DET", "NUM": "NUM", "UNK": "PROPN"}


def test_untagged_words_of_a_partly_tagged_corpus_are_x():
    train = [Sentence(("the", "dog"), ("DET", "NOUN")), Sentence(("some", "cat"))]
    found = parts(encoded(train))
    assert (found["dog"], found["cat"]) == ("NOUN", "X")


@pytest.mark.slow
def test_untagged_english_goes_by_the_lexicon_and_by_endings_and_says_so():
    invented = Sentence(("the", "blorfness", "blorfly", "blorfed", "7", "dogs", "--"))
    train = [Sentence(s.words) for s in sentences(600)] + [invented] * 3
    corpus = encoded(train, min_count=3)
    found = parts(corpus)
    expected = {"the": "DET", "dogs": "NOUN", "often": "ADV", "whispered": "VERB", "near": "ADP"}
    expected |= {"blorfness": "NOUN", "blorfly": "ADV", "blorfed": "VERB", "--": "PUNCT"}
    expected |= {"NUM": "NUM", "UNK": "NOUN"}
    assert {word: found[word] for word in expected} == expected
    assert "English lexicon" in told(corpus)[1]


def test_the_share_that_went_by_its_ending_is_told():
    train = [Sentence(("the", "dog", "sees", "blorfness"))]
    assert "by their ending 25% of the words" in told(encoded(train))[1]


def test_english_of_many_rare_words_is_english_still():
    train = [Sentence(("the", word)) for word in RARE]
    corpus = encoded([*train, *[Sentence(("the", "dog"))] * 3], min_count=3)
    assert corpus.unknown["train"] > 0.3
    assert parts(corpus)["dog"] == "NOUN"


@pytest.mark.slow
@pytest.mark.parametrize("text", [GERMAN, FRENCH], ids=["german", "french"])
@pytest.mark.parametrize("min_count", [1, 2])
def test_another_language_without_tags_has_no_parts_of_speech_and_says_why(text, min_count):
    train = [Sentence(tuple(line.split())) for line in text.strip().splitlines()]
    found, why = told(encoded(train, min_count))
    assert found is None
    assert "give a tagged corpus" in why


def test_another_language_with_tags_has_them():
    found = parts(encoded([Sentence(("der", "hund"), ("DET", "NOUN"))]))
    assert found == {"der": "DET", "hund": "NOUN", "UNK": "X"}


def test_labels_of_any_case_go_by_the_lexicon_and_unknown_words_are_nouns():
    labels = ["The", "dog", "<unk>", "[UNK]", "NUM"]
    for tag_counts in (None, np.zeros((5, len(UNIVERSAL)), np.int64)):
        found, why = parts_of_speech(labels, [9, 5, 80, 80, 1], tag_counts)
        assert found == ["DET", "NOUN", "NOUN", "NOUN", "NUM"]
        assert "by their ending 0% of the words" in why


def test_what_the_module_takes_for_unknown_does_not_make_a_language():
    assert parts_of_speech(["der", "hund", "<unk>"], [5, 5, 1000])[0] is None


def test_marks_are_no_words():
    labels = ["the", "dog", "<eos>", "[PAD]", "<unk>", "<b"]
    found, _ = parts_of_speech(labels, [9, 5, 80, 80, 1, 1])
    assert found == ["DET", "NOUN", "X", "X", "NOUN", "NOUN"]


def test_characters_have_no_parts_of_speech():
    found, why = parts_of_speech(["a", "i", "e", "t", " ", "<unk>"], [9] * 6)
    assert found is None
    assert "characters" in why
