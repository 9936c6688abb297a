import pytest

from rnnlens.labels import lexicon
from rnnlens.labels.lexicon import by_suffix, coverage, load_lexicon
from rnnlens.labels.tags import UNIVERSAL


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
    monkeypatch.setattr(lexicon, "files", lambda _package: tmp_path)
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
