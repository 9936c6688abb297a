"""Room: the panel folds, the prediction stays in sight, and what is undecided stands back."""

import pytest
from playwright.sync_api import expect
from tests.sampling import sampled

TEXT = "the old dog sees a bird ."
LINK = f"#text={TEXT.replace(' ', '+')}"


@pytest.mark.release
def test_the_panel_folds_and_the_grid_takes_its_place(look):
    screen = look(f"{LINK}&at=c2:3")
    screen.drawn(7)
    before = screen.find(".scroller").bounding_box()["width"]
    screen.page.click(".fold")
    expect(screen.find(".detail")).to_be_hidden()
    assert screen.find(".scroller").bounding_box()["width"] > before + 150
    fold = screen.page.get_by_role("button", name="unfold the panel")
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.click()
    expect(screen.find(".detail")).to_be_visible()
    assert screen.find(".scroller").bounding_box()["width"] == before


def test_the_prediction_stays_in_sight_where_columns_are_many(look):
    screen = look(f"{LINK}&kinds=all", viewport={"width": 1000, "height": 700})
    screen.drawn(7)
    window = screen.find(".scroller").bounding_box()
    for scrolled in (0, 300, 5000):
        screen.find(".scroller").evaluate("(one, left) => { one.scrollLeft = left; }", scrolled)
        screen.page.wait_for_timeout(100)
        mark = screen.state(2, "prediction").locator(".mark").bounding_box()
        head = screen.find(".head g[role=columnheader]").last.bounding_box()
        for box in (mark, head):
            assert window["x"] < box["x"]
            assert box["x"] + box["width"] <= window["x"] + window["width"]
        screen.page.mouse.click(mark["x"] + 4, mark["y"] + 4)
        expect(screen.find(".panel h2")).to_have_text("prediction, after “dog”")
        ring = screen.find(".ring.focus").bounding_box()
        assert ring["x"] < mark["x"] < ring["x"] + ring["width"]
    screen.page.focus(".scroller")
    screen.page.keyboard.press("Home")
    for _ in range(14):  # into the columns beside it, which it does not cover
        screen.page.keyboard.press("ArrowRight")
        mark = screen.state(2, "prediction").locator(".mark").bounding_box()
        ring = screen.find(".ring.focus").bounding_box()
        assert ring["x"] + ring["width"] <= mark["x"] + 4


LIGHT = """(marks) => marks.map((mark) => {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = getComputedStyle(mark).fill.replace(/^color\\(srgb (.*)\\)$/, (_, all) =>
    `rgb(${all.split(" ").map((one) => Math.round(one * 255)).join()})`);
  const [r, g, b] = context.fillStyle.match(/\\w\\w/g).map((one) => parseInt(one, 16));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
})"""


@pytest.mark.parametrize("scheme", sampled(["light", "dark"], "dark"))
def test_the_less_a_group_dominates_the_nearer_its_colour_is_to_the_ground(look, scheme):
    screen = look(LINK, color_scheme=scheme)
    screen.drawn(7)
    grid = screen.ask("api/grid", {"text": TEXT, "limit": 100})
    shown = [k for k, column in enumerate(grid["columns"]) if column["shown"]]
    states = [row[k] for row in grid["rows"] for k in shown if not row[k]["unread"]]
    lights = screen.find(".row .state:not(:has(.hatch)) .mark").evaluate_all(LIGHT)
    assert len(lights) == len(states)
    for group in {state["group"] for state in states}:
        pairs = zip(states, lights, strict=True)
        found = sorted((s["share"], light) for s, light in pairs if s["group"] == group)
        least, most = found[0], found[-1]
        if most[0] - least[0] > 0.1 and group != "ADJ":  # blue is as dark as the ground
            assert (least[1] > most[1]) == (scheme == "light")


@pytest.mark.release
def test_a_word_that_is_being_typed_is_no_unknown_word_yet(look):
    screen = look("#text=the")
    screen.drawn(1)
    screen.page.focus("#text")
    screen.page.keyboard.press("Control+End")
    screen.page.keyboard.type(" teac")
    screen.drawn(2)
    assert screen.words() == ["the", "teac, not finished"]
    expect(screen.find(".row.unfinished")).to_have_count(1)
    expect(screen.find(".row .unknown")).to_have_count(0)
    screen.page.keyboard.type(" ")
    expect(screen.find(".row.unfinished")).to_have_count(0)
    assert screen.words() == ["the", "teac, unknown word"]
    screen.page.keyboard.press("Backspace")
    expect(screen.find(".row.unfinished")).to_have_count(1)
    screen.page.focus(".scroller")  # whoever leaves the field is done
    expect(screen.find(".row.unfinished")).to_have_count(0)
    expect(screen.find(".row .unknown")).to_have_text(["teac"])
