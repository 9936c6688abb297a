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
        for name in ("long-term memory", "short-term memory", "cell state", "output state")
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
    assert screen.rings("hover") == [at(3, "cell state, layer 2")]
    memories = [at(3, "long-term memory, layer 2"), at(3, "short-term memory, layer 2")]
    assert screen.rings("feeds") == memories
    later = at(4, "long-term memory, layer 2")  # through the previous cell, which is not drawn
    assert screen.rings("fed") == [at(3, "output state, layer 2"), later]
    expect(screen.find(".body")).to_have_class("body dim")
    assert screen.find(".state.lit").count() == 5
    assert screen.find(".ring.arrow").count() == 0
    screen.point(3, "long-term memory, layer 2")  # which reads the cell of the row above
    expect(screen.find(".row[aria-rowindex='5'] .ring.arrow")).to_have_count(1)


def test_states_on_their_way_are_not_taken_for_those_that_are_here(look):
    screen = look("#text=a+bird")
    screen.drawn(2)
    link = f"#text={TEXT.replace(' ', '+')}&at=c2:4"
    screen.page.evaluate("link => { location.hash = link; }", link)
    screen.drawn(len(WORDS))  # of the columns that are shown, and no others
    held = []
    screen.page.route("**/api/grid", lambda route: held.append(route))  # noqa: PLW0108
    screen.page.click(".choose summary")
    screen.page.click(".presets >> text=all")
    expect(screen.find(".head g[role=columnheader]")).to_have_count(20)
    lit = screen.find(".state.lit").evaluate_all(
        "all => all.map(one => one.ariaLabel.split(':')[0])"
    )
    expected = ["long-term memory", "short-term memory", "cell state", "output state"]
    assert lit[:4] == [f"{name}, layer 2, after sees" for name in expected]
    for route in held:
        route.continue_()
    screen.settled()
    assert screen.find(".row").first.locator(".state").count() == 20
    assert "feeds" in (screen.find(".ring").first.get_attribute("class") or "")


@pytest.mark.release
def test_the_flow_goes_through_hidden_gates_and_up_a_row(screen):
    screen.select(3, "short-term memory, layer 2")
    assert screen.rings("feeds") == [at(2, "output state, layer 2"), at(3, "output state, layer 1")]
    screen.select(0, "short-term memory, layer 2")
    assert screen.rings("feeds") == [at(0, "output state, layer 1")]
    screen.page.click(".choose summary")
    screen.page.click(".presets >> text=all")
    screen.page.set_viewport_size({"width": 1900, "height": 900})  # so that y covers no column
    expect(screen.find(".row").first.locator(".state")).to_have_count(20)
    screen.select(3, "short-term memory, layer 2")
    assert len(screen.rings("feeds")) == 2
    assert {row for row, _ in screen.rings("feeds")} == {3}  # the gates i and g


@pytest.mark.release
def test_pointing_previews_in_a_card_that_covers_nothing_and_moves_nothing(screen):
    screen.select(2, "long-term memory, layer 2")
    expect(screen.find(".panel")).to_contain_text("unigram")  # which is asked for, and comes last
    panel = screen.find(".panel").inner_text()
    for row, column in ((0, "embedding"), (3, "cell state, layer 2"), (6, "prediction")):
        screen.point(row, column)
        card, cell = screen.find(".hovercard"), screen.state(row, column)
        expect(card).to_contain_text(f"{column.split(',')[0].capitalize()}", ignore_case=True)
        expect(card).to_contain_text(f"after “{WORDS[row]}”")
        expect(card.locator("li")).to_have_count(4)
        first, second = card.bounding_box(), cell.bounding_box()
        assert (
            first["x"] >= second["x"] + second["width"]
            or first["x"] + first["width"] <= second["x"]
            or first["y"] >= second["y"] + second["height"]
            or first["y"] + first["height"] <= second["y"]
        )
        assert screen.find(".panel").inner_text() == panel
        assert screen.rings("focus") == [at(2, "long-term memory, layer 2")]
    screen.page.mouse.move(600, 20)
    expect(screen.find(".body")).to_have_class("body")
    expect(screen.find(".hovercard")).to_be_hidden()


def test_the_panel_tells_everything_about_a_state(screen):
    grid = served(screen)
    index = next(k for k, column in enumerate(grid["columns"]) if column["id"] == "c2")
    state, column = grid["rows"][2][index], grid["columns"][index]
    screen.select(2, "cell state, layer 2")
    panel = screen.find(".detail")
    expect(screen.find(".panel h2")).to_have_text("cell state 2, after “dog”")
    expect(screen.find(".panel .equation")).to_have_text("c = l + s")
    script = "all => all.map(one => one.getAttribute('data-label'))"
    labels = panel.locator("svg .said").evaluate_all(script)
    assert labels == [label for label, _ in state["top"]]
    assert len(labels) == 20
    told = dict(
        zip(
            panel.locator("dt").all_inner_texts(),
            panel.locator("dd").all_inner_texts(),
            strict=True,
        )
    )
    assert told["what came next"] == "“sees”"
    assert told["its probability"].split(", ")[1].startswith(str(state["wanted"][2]))
    assert told["entropy"] == f"{state['entropy']:.1f} bits"
    assert told["leading group"].startswith(state["group"].lower())
    assert told["perplexity"].startswith(f"{column['perplexity']:.0f} (model ")
    for term in ("perplexity", "used", "its probability", "entropy", "leading group"):
        assert panel.locator("dt", has_text=term).get_attribute("title"), "what it means"


@pytest.mark.release
def test_the_last_word_has_nothing_after_it(screen):
    screen.select(len(WORDS) - 1, "prediction")
    expect(screen.find(".detail dd").first).to_have_text("nothing yet")


@pytest.mark.release
def test_a_previous_cell_is_the_cell_one_row_up(look):
    screen = look(f"#text={TEXT.replace(' ', '+')}&kinds=c1@-1,l1,c1,y")
    screen.drawn(len(WORDS))
    screen.select(2, "previous cell, layer 1")
    expect(screen.find(".panel h2")).to_contain_text("after “old”")
    before = screen.find(".detail svg").first.get_attribute("aria-label")
    screen.select(1, "cell state, layer 1")
    expect(screen.find(".panel h2")).to_contain_text("after “old”")
    assert screen.find(".detail svg").first.get_attribute("aria-label") == before
    screen.select(0, "previous cell, layer 1")
    expect(screen.find(".panel h2")).to_contain_text("before the first word")
    expect(screen.find(".detail")).to_contain_text("No word was read into this state yet")
    assert screen.find(".detail svg").count() == 0


def test_keys_move_pin_and_clear(screen):
    screen.page.focus(".scroller")
    press = screen.page.keyboard.press
    press("ArrowDown")
    assert screen.rings("focus") == [(0, 0)]
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        press(key)
    assert screen.rings("focus") == [(1, 2)]
    press("End")
    assert screen.rings("focus") == [(1, 9)]
    press("Control+End")
    assert screen.rings("focus") == [(6, 9)]
    press("Home")
    press("PageUp")
    assert screen.rings("focus") == [(0, 0)]
    press("ArrowUp")
    assert screen.rings("focus") == [(0, 0)]
    active = screen.find(".scroller").get_attribute("aria-activedescendant")
    assert screen.find(f"#{active}").get_attribute("aria-label").startswith("embedding, after the:")
    press("Enter")
    assert screen.rings("pin") == [(0, 0)]
    expect(screen.find(".held")).to_have_count(1)
    press("Enter")
    expect(screen.find(".held")).to_have_count(0)
    press("Enter")
    screen.page.focus("#text")  # wherever the keyboard is
    press("Escape")
    expect(screen.find(".ring.focus")).to_have_count(0)
    expect(screen.find(".held")).to_have_count(1)  # pins stay
    expect(screen.find(".panel")).to_contain_text("How to read it")
    expect(screen.find("#text")).to_be_focused()
    screen.page.focus(".scroller")
    press("?")
    expect(screen.page.get_by_role("dialog", name="keys")).to_contain_text("explain it")
    press("Escape")
    expect(screen.page.get_by_role("dialog", name="keys")).to_be_hidden()


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
    for _ in range(24):
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
    expect(grid.get_by_role("row")).to_have_count(len(WORDS) + 2)  # heads, and how it goes on
    expect(grid.get_by_role("columnheader")).to_have_count(11)
    expect(grid.get_by_role("rowheader", name="dog", exact=True)).to_have_count(1)
    said = grid.get_by_role("gridcell").nth(10 * 2 + 7).get_attribute("aria-label")
    assert said.startswith("cell state, layer 2, after dog: ")
    assert said.count("%") == 4


def test_a_tap_selects_without_a_card(look):
    screen = look(f"#text={TEXT.replace(' ', '+')}", has_touch=True)
    screen.drawn(len(WORDS))
    box = screen.state(2, "cell state, layer 1").locator(".mark").bounding_box()
    screen.page.touchscreen.tap(box["x"] + 5, box["y"] + 5)
    assert screen.rings("focus") == [at(2, "cell state, layer 1")]
    screen.page.touchscreen.tap(box["x"] + 5, box["y"] + 5)  # and stays selected
    assert screen.rings("focus") == [at(2, "cell state, layer 1")]
    expect(screen.find(".held")).to_have_count(0)
    expect(screen.find(".hovercard")).to_be_hidden()


def test_what_is_outside_and_what_signs_are_called_is_said_wherever_a_state_is(look, demo_address):
    link = "#text=scientists+have+found+a&edit=l2@2=0&edit=c2@3=0&at=l2:2&tab=changed"
    screen = look(link, at=demo_address)
    screen.drawn(4)
    sign = screen.find("table.before bdi[data-label=',']")
    expect(sign).to_have_text("comma")
    expect(sign).to_have_attribute("title", "comma (,)")
    screen.point(2, "cell state, layer 2")
    expect(screen.find(".hovercard")).to_contain_text("outside what the probe has seen")
    expect(screen.find(".hovercard .named").first).to_have_text("rare word")  # and no group leads
