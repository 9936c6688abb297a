"""Bars: labels that can be read, lengths that mean the same everywhere, type that grows."""

import pytest

OVERLAP = """(states) => states.flatMap((state) => {
  const all = (kind) => [...state.querySelectorAll(kind)].map((one) => one.getBoundingClientRect());
  // A line of text is taller than its letters: those end at three quarters of it.
  const letters = all(".said").map(({ top, height }) => [top + height * 0.15, top + height * 0.76]);
  const upon = (bar, [top, bottom]) => top < bar.bottom - 0.5 && bar.top < bottom - 0.5;
  return all(".bar").flatMap((bar) => letters.filter((label) => upon(bar, label)));
})"""
LENGTHS = """(places) => places.map((place) => {
  const width = (one) => one.getBoundingClientRect().width;
  return [".bar", ".track"].map((kind) => [...place.querySelectorAll(kind)].map(width));
})"""
TEXT = "#text=the+old+dog+sees+a+bird+."


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (1000, 700)])
def test_no_bar_lies_on_a_label(look, size):
    screen = look(TEXT, viewport={"width": size[0], "height": size[1]})
    screen.drawn(7)
    assert screen.find(".row .state").evaluate_all(OVERLAP) == []


def test_a_length_is_a_probability_in_grid_panel_and_pins(look):
    screen = look(f"{TEXT}&at=h2:3&pin=c2:2//the+old")
    screen.drawn(7)
    grid = screen.ask("api/grid", {"text": "the old dog sees a bird .", "limit": 100})
    columns = [column["id"] for column in grid["columns"]]
    shown = [k for k, column in enumerate(grid["columns"]) if column["shown"]]
    drawn = screen.find(".row .state").evaluate_all(LENGTHS)
    states = [row[k] for row in grid["rows"] for k in shown]
    told = [(drawn, states, 3)]
    panel = screen.find(".detail > svg").evaluate_all(LENGTHS)
    told.append((panel, [grid["rows"][2][columns.index("h2")]], 20))
    card = screen.find(".pinned svg").evaluate_all(LENGTHS)
    told.append((card, [grid["rows"][1][columns.index("c2")]], 4))
    for places, encodings, most in told:
        assert len(places) == len(encodings)
        for (bars, tracks), state in zip(places, encodings, strict=True):
            assert len(set(tracks)) == (0 if state["unread"] else 1)
            if state["unread"]:
                continue
            expected = [max(1, p * tracks[0]) for _, p in state["top"][:most]]
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
        values = screen.find(".row .state svg .soft").count()
        assert (values > 0) == (width == 1920)
    assert sizes[1280] >= 10.5
    assert sizes[1920] >= 13
