"""Looking at states: what feeds them, what they say, and how far apart they are."""

import pytest
from playwright.sync_api import expect

TEXT = "the old dog sees a bird ."
WORDS = TEXT.split()
COLUMNS = [
    "embedding",
    *(
        f"{name}, layer {u}"
        for u in (1, 2)
        for name in (
            "previous cell", "long-term memory", "short-term memory", "cell state", "output state"
        )
    ),
    "prediction",
]  # fmt: skip


@pytest.fixture
def screen(look):
    opened = look(f"#text={TEXT.replace(' ', '+')}")
    opened.drawn(len(WORDS))
    return opened


def at(row: int, name: str) -> tuple[int, int]:
    return row, COLUMNS.index(name)


def served(screen, **asked):
    body = {"run": None, "text": TEXT, "semantic": None, "palette": None, "previous": "", "have": 0}
    return screen.ask("api/grid", {**body, "limit": 100, **asked})


def test_hover_lights_up_what_feeds_a_state_and_what_it_feeds(screen):
    screen.point(3, "cell state, layer 2")
    assert screen.rings("focus") == [at(3, "cell state, layer 2")]
    memories = [at(3, "long-term memory, layer 2"), at(3, "short-term memory, layer 2")]
    assert screen.rings("feeds") == memories
    later = at(4, "previous cell, layer 2")
    assert screen.rings("fed") == [at(3, "output state, layer 2"), later]
    expect(screen.find(".body")).to_have_class("body dim")
    assert screen.find(".state.lit").count() == 5


def test_the_flow_goes_through_hidden_gates_and_up_a_row(screen):
    screen.point(3, "short-term memory, layer 2")
    assert screen.rings("feeds") == [at(2, "output state, layer 2"), at(3, "output state, layer 1")]
    screen.point(0, "short-term memory, layer 2")
    assert screen.rings("feeds") == [at(0, "output state, layer 1")]
    screen.page.click("text=kinds")
    screen.page.click(".presets >> text=all")
    expect(screen.find(".row").first.locator(".state")).to_have_count(20)
    screen.point(3, "short-term memory, layer 2")
    assert len(screen.rings("feeds")) == 2
    assert {row for row, _ in screen.rings("feeds")} == {3}  # the gates i and g


def test_leaving_the_grid_brings_the_others_back_and_keeps_the_panel(screen):
    screen.point(3, "cell state, layer 2")
    screen.page.mouse.move(600, 20)
    expect(screen.find(".body")).to_have_class("body")
    expect(screen.find(".detail .symbol")).to_be_visible()


def test_the_panel_tells_everything_about_a_state(screen):
    grid = served(screen)
    index = next(k for k, column in enumerate(grid["columns"]) if column["id"] == "c2")
    state, column = grid["rows"][2][index], grid["columns"][index]
    screen.point(2, "cell state, layer 2")
    panel = screen.find(".detail")
    expect(panel.locator(".symbol")).to_have_text("c23")  # layer 2, timestep 3
    expect(panel.locator(".name")).to_have_text("Cell state, layer 2, after dog")
    expect(panel.locator(".equation")).to_have_text("c = l + s")
    labels = panel.locator("svg text[direction]").all_text_contents()
    assert labels == [label for label, _ in state["top"]]
    assert len(labels) == 20
    told = dict(
        zip(
            panel.locator("dt").all_inner_texts(),
            panel.locator("dd").all_inner_texts(),
            strict=True,
        )
    )
    assert told["really came next"] == "sees"
    assert told["probability, rank"].split(", ")[1].startswith(str(state["wanted"][2]))
    assert told["entropy"] == f"{state['entropy']:.1f} bits"
    assert told["dominant group"].startswith(state["group"].lower())
    assert told["kind's perplexity"].startswith(f"{column['perplexity']:.0f} (model ")


def test_the_last_word_has_nothing_after_it(screen):
    screen.point(len(WORDS) - 1, "prediction")
    expect(screen.find(".detail dd").first).to_have_text("nothing yet")


def test_a_previous_cell_is_the_cell_one_row_up(screen):
    screen.point(2, "previous cell, layer 1")
    expect(screen.find(".detail .name")).to_contain_text("after old")
    before = screen.find(".detail svg").get_attribute("aria-label")
    screen.point(1, "cell state, layer 1")
    expect(screen.find(".detail .name")).to_contain_text("after old")
    assert screen.find(".detail svg").get_attribute("aria-label") == before
    screen.point(0, "previous cell, layer 1")
    expect(screen.find(".detail .name")).to_contain_text("after the start")
    expect(screen.find(".detail")).to_contain_text("No word was read into this state yet")
    assert screen.find(".detail svg").count() == 0


def test_pinned_states_are_compared_by_their_divergence(screen):
    screen.pin(3, "long-term memory, layer 2")
    screen.pin(3, "short-term memory, layer 2")
    screen.point(3, "cell state, layer 2")
    expect(screen.find(".card")).to_have_count(2)
    pairs = [("l2", "c2"), ("s2", "c2"), ("l2", "s2")]
    ends = [{"a": {"column": a, "row": 3}, "b": {"column": b, "row": 3}} for a, b in pairs]
    bits = screen.ask("api/divergence", {"text": TEXT, "semantic": "output", "pairs": ends})["bits"]
    expect(screen.find(".card").nth(0)).to_contain_text(f"{bits[0]:.2f} bits from view")
    expect(screen.find(".card").nth(1)).to_contain_text(f"{bits[1]:.2f} bits from view")
    expect(screen.find(".card").nth(1)).to_contain_text(f"{bits[2]:.2f} bits from first")
    assert len(screen.rings("pin")) == 2
    screen.pin(3, "long-term memory, layer 2")  # again: unpinned
    expect(screen.find(".card")).to_have_count(1)
    screen.find(".card button").click()
    expect(screen.find(".card")).to_have_count(0)


def test_pins_survive_typing_or_keep_their_own_text(screen):
    screen.pin(1, "cell state, layer 2")
    screen.pin(5, "cell state, layer 2")
    said = screen.find(".card").nth(1).locator("svg").text_content()
    screen.write("the old dog sees a cat")
    expect(screen.find(".card")).to_have_count(2)
    assert len(screen.rings("pin")) == 1  # the other is of the text before
    expect(screen.find(".card").nth(0).locator(".origin")).to_have_count(0)
    expect(screen.find(".card").nth(1).locator(".origin")).to_have_text(TEXT)
    assert screen.find(".card").nth(1).locator("svg").text_content() == said
    expect(screen.find(".card").nth(1)).to_contain_text("bits from first")  # across texts
    screen.page.click("text=current word")
    expect(screen.find(".card").nth(0).locator(".origin").first).to_have_text("next word")
    screen.write(TEXT)
    screen.page.click("text=next word")
    expect(screen.find(".card").nth(1).locator(".origin")).to_have_count(0)


def test_a_link_with_a_pin_of_another_text_shows_it(look):
    pin = "pin=c2:3&pin=h1:2/input/a+small+bird"
    screen = look(f"#text={TEXT.replace(' ', '+')}&{pin}")
    expect(screen.find(".card")).to_have_count(2)
    expect(screen.find(".card").nth(0)).to_contain_text("after dog")
    expect(screen.find(".card").nth(1)).to_contain_text("after small")
    expect(screen.find(".card").nth(1).locator(".origin")).to_have_text(
        ["current word", "a small bird"]
    )
    expect(screen.find(".card").nth(1)).to_contain_text("bits from first")


def test_pins_that_there_are_not_are_said_and_dropped_and_the_others_compared(look):
    screen = look("#text=a+b&pin=h2:1/zz&pin=h2:9//one+two&pin=h2:1/input/hello+world&pin=h2:1")
    expect(screen.find(".note.link")).to_have_text(
        "the link names semantic zz, which this run has not; "
        "the link pins word 9 of “one two”, which that text has not"
    )
    expect(screen.find(".card")).to_have_count(2)
    expect(screen.find(".card").nth(0)).to_contain_text("after hello")
    expect(screen.find(".card").nth(1)).to_contain_text("bits from first")
    screen.point(1, "cell state, layer 2")
    expect(screen.find(".card").nth(0)).to_contain_text("bits from view")
    expect(screen.find(".note.pins")).to_be_hidden()
    screen.page.wait_for_timeout(350)  # the address follows
    assert "zz" not in screen.page.url
    assert "one+two" not in screen.page.url


@pytest.mark.parametrize(("words", "pins"), [(40, 40), (2_000, 18)])
def test_any_number_of_pins_of_any_text_is_compared(look, words, pins):
    link = "".join(f"&pin=c2:{row}" for row in range(1, pins + 1))
    screen = look(f"#text={'+'.join(['teacher'] * words)}{link}&at=h2:5")
    expect(screen.find(".card")).to_have_count(pins)
    expect(screen.find(".distance")).to_have_count(2 * pins - 1)
    expect(screen.find(".distance:has-text('…')")).to_have_count(0)


def test_what_keeps_pins_from_being_compared_is_said(look):
    screen = look(f"#text={TEXT.replace(' ', '+')}&pin=c2:1", quiet=False)  # browsers log failures
    screen.drawn(len(WORDS))
    told = screen.find(".note.pins")
    for fail, reason in [
        (lambda route: route.abort(), "the server does not answer"),
        (lambda route: route.fulfill(status=503, json={"error": "too much"}), "too much"),
    ]:
        screen.page.route("**/api/divergence", fail)
        screen.point(3, "cell state, layer 2")
        expect(told).to_have_text(f"pins could not be compared: {reason}")
        screen.page.unroute("**/api/divergence")
        screen.point(4, "cell state, layer 2")
        expect(told).to_be_hidden()
        expect(screen.find(".card")).to_contain_text("bits from view")


def test_a_pin_that_cannot_be_looked_up_is_said_and_looked_up_again(look):
    screen = look(f"#text={TEXT.replace(' ', '+')}&pin=c2:1", quiet=False)  # browsers log failures
    screen.drawn(len(WORDS))
    screen.page.route(
        "**/api/grid",
        lambda route: (
            route.abort() if route.request.post_data_json["text"] == "a bird" else route.continue_()
        ),
    )
    screen.page.evaluate("location.hash = '#text=the+dog&pin=c2:1&pin=c2:2//a+bird'")
    told = screen.find(".note.pins")
    expect(told).to_have_text("pins could not be compared: the server does not answer")
    expect(screen.find(".card").nth(1)).to_contain_text("after …")
    screen.page.unroute("**/api/grid")
    screen.write("the dog sees")
    expect(screen.find(".card").nth(1)).to_contain_text("after bird")
    expect(screen.find(".card").nth(1)).to_contain_text("bits from first")
    expect(told).to_be_hidden()


def test_keys_move_pin_and_clear(screen):
    screen.page.focus(".scroller")
    press = screen.page.keyboard.press
    press("ArrowDown")
    assert screen.rings("focus") == [(0, 0)]
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        press(key)
    assert screen.rings("focus") == [(1, 2)]
    press("End")
    assert screen.rings("focus") == [(1, 11)]
    press("Control+End")
    assert screen.rings("focus") == [(6, 11)]
    press("Home")
    press("PageUp")
    assert screen.rings("focus") == [(0, 0)]
    press("ArrowUp")
    assert screen.rings("focus") == [(0, 0)]
    active = screen.find(".scroller").get_attribute("aria-activedescendant")
    assert screen.find(f"#{active}").get_attribute("aria-label").startswith("embedding, after the:")
    press("Enter")
    assert screen.rings("pin") == [(0, 0)]
    expect(screen.find(".card")).to_have_count(1)
    press("Enter")
    expect(screen.find(".card")).to_have_count(0)
    press("Enter")
    screen.page.focus("#text")  # wherever the keyboard is
    press("Escape")
    expect(screen.find(".card, .ring")).to_have_count(0)
    expect(screen.find(".panel")).to_contain_text("How to read it")
    expect(screen.find("#text")).to_be_focused()


def test_keys_bring_what_they_reach_into_view(look):
    screen = look("#text=" + "+".join(["dog"] * 60) + "&kinds=all")
    screen.drawn(60)
    screen.page.focus(".scroller")
    screen.page.keyboard.press("ArrowDown")
    screen.page.keyboard.press("Control+End")
    window, ring = (screen.find(one).bounding_box() for one in (".scroller", ".ring.focus"))
    assert window["y"] < ring["y"]
    assert ring["y"] + ring["height"] <= window["y"] + window["height"]
    assert ring["x"] + ring["width"] <= window["x"] + window["width"]


def test_the_keyboard_reaches_everything_and_shows_where_it_is(screen):
    seen = set()
    screen.page.focus("#text")
    for _ in range(14):
        screen.page.keyboard.press("Tab")
        name, outline = screen.page.evaluate("""() => {
          const one = document.activeElement;
          return [one.id || one.className || one.tagName, getComputedStyle(one).outlineStyle];
        }""")
        seen.add(name)
        assert outline != "none" or name in {"text", "rnnlens"}, (
            name
        )  # the field shows it by its border
    assert {"scroller", "SUMMARY", "plain page", "text"} <= seen


def test_a_grid_is_told_to_those_who_listen(screen):
    grid = screen.page.get_by_role("grid", name="states")
    expect(grid.get_by_role("row")).to_have_count(len(WORDS) + 1)
    expect(grid.get_by_role("columnheader")).to_have_count(13)
    expect(grid.get_by_role("rowheader", name="dog", exact=True)).to_have_count(1)
    said = grid.get_by_role("gridcell").nth(12 * 2 + 9).get_attribute("aria-label")
    assert said.startswith("cell state, layer 2, after dog: ")
    assert said.count("%") == 4


def test_a_tap_looks_and_a_second_pins(look):
    screen = look(f"#text={TEXT.replace(' ', '+')}", has_touch=True)
    screen.drawn(len(WORDS))
    box = screen.state(2, "cell state, layer 1").locator(".mark").bounding_box()
    screen.page.touchscreen.tap(box["x"] + 5, box["y"] + 5)
    assert screen.rings("focus") == [at(2, "cell state, layer 1")]
    expect(screen.find(".card")).to_have_count(0)
    screen.page.touchscreen.tap(box["x"] + 5, box["y"] + 5)
    expect(screen.find(".card")).to_have_count(1)
