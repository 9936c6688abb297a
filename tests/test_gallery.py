"""The gallery: the pictures are those of the page, can be made, and show what is said of them."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from scripts import gallery
from tests.shown import ROOT

import rnnlens
from rnnlens.lens.lens import Lens

pytestmark = pytest.mark.slow

PAGE = gallery.PAGE.read_text(encoding="utf-8")
PROSE = " ".join(re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE).split())
LARGEST = 2_000_000  # bytes of all pictures: labels and numbers are outlines in them
CHEAP = ("memories.svg", "agreement.svg", "accuracy.png")
STARTS = {".svg": b"<?xml", ".png": b"\x89PNG"}


@pytest.fixture(scope="module")
def lens() -> Lens:
    return rnnlens.load("english-news")


def test_the_pictures_are_those_of_the_page():
    shown = [name for section in gallery.sections() for name in section.pictures]
    there = sorted(path.name for path in gallery.FOLDER.iterdir())
    assert sorted(shown) == there
    assert len(there) >= 7
    assert sum(path.stat().st_size for path in gallery.FOLDER.iterdir()) < LARGEST
    assert all(section.pictures and section.blocks for section in gallery.sections())


@pytest.mark.parametrize("name", CHEAP)
def test_a_picture_is_made_by_what_stands_below_it(name, tmp_path):
    section = next(s for s in gallery.sections() if name in s.pictures)
    section.make(tmp_path)
    plt.close("all")
    assert {path.name for path in tmp_path.iterdir()} == set(section.pictures)
    assert (tmp_path / name).read_bytes().startswith(STARTS[Path(name).suffix])


def test_every_section_writes_what_it_shows():
    for section in gallery.sections():
        text = "".join(text for _, text in section.blocks)
        assert all(re.search(rf"\b{re.escape(name)}\b", text) for name in section.pictures)
        for path in re.findall(r"^python (\S+)", text, flags=re.MULTILINE):
            assert (ROOT / path).is_file()


def sentence(picture: str) -> str:
    """The text that a picture's command gives."""
    found = [text for s in gallery.sections() if picture in s.pictures for _, text in s.blocks]
    match = re.search(r'"([^"]+)"[^"]*\b' + re.escape(picture), found[0].replace("\\\n", ""))
    assert match
    return match[1]


def test_what_is_said_of_context(lens):
    grid = lens(sentence("sentence.svg"))
    assert grid["x"][2].group == "NOUN"
    assert f"(share {grid['x'][2].share:.2f})" in PROSE
    assert {grid[kind][2].group for kind in ("s1", "c1", "h1", "l2", "s2", "c2", "h2")} == {"ADJ"}
    said = [f"{grid[kind][2].probability('first'):.0%}" for kind in ("s1", "s2", "h2")]
    assert (
        "*first* has {} there, {} in the short-term memory of layer 2 and {}".format(*said) in PROSE
    )


def test_what_is_said_of_the_long_sentence(lens):
    grid = lens(sentence("compact.svg"))
    own = [state.group for state in grid["y"]]
    agree = {kind: sum(s.group == y for s, y in zip(grid[kind], own, strict=True)) for kind in grid}
    assert f"All {len(grid.kinds)} columns" in PROSE
    near = "{}, {} and {}".format(*(agree[kind] for kind in ("s2", "c2", "h2")))
    assert f"in {near} rows" in PROSE
    assert f"the embedding *x* in {agree['x']}." in PROSE
    assert f"({agree['c1@-1']} and {agree['c2@-1']} of {len(grid)})" in PROSE


def test_what_is_said_of_the_memories(lens):
    grid = lens(sentence("memories.svg"))
    at = {kind: grid[kind][8] for kind in ("l2", "s2", "c2", "h2", "y")}
    assert [at[kind].top(1)[0][0] for kind in at] == ["are", ",", "are", "are", ","]
    assert [at[kind].group for kind in at] == ["VERB", "FUNCTION", "VERB", "VERB", "VERB"]
    said = {kind: f"{at[kind].top(1)[0][1]:.0%}" for kind in at}
    assert f"(*are* {said['l2']})" in PROSE
    labels, shares = zip(*at["s2"].top(3), strict=True)
    assert labels == (",", "'s", "of")
    assert f"({min(shares):.0%} to {max(shares):.0%})" in PROSE
    assert f"*are* with {said['c2']}; so is the output's, with {said['h2']}" in PROSE
    assert f"first, with {said['y']}" in PROSE


def test_what_is_said_of_the_current_word(lens):
    grid = lens(sentence("current.svg"), "input")
    words = [state.top(1)[0] for state in grid["h2"]]
    assert [word for word, _ in words] == grid.words
    assert f"with {int(100 * min(p for _, p in words))}% or more" in PROSE
    word, p = grid["l2"][grid.words.index("tuesday")].top(1)[0]
    assert f"says *{word}* with {p:.0%}" in PROSE


def test_what_is_said_of_the_verb(lens):
    many, one = ("are", "were", "have", "do"), ("is", "was", "has", "does")

    def last(kind: str) -> str:
        values = []
        for text in ("the dogs near the old house", "the dog near the old houses"):
            state = lens(text)[kind][-1]
            plural, singular = (sum(map(state.probability, verbs)) for verbs in (many, one))
            values.append(f"{plural / (plural + singular):.2f}")
        return " and ".join(values)

    assert f"subject's side ({last('l2')})" in PROSE
    assert f"nearer noun ({last('s2')})" in PROSE
    assert f"is the prediction ({last('y')})" in PROSE


def test_what_is_said_of_entropy(lens):
    grid = lens("in the united states , the number of people who live in poverty has grown .")
    out, long, short = (grid[kind].entropy() for kind in ("h2", "l2", "s2"))
    assert f"({out[2]:.1f} and {out[6]:.1f} bits in the output" in PROSE
    assert f"long-term memory has {long[2]:.1f} and {long[6]:.1f} bits" in PROSE
    assert f"its mean is {sum(long) / len(long):.1f} bits" in PROSE
    assert f"short-term memory {sum(short) / len(short):.1f}." in PROSE
