"""The figure: all the grid is in it, each thing in its place, the same bytes each time."""

import itertools
import math
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from html import unescape
from typing import Any

import matplotlib as mpl
import pytest
from tests.sampling import sampled

from rnnlens.base.errors import RnnlensError
from rnnlens.draw import figure
from rnnlens.draw.look import Look
from rnnlens.draw.pen import Pen, fonts, mixed

GROUPS = {"NOUN": "#009e73", "VERB": "#cc79a7", "OTHER": "#f0e442"}
KINDS = [
    ("x", 0, 0, "x"),
    ("c1", 1, 1, "c"),
    ("g1", 1, 0, "c\u0303"),
    ("h1", 1, 0, "h"),
    ("y", 2, 0, "y"),
]
ODD = "שלום $x^2$ 日本語 😀 <b>&-- \x1b[31m a\u0301\u0302 \\frac العربية".split(" ")
ODD.append("x" * 5000)


def grid(
    words: list[str], labels: tuple[str, ...] = ("said", "added", "told", "is")
) -> dict[str, Any]:
    """Every state has a colour of its own."""
    columns: list[dict[str, Any]] = [
        {"id": f"{kind}@-1" if back else kind, "kind": kind, "letter": kind[0], "back": back,
         "layer": layer, "reverse": False,
         "name": "previous cell" if back else "long-term memory", "symbol": symbol, "shown": True,
         "sources": []}
        for kind, layer, back, symbol in KINDS
    ]  # fmt: skip

    def state(t: int, k: int) -> dict[str, Any]:
        turned = labels[k % len(labels) :] + labels[: k % len(labels)]
        return {
            "colour": f"#{128 + t % 120:02x}{40 * k:02x}a1", "group": "NOUN", "share": 0.5,
            "unread": False,
            "top": [[label, 0.5 / 2**n] for n, label in enumerate(turned)],
        }  # fmt: skip

    return {
        "title": "news", "text": " ".join(words), "semantic": "output", "groups": GROUPS,
        "columns": columns, "labels": dict.fromkeys(labels, "VERB"),
        "words": [{"text": word, "unknown": word in ODD, "group": "NOUN"} for word in words],
        "rows": [[state(t, k) for k in range(len(columns))] for t in range(len(words))],
    }  # fmt: skip


PLAIN = grid(["we", "stand", "."])


def svg(found: dict[str, Any] = PLAIN, **how: Any) -> str:
    return figure.draw(found, Look(**{"kinds": "all", **how}), ".svg").data.decode()


def said(text: str) -> list[str]:
    """What an SVG's outlines spell: matplotlib notes it before each."""
    return [unescape(found).replace("- -", "--") for found in re.findall(r"<!-- (.*?) -->", text)]


@pytest.mark.parametrize("bars", [1, 3])
def test_it_holds_every_label_word_and_colour(bars):
    text = svg(bars=bars)
    ET.fromstring(text)
    spelled = said(text)
    for row, word in zip(PLAIN["rows"], PLAIN["words"], strict=True):
        assert word["text"] in spelled
        for state in row:
            assert f"fill: {state['colour']}" in text
            for label, _ in state["top"][:bars]:
                assert label in spelled
    shown = sum(spelled.count(label) for label in PLAIN["labels"])
    assert shown == len(PLAIN["words"]) * len(KINDS) * bars
    assert {"noun", "verb", "other", "faded = groups mixed", "layer 1", "model"} <= set(spelled)


def test_compact_has_the_rectangles_only():
    text = svg(density="compact")
    assert all(f"fill: {state['colour']}" in text for row in PLAIN["rows"] for state in row)
    assert not set(PLAIN["labels"]) & set(said(text))
    assert "long-term memory" in said(text)


def test_only_the_columns_asked_for_are_drawn():
    text = svg(kinds=["x", "h1"])
    for row in PLAIN["rows"]:
        drawn = [f"fill: {state['colour']}" in text for state in row]
        assert drawn == [True, False, False, True, False]


def test_symbols_are_mathematics_with_layer_and_time():
    assert {"$x_{t}$", "$c^{1}_{t{-}1}$", r"$\tilde{c}^{1}_{t}$", "$h^{1}_{t}$", "$y_{t}$"} <= set(
        said(svg(symbols=True))
    )
    both = said(svg())
    assert {"$x$", "$c_{t{-}1}$", "previous cell", "long-term"} <= set(both)  # as much as fits


@pytest.mark.slow
def test_a_module_of_any_name_heads_its_column():
    found = grid(["we"])
    found["columns"][0] |= {"letter": "", "symbol": "encoder.$layers$", "name": "encoder.$layers$"}
    assert "…$layers$" in said(svg(found))


@pytest.mark.parametrize("symbols", [False, True])
def test_long_paths_are_cut_in_front_and_told_once(symbols):
    found = grid(["we"])
    for k in range(3):
        path = f"backbone.encoder.layers.{k}"
        found["columns"][k] |= {"letter": "", "symbol": path, "name": path}
    headings = [text for text in said(svg(found, symbols=symbols)) if "." in text]
    assert headings == ["…layers.0", "…layers.1", "…layers.2"]
    whole = said(svg(found, density="compact"))
    assert "backbone.encoder.layers.1" in whole  # upright there is room
    assert "…1" in said(svg(found, density="compact", symbols=True))


def test_a_module_called_by_a_letter_is_no_mathematics():
    found = grid(["we"])
    found["columns"][0] |= {"letter": "", "symbol": "x", "name": "x"}
    assert "x" in said(svg(found, symbols=True))


@pytest.mark.slow
def test_a_title_only_if_asked():
    assert "What it says" in said(svg(title="What it says"))
    assert "news" not in said(svg())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "density"),
    sampled(
        zip(figure.ENDINGS, ["bars", "compact", "bars"], strict=True),
        (figure.ENDINGS[1], "compact"),
    ),
)
def test_odd_words_and_labels_are_drawn_without_a_warning(ending, density):
    found = grid(ODD, tuple(ODD))
    assert figure.draw(found, Look("all", density=density, title=ODD[0]), ending).data
    assert "italic = unknown word" in said(svg(found))
    ET.fromstring(svg(found))
    assert "$x^2$" in said(svg(found))  # as it is, not as mathematics


def test_labels_never_reach_the_next_column(monkeypatch):
    drawn: list[tuple[float, float, str]] = []
    place = Pen.text

    def watched(pen: Pen, x: float, y: float, text: str, *size: float, **how: Any) -> None:
        drawn.append((x, y, text))
        place(pen, x, y, text, *size, **how)

    monkeypatch.setattr(Pen, "text", watched)
    long = grid(["we"], ("internationalisation", "WWWWWWWWWWWWWWWWWW", "said"))
    for width in (None, 3.0, 12.0):
        drawn.clear()
        svg(long, width=width)
        pen = Pen(fonts(set()))
        labels = [(x, text) for x, _, text in drawn if text[:2] in ("in", "WW")]
        starts = sorted({x for x, _ in labels})
        assert len(starts) == len(KINDS)
        for x, text in labels:
            after = [start for start in starts if start > x]
            assert not after or x + pen.width(text) < after[0] - 14  # the next one's rectangle


@pytest.mark.parametrize("width", sampled([3.0, 7.5, 20.0], 7.5))
def test_a_png_is_as_wide_as_asked(width):
    made = figure.draw(PLAIN, Look("all", width=width), ".png").data
    wide, high = struct.unpack(">II", made[16:24])
    assert wide == round(width * figure.DOTS)
    assert 0 < high < wide


@pytest.mark.slow
def test_sizes_follow_the_grid():
    def size(words: int, **how: Any) -> tuple[float, float]:
        root = ET.fromstring(svg(grid(["we"] * words), **how))
        return float(root.attrib["width"][:-2]), float(root.attrib["height"][:-2])

    one, more = size(1), size(9)
    assert one[1] < more[1]
    assert size(9, kinds="x")[0] < more[0]
    assert size(9, density="compact")[0] < more[0]
    assert size(9, bars=1)[1] < more[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "words", "width", "instead"),
    [(".pdf", 1200, None, ".html"), (".svg", 1200, None, ".html"), (".png", 200, 90, ".pdf")],
)
def test_a_figure_that_no_page_holds_is_refused(ending, words, width, instead):
    message = rf"{words} words make a figure of \d+ by \d+ inches, .*{instead}$"
    with pytest.raises(RnnlensError, match=message):
        figure.draw(grid(["we"] * words), Look("h1,y", bars=1, width=width), ending)


@pytest.mark.slow
def test_a_pdf_embeds_its_fonts():
    made = figure.draw(PLAIN, Look("all", symbols=True), ".pdf").data
    assert made.startswith(b"%PDF-")
    assert b"/FontFile2" in made  # TrueType, embedded
    assert b"/Type3" not in made
    assert b"CreationDate" not in made
    names = {name.split(b"+")[-1] for name in re.findall(rb"/BaseFont /([\w+-]+)", made)}
    assert names >= {b"DejaVuSans", b"DejaVuSans-Bold", b"STIXGeneral-Italic"}


def test_a_png_says_nothing_of_the_day_or_the_machine():
    made = figure.draw(PLAIN, Look("all"), ".png").data
    assert made.startswith(b"\x89PNG")
    assert made.count(b"tEXt") == 1
    assert b"Software\x00rnnlens" in made
    assert zlib.crc32(b"IEND").to_bytes(4, "big") == made[-4:]


@pytest.mark.slow
@pytest.mark.parametrize("ending", sampled(figure.ENDINGS, ".svg"))
def test_the_same_grid_gives_the_same_bytes(ending):
    first = figure.draw(PLAIN, Look("all"), ending)
    with mpl.rc_context({"font.size": 20, "savefig.dpi": 50, "savefig.bbox": "tight"}):
        assert figure.draw(PLAIN, Look("all"), ending) == first  # whatever the user's settings
        assert mpl.rcParams["font.size"] == 20


def test_bars_lie_behind_their_labels_on_tracks_that_are_100_percent_long(monkeypatch):
    boxes: list[tuple[float, float, float, str]] = []
    texts: dict[tuple[float, float], str] = {}
    place, write = Pen.box, Pen.text

    def boxed(pen: Pen, x: float, y: float, wide: float, high: float, *fill: str) -> None:
        boxes.append((x, y, wide, fill[0]))
        place(pen, x, y, wide, high, *fill)

    def written(pen: Pen, x: float, y: float, text: str, *size: float, **how: Any) -> None:
        texts[x, y] = text
        write(pen, x, y, text, *size, **how)

    monkeypatch.setattr(Pen, "box", boxed)
    monkeypatch.setattr(Pen, "text", written)
    for width in (None, 3.0, 12.0):
        boxes.clear()
        svg(width=width)
        top = [p for row in PLAIN["rows"] for state in row for _, p in state["top"][:3]]
        pairs = [(a, b) for a, b in itertools.pairwise(boxes) if a[:2] == b[:2]]
        assert len({track[2] for track, _ in pairs}) == 1
        for p, (track, bar) in zip(top, pairs, strict=True):
            assert bar[2] == pytest.approx(math.sqrt(p) * track[2])
            assert bar[3] == mixed(GROUPS["VERB"], 0.38)
            assert any(0 < x - bar[0] < 3 and 5 < y - bar[1] < 8 for x, y in texts)


def test_signs_and_placeholders_are_called_by_name_where_that_fits():
    found = grid(["we"], ("said", ",", "UNK", "NUM")) | {"placeholders": {"UNK": "rare word"}}
    spelled = said(svg(found, bars=4))
    assert {"said", "comma", "rare word", "NUM", "50", "25", "12", "6"} <= set(spelled)
    assert "bar = √probability, numbers in %" in spelled
    narrow = said(svg(found, bars=4, width=2.6))
    assert {",", "UNK", "bar = √probability"} <= set(narrow)
    assert "comma" not in narrow
