"""Parts of speech of tags, of English words and of labels."""

from collections.abc import Iterable

import numpy as np
import pytest
from tests.grammar import sentences

from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, encode
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.tokens import collect
from rnnlens.labels.parts_of_speech import (
    UNIVERSAL,
    by_suffix,
    coarse,
    coverage,
    load_lexicon,
    parts_of_speech,
    universal,
    word_class,
)

PENN = {
    "ADJ": "JJ JJR JJS",
    "ADP": "IN RP",
    "ADV": "RB RBR RBS WRB",
    "AUX": "MD",
    "CCONJ": "CC",
    "DET": "DT PDT WDT",
    "INTJ": "UH",
    "NOUN": "NN NNS",
    "NUM": "CD",
    "PART": "TO POS",
    "PRON": "PRP PRP$ WP WP$ EX",
    "PROPN": "NNP NNPS",
    "PUNCT": ". , : `` '' -LRB- -RRB- ( ) HYPH NFP",
    "SYM": "$ # SYM",
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "X": "FW LS",
}
BROWN = {
    "ADJ": "JJ JJR JJS JJT JJ-TL OD OD-TL",
    "ADP": "IN RP IN-TL",
    "ADV": "RB RBR RBT RB$ RN QL QLP WQL WRB",
    "AUX": "MD MD*",
    "CCONJ": "CC CC-TL",
    "DET": "AT ABL ABN ABX AP AP$ DT DTI DTS DTX WDT AT-HL",
    "INTJ": "UH",
    "NOUN": "NN NN$ NNS NNS$ NN-TL NN-HL NN+BEZ NR NRS FW-NN",
    "NUM": "CD CD$ CD-TL",
    "PART": "TO * *-HL",
    "PRON": "PN PP$ PP$$ PPL PPLS PPO PPS PPSS PPSS+BEM EX WPS WPO WP$ FW-PPO",
    "PROPN": "NP NPS NP$ NP-TL",
    "PUNCT": ". .-HL .-NC , ,-HL : -- ( ) (-HL `` '' '",
    "SCONJ": "CS",
    "VERB": "VB VBD VBG VBN VBZ BE BED BEDZ BEDZ* BEM BEZ DO DOD DOZ* HV HVD HVZ FW-VB",
    "X": "FW",
}
TWELVE = {
    "ADJ": "ADJ",
    "ADP": "ADP",
    "ADV": "ADV",
    "CCONJ": "CONJ",
    "DET": "DET",
    "NOUN": "NOUN",
    "NUM": "NUM",
    "PART": "PRT",
    "PRON": "PRON",
    "PUNCT": ".",
    "VERB": "VERB",
    "X": "X",
}


@pytest.mark.parametrize(
    ("tag", "part"),
    [
        pytest.param(tag, part, id=f"{name} {tag}")
        for name, table in (("Penn", PENN), ("Brown", BROWN), ("twelve", TWELVE))
        for part, tags in table.items()
        for tag in tags.split()
    ],
)
def test_known_tags_have_a_universal_part_of_speech(tag, part):
    assert universal(tag) == part


@pytest.mark.parametrize("tag", UNIVERSAL)
def test_universal_tags_stay_themselves(tag):
    assert universal(tag) == tag


def test_there_are_seventeen_universal_tags():
    assert len(set(UNIVERSAL)) == len(UNIVERSAL) == 17


@pytest.mark.parametrize("tag", ["", "_", "ncms000", "da0ms0", "%", "Q", "V", "N"])
def test_unknown_tags_have_none(tag):
    assert universal(tag) is None


@pytest.mark.parametrize(("tag", "part"), [("vbz", "VERB"), ("nn-tl", "NOUN"), ("conj", "CCONJ")])
def test_lower_case_penn_brown_and_twelve_tags_are_known(tag, part):
    assert universal(tag) == part


@pytest.mark.parametrize(
    ("group", "tags"),
    [
        ("NOUN", "NN NNS NNP NNPS PRP PRP$ EX WP WP$"),
        ("VERB", "VB VBD VBG VBN VBP VBZ MD"),
        ("ADJ", "JJ JJR JJS"),
        ("ADV", "RB RBR RBS WRB"),
        ("OTHER", "IN DT CC CD TO . , UH SYM FW"),
    ],
)
def test_penn_tags_fall_into_the_groups_of_the_paper(group, tags):
    assert {coarse(universal(tag)) for tag in tags.split()} == {group}


def test_every_universal_tag_has_a_group_and_nothing_is_other():
    assert {coarse(tag) for tag in UNIVERSAL} == {"NOUN", "VERB", "ADJ", "ADV", "OTHER"}
    assert coarse(None) == "OTHER"


def test_word_classes_are_the_papers_groups_with_other_split():
    split = {tag: word_class(tag) for tag in UNIVERSAL if word_class(tag) != coarse(tag)}
    function = dict.fromkeys(("ADP", "CCONJ", "DET", "PART", "SCONJ"), "FUNCTION")
    assert split == function | {"PUNCT": "PUNCTUATION"}
    assert word_class(None) == word_class("NUM") == "OTHER"


@pytest.fixture(scope="module")
def english():
    return load_lexicon()


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("dog", "NOUN"),
        ("the", "DET"),
        ("quickly", "ADV"),
        ("happy", "ADJ"),
        ("announced", "VERB"),
        ("she", "PRON"),
        ("will", "AUX"),
        ("may", "AUX"),
        ("london", "PROPN"),
        (",", "PUNCT"),
    ],
)
def test_english_words_are_known(english, word, part):
    assert english[word] == part


def test_the_lexicon_is_large_lower_case_and_universal(english):
    assert len(english) > 80_000
    assert all(word == word.lower() for word in english)
    assert set(english.values()) <= set(UNIVERSAL)


@pytest.fixture
def small(tmp_path, monkeypatch):
    path = tmp_path / "en" / "en-lexicon.txt"
    path.parent.mkdir()
    path.write_text(
        ";;; a comment NN\n\nWill NNP\nwill MD\nmark NN\nMark NNP\nÉmile NNP\nodd QQQ\nbare\n",
        encoding="utf-8",
    )
    monkeypatch.setattr("rnnlens.labels.parts_of_speech.files", lambda _package: tmp_path)
    return load_lexicon()


def test_comments_unknown_tags_and_bare_words_are_left_out(small):
    assert set(small) == {"will", "mark", "émile"}


def test_a_lower_case_entry_wins_whether_it_comes_first_or_last(small):
    assert (small["will"], small["mark"], small["émile"]) == ("AUX", "NOUN", "PROPN")


@pytest.mark.parametrize(
    ("counted", "share"),
    [
        ([("dog", 3), ("hund", 1)], 0.75),
        ([("Dog", 1), ("hund", 3)], 0.25),
        ([("dog", 1), (",", 50), ("42", 50), ("o'clock", 50)], 1.0),
        ([("hund", 2)], 0.0),
        ([(",", 2)], 0.0),
        ([], 0.0),
        ([("dog", 0), ("hund", 0)], 0.0),
    ],
)
def test_coverage_is_the_share_of_running_words_that_are_english(counted, share):
    assert coverage(counted, {"dog": "NOUN", "o'clock": "ADV"}) == share


def test_foreign_words_and_names_of_the_lexicon_do_not_count_as_english():
    listed = {"und": "X", "london": "PROPN", "dog": "NOUN"}
    assert coverage([("und", 2), ("london", 1), ("dog", 1)], listed) == 0.25


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("blorfability", "NOUN"),
        ("blorfness", "NOUN"),
        ("blorfments", "NOUN"),
        ("blorfship", "NOUN"),
        ("blorfly", "ADV"),
        ("blorfwise", "ADV"),
        ("blorfise", "VERB"),
        ("blorfed", "VERB"),
        ("blorfing", "VERB"),
        ("blorfify", "VERB"),
        ("blorfous", "ADJ"),
        ("blorfless", "ADJ"),
        ("blorfic", "ADJ"),
        ("blorf", "NOUN"),
        ("state-blorfed", "ADJ"),
        ("20-year", "ADJ"),
        ("20", "NUM"),
        ("3.5%", "NUM"),
        ("--", "PUNCT"),
        ("…", "PUNCT"),
    ],
)
def test_an_unlisted_word_goes_by_its_ending(word, part):
    assert by_suffix(word) == part


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


@pytest.mark.slow
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
