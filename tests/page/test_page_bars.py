"""Bars: labels that can be read, lengths that mean the same everywhere, type that grows."""

from itertools import chain

import pytest

OPAQUE = """(states) => states.flatMap((state) => {
  // A bar behind text is a tint: one that is not would strike through it.
  const all = (kind) => [...state.querySelectorAll(kind)];
  const boxes = all(".said, .value").map((one) => one.getBoundingClientRect());
  const upon = (a, b) => a.left < b.right && b.left < a.right
    && a.top < b.bottom && b.top < a.bottom;
  const strong = all(".bar").filter((one) => Number(getComputedStyle(one).fillOpacity) > 0.5);
  return strong.filter((one) => boxes.some((box) => upon(one.getBoundingClientRect(), box)));
})"""
OUTSIDE = """(states) => states.flatMap((state) => {
  // The letters of a label and of its number stay within the bar's own line and apart.
  const all = (kind) => [...state.querySelectorAll(kind)].map((one) => one.getBoundingClientRect());
  const tracks = all(".track"), said = all(".said"), values = all(".value");
  return said.filter((label, k) => label.right > (values[k]?.left ?? tracks[k].right) + 0.5
    || label.top + label.height * 0.15 < tracks[k].top - 0.5
    || label.top + label.height * 0.8 > tracks[k].bottom + 0.5).map((one) => one.toJSON());
})"""
LENGTHS = """(places) => places.map((place) => {
  const width = (one) => one.getBoundingClientRect().width;
  return [".bar", ".track"].map((kind) => [...place.querySelectorAll(kind)].map(width));
})"""
TEXT = "#text=the+old+dog+sees+a+bird+."


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (1000, 700)])
def test_no_bar_strikes_through_a_label_and_no_label_leaves_its_line(look, size):
    screen = look(TEXT, viewport={"width": size[0], "height": size[1]})
    screen.drawn(7)
    states = screen.find(".row .state")
    assert states.evaluate_all(OPAQUE) == []
    assert states.evaluate_all(OUTSIDE) == []


def test_a_length_is_a_probability_in_grid_panel_and_pins(look):
    screen = look(f"{TEXT}&at=h2:3&pin=c2:2//the+old")
    screen.drawn(7)
    grid = screen.ask("api/grid", {"text": "the old dog sees a bird .", "limit": 100})
    columns = [column["id"] for column in grid["columns"]]
    shown = [k for k, column in enumerate(grid["columns"]) if column["shown"]]
    drawn = screen.find(".row .state").evaluate_all(LENGTHS)
    states = [row[k] for row in grid["rows"] for k in shown]
    told = [(drawn, states, 3)]
    lists = screen.find(".detail svg[role=img]:has(.track)").evaluate_all(LENGTHS)
    panel = [[*chain(*parts)] for parts in zip(*lists, strict=True)]  # the first, and the others
    told.append(([panel], [grid["rows"][2][columns.index("h2")]], 20))
    card = screen.find(".pinned svg").evaluate_all(LENGTHS)
    told.append((card, [grid["rows"][1][columns.index("c2")]], 4))
    for places, encodings, most in told:
        assert len(places) == len(encodings)
        for (bars, tracks), state in zip(places, encodings, strict=True):
            assert len(set(tracks)) == (0 if state["unread"] else 1)
            if state["unread"]:
                continue
            expected = [max(1, p**0.5 * tracks[0]) for _, p in state["top"][:most]]
            assert bars == pytest.approx(expected, abs=0.02)


@pytest.mark.release
def test_type_and_rows_grow_into_the_space_there_is(look):
    sizes = {}
    for width, height in [(1280, 720), (1920, 1080)]:
        screen = look(TEXT, viewport={"width": width, "height": height})
        screen.drawn(7)
        label = screen.find(".row .said").first.evaluate("one => getComputedStyle(one).fontSize")
        row, place = (screen.find(one).last.bounding_box() for one in (".row", ".scroller"))
        used = (row["y"] + row["height"] - place["y"]) / place["height"]
        sizes[width] = float(label.removesuffix("px"))
        assert used > 0.55
        assert screen.find(".row .state svg .value").count() == 7 * 10 * 3
    assert sizes[1280] >= 10.5
    assert sizes[1920] >= 13
