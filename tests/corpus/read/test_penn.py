import subprocess
import sys
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer

from rnnlens.corpus.read.penn import penn_words

NLTK = NLTKWordTokenizer()
#: What the rules look at, beside letters that two packages of patterns take for different ones.
PARTS = [
    *"""«“‘„`"'.,:;@#$%&–—-?!*[](){}<>»”’aAsStTmMdDnN19٣éßſıİ\u212a\u0301\u200d_…""",
    *"n't N'T 'll 'RE 've 'tis 'twas wanna gonna cannot d'ye more'n GIMME lemme gotta".split(),
    *("..", "--", "''", "``", "dog", "g\u0131mme"),
]


@pytest.mark.parametrize(
    ("piece", "words"),
    [
        ("can't", "ca n't"),
        ("dogs'", "dogs '"),
        ('"Who?"', "`` Who ? ''"),
        ("('Tis)", "( ' Tis )"),
        ("$3.5,", "$ 3.5 ,"),
        ("1,000:2", "1,000:2"),
        ("a:b", "a : b"),
        ("etc.).", "etc. ) ."),
        ("U.S.", "U.S ."),
        ("wait...what", "wait ... what"),
        ("cannot", "can not"),
        ("gonna", "gon na"),
        ("wanna", "wan na"),
        ("she'll've", "she'll 've"),
        ("'s", "'s"),
        ("a's'!", "a 's ' !"),
        ("", ""),
    ],
)
def test_words_of_a_piece(piece, words):
    assert " ".join(penn_words(piece)) == words


@pytest.mark.slow
def test_any_two_signs_are_taken_apart_as_nltk_does():
    for first, second in product(PARTS, repeat=2):
        for piece in (first + second, f"a{first}{second}", f"a{first}b{second}c"):
            assert penn_words(piece) == NLTK.tokenize(piece)


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
@example(".)]»” " * 3)
def test_many_signs_are_taken_apart_as_nltk_does(text):
    for piece in text.split():
        assert penn_words(piece) == NLTK.tokenize(piece)


@given(st.text(max_size=12))
def test_any_letters_are_taken_apart_as_nltk_does(text):
    for piece in text.split():
        assert penn_words(piece) == NLTK.tokenize(piece)


@pytest.mark.timeout(30)  # a rule that went back over what it has read would take many minutes
@pytest.mark.parametrize("sign", [".)", ".", "'", '"', "``", "(", "a.", ")", "\xab"])
def test_a_piece_of_very_many_letters_is_taken_apart_letter_by_letter(sign):
    assert "".join(penn_words(sign * 200_000))


@pytest.mark.slow
def test_a_typed_apostrophe_does_not_import_nltk():
    code = (
        "import sys; from rnnlens.corpus.read.plain_text import words_of; "
        'assert words_of("I can\'t.", set().__contains__) == ("I", "ca", "n\'t", "."); '
        "assert 'nltk' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
