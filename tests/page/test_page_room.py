"""Room: the panel folds or comes from below, the prediction and rows stay in sight, and what is
undecided stands back."""

import re
import shutil

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


def ring_of(screen):
    """Where the selected state is ringed; asked for at once, since rings are drawn anew."""
    find = "document.querySelector('.ring.focus')"
    screen.page.wait_for_function(find)
    return screen.page.evaluate(f"{find}.getBoundingClientRect().toJSON()")


@pytest.mark.release
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
        ring = ring_of(screen)
        assert ring["x"] < mark["x"] < ring["x"] + ring["width"]
    screen.page.focus(".scroller")
    screen.page.keyboard.press("Home")
    for _ in range(14):  # into the columns beside it, which it does not cover
        screen.page.keyboard.press("ArrowRight")
        mark = screen.state(2, "prediction").locator(".mark").bounding_box()
        ring = ring_of(screen)
        assert ring["x"] + ring["width"] <= mark["x"] + 4


LONG = "`` the old teacher follows the birds , '' she said . the dog sees a small bird and the cat"
PHONES = {"390": (390, 844), "320": (320, 568)}
OPENED = "button, summary, select, [role=tab], .strip input, .sheet label"
SMALL = """(all) => all.filter((one) => one.checkVisibility()).flatMap((one) => {
  const { width, height } = one.getBoundingClientRect();
  return Math.min(width, height) < 39.9 ? [`${one.outerHTML.slice(0, 90)} ${width}x${height}`] : [];
})"""
WHOLE = """(scroller) => {
  const box = scroller.getBoundingClientRect(), head = scroller.querySelector(".head");
  const top = head.getBoundingClientRect().bottom, bottom = Math.min(box.bottom, innerHeight);
  return [...scroller.querySelectorAll(".row .states")].map((one) => one.getBoundingClientRect())
    .filter((row) => row.top >= top && row.bottom - 4 <= bottom).length; // the last 4 px are empty
}"""
SCROLLS = """() => [document.documentElement.scrollWidth > innerWidth,
  document.documentElement.scrollHeight > innerHeight]"""
OVERLAP = """(names) => {
  const there = names.map((name) => document.querySelector(name));
  const seen = there.filter((one) => one?.checkVisibility());
  const boxes = seen.map((one) => one.getBoundingClientRect());
  return boxes.some((a, k) => boxes.slice(k + 1).some((b) => a.left < b.right - 1
    && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
}"""
PLACES = [".top", ".typing", ".legend", ".strip", ".gridplace", ".panel", ".comparison"]


def phone(look, view, size):
    """The page as a phone shows it."""
    width, height = size
    shown = {"viewport": {"width": width, "height": height}, "has_touch": True, "is_mobile": True}
    return look(view, **shown)


def in_sight(screen):
    """Whether the selected state stands in the grid, above the panel."""
    expect(screen.find(".ring.focus")).to_be_visible()
    ring = ring_of(screen)
    place, head = (screen.find(one).bounding_box() for one in (".gridplace", ".head"))
    return (
        ring["y"] >= head["y"] + head["height"] - 4
        and ring["y"] + ring["height"] <= place["y"] + place["height"] + 1
        and not screen.page.evaluate(OVERLAP, PLACES)
    )


def test_on_a_phone_the_list_of_networks_is_in_sight(look, probed_run, tmp_path, server):
    other = shutil.copytree(probed_run, tmp_path / "other")
    with server(probed_run, other) as address:
        shown = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
        screen = look("#text=the+old+dog", at=address, **shown)
        screen.drawn(3)
        box = screen.page.get_by_label("run", exact=True).bounding_box()
        assert 0 <= box["x"] < 30
        assert box["x"] + box["width"] < 390 / 2
        assert screen.page.evaluate(SCROLLS) == [False, False]
        screen.page.get_by_label("run", exact=True).select_option("other")
        expect(screen.page).to_have_url(re.compile("run=other"))
        screen.settled()
        screen.page.goto("about:blank")  # which asks no server that is gone


@pytest.mark.parametrize("size", sampled(PHONES, "390"))
def test_on_a_phone_a_tap_brings_up_a_sheet_below_what_is_selected(look, size):
    screen = phone(look, f"#text={LONG.replace(' ', '+')}", PHONES[size])
    screen.drawn(len(LONG.split()))
    page, panel = screen.page, screen.find(".panel")
    expect(panel).to_be_hidden()
    assert page.evaluate(SCROLLS) == [False, False]
    grid = screen.find(".gridplace").bounding_box()
    if size == "390":
        assert grid["y"] <= 0.2 * 844  # 40% were controls, text and their explanation before
    whole = screen.find(".scroller").evaluate(WHOLE)
    mark = screen.find(".row").nth(whole - 1).locator(".mark").nth(1).bounding_box()
    page.touchscreen.tap(mark["x"] + 5, mark["y"] + 5)  # where the sheet comes to be
    expect(panel.locator("h2").first).to_have_text(re.compile("after “"))
    assert mark["y"] > panel.bounding_box()["y"]
    assert in_sight(screen)
    expect(screen.find(".hovercard")).to_be_hidden()
    for tab in screen.find("[role=tab]").all():
        tab.tap()
        assert screen.find(OPENED).evaluate_all(SMALL) == []
    page.keyboard.press("Escape")  # back to what it says
    page.get_by_role("button", name="Change").tap()
    assert screen.find(OPENED).evaluate_all(SMALL) == []
    assert in_sight(screen)
    page.keyboard.press("Escape")
    check_sheet(screen)
    for name in ("examples", "parts", "display", "save"):
        page.tap(f".menu summary:has-text('{name}')")
        assert screen.find(OPENED).evaluate_all(SMALL) == []
        assert page.evaluate(SCROLLS) == [False, False]
        page.keyboard.press("Escape")


def check_sheet(screen):
    """It is drawn up and down, folded, unfolded and closed."""
    page, panel = screen.page, screen.find(".panel")
    high = panel.bounding_box()

    def draw(way):
        box = panel.bounding_box()
        page.mouse.move(60, box["y"] + 14)
        page.mouse.down()
        page.mouse.move(60, box["y"] + 14 + way / 2)
        page.mouse.move(60, box["y"] + 14 + way)
        page.mouse.up()

    draw(-60)
    assert panel.bounding_box()["y"] == pytest.approx(high["y"] - 60, abs=2)
    assert in_sight(screen)
    draw(600)
    expect(page.get_by_role("button", name="unfold the panel")).to_be_visible()
    assert panel.bounding_box()["height"] < 60
    expect(panel.locator("h2").first).to_be_visible()
    draw(0)  # a tap
    expect(page.get_by_role("button", name="fold the panel", exact=True)).to_be_visible()
    assert panel.bounding_box()["height"] == pytest.approx(high["height"], abs=2)
    page.get_by_role("button", name="close the panel").tap()
    expect(panel).to_be_hidden()
    expect(screen.find(".ring.focus")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("at="))
    step = page.evaluate("history.state.step")
    for close in (page.go_back, lambda: page.keyboard.press("Escape")):
        screen.find(".row").nth(1).locator(".mark").nth(1).tap()
        expect(panel).to_be_visible()
        assert page.evaluate("history.state.step") == step + 1
        close()
        expect(panel).to_be_hidden()
        page.wait_for_function(f"history.state.step === {step}")  # and it is the page still


@pytest.mark.release
@pytest.mark.parametrize(("width", "height"), sampled([(720, 450), (640, 360)], (640, 360)))
def test_at_twice_the_size_three_rows_stay_in_sight(look, width, height):
    viewport = {"width": width, "height": height}
    screen = look(f"#text={LONG.replace(' ', '+')}", viewport=viewport)
    screen.drawn(len(LONG.split()))
    for _ in range(2):
        assert screen.find(".scroller").evaluate(WHOLE) >= 3
        assert screen.page.evaluate(SCROLLS) == [False, False]
        assert not screen.page.evaluate(OVERLAP, PLACES)
        screen.select(2, "cell state, layer 1")
        expect(screen.find(".panel h2").first).to_be_visible()
        assert in_sight(screen)
    screen.page.keyboard.press("e")
    menu = screen.find(".sheet.whatif").bounding_box()
    assert menu["y"] + menu["height"] <= height
    assert in_sight(screen)
    screen.page.keyboard.press("Escape")
    screen.page.keyboard.press("Escape")
    expect(screen.find(".panel")).to_be_hidden()


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


@pytest.mark.parametrize("width", sampled([720, 360], 360))
def test_a_bare_view_leaves_the_grid_its_room(look, width):
    screen = look("#view=bare&text=the+old+dog", viewport={"width": width, "height": 520})
    screen.drawn(3)
    assert 520 - screen.find(".scroller").bounding_box()["height"] <= 0.1 * 520
    expect(screen.find("#text")).to_be_visible()
    with screen.page.context.expect_page() as opened:
        screen.page.get_by_role("link", name="open in full").click()
    expect(opened.value.locator(".strip")).to_be_visible()
    assert opened.value.url.endswith("#text=the+old+dog")
