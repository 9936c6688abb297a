"""Patterns that split texts find what Python's own find, and say what they cannot keep."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.pieces import pattern as rules
from rnnlens.corpus.pieces.pattern import LONGEST, Pattern, UnknownPartError

PATTERNS = [
    r"\w+|[^\w\s]", r"(?i)[a-c]+|\d+(?:\.\d+)?", r"[^\W\d_]+", r"\S+", r"\b\w+\b", r"(?m)^.*$",
    r"(?s).{1,3}", "(?x) \\w+ # words\n | \\s+ ", r"a|b|\{|\||\}", r"(?a)\w+|\s", r"x*+y|a++b?",
    r"(?>a+|b)c?", r"^\w|\w$|\A\s|\d\Z", r"[\]\-a]+|[]b]", "(?i)straße|s|[k-l]", r"\B.\B",
    r"(?P<one>a)(?=b)|(?<=b)c(?!a)|(?<!c)a+?", r"[\D]{2}|[\Wa]\x41|\u00e9|\t", "a{,2}b|{x}|{}",
    "a{,}b", r"(?i)[a-z]+|σ", r"(?ai)[a-z]+|k", "(?x) a {2}b | x # two\n + | \u00a0z", r"\w*",
    "(?i)[^a-zσ]+", "(?:[^a]|[^b-b])+|.|[^c]x", "(?:a|b*)(?:c|)",
]  # fmt: skip
LETTERS = (
    "abcABCxyz019_ .,;-[]{}|\n\t\x1c\x85\u00a0\u3000éÉßſK\u212aå\u0301中あ"
    "\u0928\u094d\u093f\u0663½Ⅷ𝒜😀ﬁiIİıσςΣ\u0345ιΙ\u1fbe𐐀𐐨"
)
SIGMAS = "σςΣiİıIsSſkK\u212a"


@pytest.mark.parametrize("written", PATTERNS)
@given(text=st.text(LETTERS, max_size=30))
def test_the_same_is_found_as_by_python(written, text):
    theirs = re.compile(written)
    assert Pattern.of(theirs)(text) == [m[0] for m in theirs.finditer(text) if m[0]]


@pytest.mark.parametrize(
    ("written", "part"),
    [
        (r"(a)\1", r"\\1"), ("(?P<x>a)(?P=x)", "P=x"), ("(a)(?(1)b|c)", r"\(\?\(1\)"),
        ("a{2000}", "2000"), ("(?-i:a)", "-i:"), ("(?:a{900}){900}", "repetitions"),
        ("(?:a++b)++", "not tried again"), (f"(?i)[a-{chr(0x2000)}]", "case"),
        ("a" * (LONGEST + 1), "characters"), (r"\07", "octal"),
        (f"{'(' * 45}a{')' * 45}", "brackets"), ("|a", "empty"), (r"\w*?", "empty"),
        (r"^|a", "empty"), ("(?:a??)*", "empty"), ("(?=a)b*|a", "empty"),
        ("(?<!(?>a))b", "not tried again"),
    ],
)  # fmt: skip
def test_what_has_no_common_form_is_refused_by_name(written, part):
    with pytest.raises(UnknownPartError, match=part):
        Pattern.of(re.compile(written))
    with pytest.raises(UnknownPartError, match="bytes"):
        Pattern.of(re.compile(b"a"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "written", ["(", "a)", "[a", "[^]", "*a", "a**", "a{2}{3}", "[b-a]", "\\", r"[\w-\d", "(?<a"]
)
def test_what_is_no_pattern_is_refused(written):
    with pytest.raises(UnknownPartError):
        _ = Pattern(written).plain


@given(st.characters(), st.characters(), st.booleans(), st.data())
def test_where_case_does_not_count_the_same_is_found_as_by_python(one, other, few, data):
    flags = re.IGNORECASE | (re.ASCII if few else re.NOFLAG)
    near = st.sampled_from([c for a in (one, other) for c in (a, *a.lower(), *a.upper(), *SIGMAS)])
    text = data.draw(st.text(near, max_size=10))
    for written in (re.escape(one), f"[{re.escape(one)}b-k]+", f"[^{re.escape(other)}]"):
        theirs = re.compile(written, flags)
        assert Pattern.of(theirs)(text) == [m[0] for m in theirs.finditer(text)]


def test_every_letter_has_the_cases_that_python_takes_for_it():
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    for letter in "ikKsσςåµßǅθιﬅ\u0345\u1c80":
        theirs = re.compile(letter, re.IGNORECASE)
        assert Pattern.of(theirs)(every) == theirs.findall(every)


def in_a_browser(pattern: str, text: str) -> list[str]:
    """What `matchAll` finds: behind an empty match it goes on one further."""
    found, at = list[str](), 0
    while at <= len(text) and (match := re.compile(pattern).search(text, at)):
        found.append(match[0])
        at = match.end() + (not match[0])
    return [one for one in found if one]


@given(st.text("ab|*?+()", max_size=9), st.text("abc", max_size=6))
def test_a_pattern_that_is_kept_finds_the_same_in_a_browser(written, text):
    try:
        theirs = re.compile(written)
        ours = Pattern.of(theirs)
    except (re.error, UnknownPartError):
        return
    assert ours(text) == in_a_browser(ours.plain, text)
    assert ours(text) == [m[0] for m in theirs.finditer(text) if m[0]]


@given(st.text("()[]{}|*+?\\^$.-:=!<>PiwpsLN12,ab", max_size=20))
def test_a_strangers_pattern_is_refused_or_finds_something(written):
    for language in ("python", "tokenizers"):
        try:
            found = Pattern(written, language)("ab a1")
        except UnknownPartError:
            continue
        assert all(found)


def test_a_pattern_that_takes_ages_is_ended(monkeypatch):
    monkeypatch.setattr(rules, "_SECONDS", 0.2)
    begun = time.perf_counter()
    with pytest.raises(RnnlensError, match=r"takes longer than 0.2 s with a text of 5,001"):
        Pattern("(?:a+)+$")("a" * 5000 + "b")
    assert time.perf_counter() - begun < 30


@pytest.mark.parametrize(
    ("written", "text", "found"),
    [
        (r"\p{N}{1,3}|\p{L}+", "ab1234c", ["ab", "123", "4", "c"]),
        (r"\p{Han}+|\P{L}", "中文a!", ["中文", "!"]),
        (r"\s+(?!\S)|\s+", "a   b ", ["  ", " ", " "]),
        (r"(?i:'s|'t)|\pL", "'S's't", ["'S", "'s", "'t"]),
        (r"\w+", "a\u0301b", ["a\u0301b"]),
        (r"\x1c|\s", "\x1c ", ["\x1c", " "]),
    ],
)
def test_tokenizers_have_a_language_of_their_own(written, text, found):
    assert Pattern(written, "tokenizers")(text) == found
    for other in ("[a-z&&[^b]]", "[[:alpha:]]", r"\p{IsHan}", r"a{2}+", r"\b", "(?m)a"):
        with pytest.raises(UnknownPartError):
            _ = Pattern(other, "tokenizers").plain
