"""Two texts in one field."""

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.reading.two_texts import escaped, in_one, plain, two_texts

WORDS = {"the", "{", "}"}


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("the keys {is|are} here", "the keys is here", "the keys are here"),
        ("the {key|keys} {is|are}", "the key is", "the keys are"),
        ("the {old|} man", "the old man", "the man"),
        ("{|so} it is", "it is", "so it is"),
        ("it is {so|}", "it is so", "it is "),
        ("the key{|s} here", "the key here", "the keys here"),
        ("{ is | was }", "is", "was"),
        ("the {same|same} words", "the same words", "the same words"),
    ],
)
def test_alternatives_make_two_texts(text, first, second):
    assert two_texts(text, {"the"}) == (first, second)
    assert two_texts(text, WORDS) == (first, second)


def test_braces_behind_backslashes_are_the_text_s_own():
    for text in ("the {a|b} keys", "{", "a } b", r"\{x", "none"):
        written = escaped(text, {"the"})
        assert two_texts(written, {"the"}) is None
        assert plain(written, {"the"}) == text
    assert two_texts(r"\{a\} {is|are\}}", {"the"}) == (r"\{a\} is", r"\{a\} are\}")
    code = {"{", "|"}  # which reads them as words, and backslashes too
    for text in ("{ a | b }", r"\{a", "{a|b}", r"\\{a|b}", r"\{a|b\}{c|}{", "{a||b}"):
        written = escaped(text, code)
        assert two_texts(written, code) is None
        assert plain(written, code) == text
    assert escaped("{a|b} { a | b }", code) == r"\{a|b\} { a | b }"
    assert plain(r"\{a", code) == r"\{a"
    assert in_one([("{", "{"), ("a", "b}")]) == r"\{ {a|b\}}"


@pytest.mark.parametrize("text", ["the keys", "a | b", ""])
def test_a_text_without_braces_is_one(text):
    assert two_texts(text, {"the"}) is None


def test_braces_that_a_model_reads_as_words_are_words():
    assert two_texts("if { the } and { the", WORDS) is None
    assert two_texts("{ the } {is|are}", WORDS) == ("{ the } is", "{ the } are")


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("x {a|b} {", ("x a {", "x b {")),
        ("{|b}{", ("{", "b{")),
        ("{ a | b }", None),
        ("{a||b}", None),
        ("{a|b }", None),
        ("{|}", None),
        ("if{a}else{b", None),
        (r"\{a|b\}", None),
    ],
)
def test_a_vocabulary_with_braces_and_bars_reads_all_but_tight_alternatives(text, pair):
    assert two_texts(text, {"{", "|", "}", "a"}) == pair


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the {is} here", r"^'\{is\}' has no bar in it; two alternatives are written \{is\|are\}$"),
        ("the {is|are", r"^the brace in '\{is\|are' is not closed; two alternatives"),
        ("the is|are} x", r"^the brace in 'the is\|are\}' was not opened; two alternatives"),
        ("{a|b|c}", r"^'\{a\|b\|c\}' has 3 alternatives, and two are compared; leave 1 out$"),
        ("the {|} x", r"^'\{\|\}' has two empty alternatives; "),
        ("{a{b|c}|d}", "is not closed"),
        ("the { here", "is not closed"),
        ("{" + "very " * 40, "^the brace in '.{30}…' is not closed"),
    ],
)
def test_what_is_no_pair_is_refused_in_one_line(text, said):
    with pytest.raises(RnnlensError, match=said):
        two_texts(text, {"the"})


def test_two_texts_are_written_as_one_again():
    words = [("the", "the"), ("old", None), ("man", "man"), ("was", "is"), (None, "now")]
    text = in_one(words)
    assert text == "the {old|} man {was|is now}"
    assert two_texts(text, ()) == ("the old man was", "the man is now")
