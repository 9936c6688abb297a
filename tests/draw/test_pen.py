"""Text on a page: it fits, and every character of it can be drawn."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlens.draw.pen import Pen, fonts, mixed

PEN = Pen(fonts(set()))


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec=None), max_size=60), st.floats(15, 120))
def test_clipped_text_fits_whatever_it_is(text, width):
    shown = PEN.clipped(text, width)
    assert PEN.width(shown) <= width
    assert {ord(c) for c in shown} <= PEN.known


@pytest.mark.slow
def test_only_what_does_not_fit_is_clipped():
    assert PEN.clipped("said", 60) == "said"
    long = PEN.clipped("internationalisation", 40)
    assert long.endswith("…")
    assert long.startswith("inter")
    assert PEN.width(PEN.clipped("m" * 100_000, 40)) <= 40


def test_a_page_without_odd_characters_has_the_one_font():
    assert fonts(set("said …")) == ["DejaVu Sans"]


def test_characters_that_no_font_has_are_shown_as_missing():
    assert PEN.shown("a\U0001f9ff") == "a\ufffd"
    assert fonts({"\U0010ffff"}) == ["DejaVu Sans"]


def test_hatching_stays_inside_its_rectangle():
    pen = Pen([])
    pen.hatch(10, 20, 12, 26, "#777777")
    points = [point for stroke in pen.strokes for point in stroke]
    assert len(pen.strokes) > 5
    assert all(9.99 <= x <= 22.01 and 19.99 <= y <= 46.01 for x, y in points)
    assert all((x2 - x1) == pytest.approx(y1 - y2) for (x1, y1), (x2, y2) in pen.strokes)


@pytest.mark.parametrize(("share", "colour"), [(1, "#009e73"), (0, "#ffffff"), (0.5, "#80ceb9")])
def test_mixing(share, colour):
    assert mixed("#009e73", share) == colour
