"""Text for people: as wide as a terminal draws it, with nothing a terminal would obey."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.draw.printable import clip, printable, tail, width_of


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("said", 4),
        ("日本語", 6),
        ("ｗｉｄｅ", 8),
        ("ｶﾅ", 2),
        ("e\u0301", 1),
        ("נָקֵד", 3),
        ("😀", 2),
        ("…", 1),
        ("█▌", 2),
    ],
)
def test_widths(text, columns):
    assert width_of(printable(text)) == columns


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "␛[31m"),
        ("a\tb\n", "a␉b␊"),
        ("\x7f", "␡"),
        ("\x9b31m", "\ufffd31m"),
        ("\u202eabc\u2066", "\ufffdabc\ufffd"),
        ("\u2028", "\ufffd"),
        ("\ud800", "\ufffd"),
        ("\u0301a", "\u25cc\u0301a"),
        ("👩\u200d🚀", "👩🚀"),
        ("cafe\u0301", "café"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters(codec=None)))
def test_nothing_hidden_is_left_and_doing_it_twice_changes_nothing(text):
    shown = printable(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}
    assert printable(shown) == shown


@given(st.text(), st.integers(0, 30))
def test_clipped_text_fits_and_says_that_it_was_clipped(text, width):
    shown = clip(text, width)
    assert width_of(shown) <= width
    if shown != printable(text):
        assert shown.endswith("…") or width == 0
        assert printable(text).startswith(shown[:-1])


def test_a_very_long_text_is_clipped_at_once():
    assert clip("x" * 1_000_000, 5) == "xxxx…"


def test_a_space_alone_can_be_seen():
    assert (printable(" "), printable("  "), printable("a b"), printable("")) == (
        "␣",
        "␣␣",
        "a b",
        "",
    )


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (25, "backbone.encoder.layers.{}"),
        (24, "…encoder.layers.{}"),
        (16, "…layers.{}"),
        (9, "…layers.{}"),
        (8, "…{}"),
        (2, "…{}"),
    ],
)
def test_dotted_names_are_cut_in_front(width, shown):
    def cut(name):
        return tail(name, lambda end: width_of(end) <= width)

    names = [f"backbone.encoder.layers.{k}" for k in range(3)]
    assert [cut(name) for name in names] == [shown.format(k) for k in range(3)]
    assert len({cut(name) for name in names}) == 3


def test_a_name_without_room_for_its_last_part_keeps_that_parts_end():
    assert tail("encoder.projection", lambda end: len(end) <= 6) == "…ction"
    assert tail("projection", lambda end: len(end) <= 6) == "…ction"
    assert tail("projection", lambda end: len(end) <= 1) == "…"
    assert tail("", lambda end: len(end) <= 1) == ""
