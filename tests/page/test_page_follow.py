"""Labels that are followed and predictions that turn, on the page."""

import re

import pytest
from playwright.sync_api import expect

import rnnlens
from rnnlens.draw.printable import odds_text, percent

TEXT = "the dogs see the old birds"
VIEW = f"#text={TEXT.replace(' ', '+')}"


@pytest.fixture
def grid(probed_run):
    return rnnlens.load(probed_run)(TEXT)


def numbers(screen):
    """The numbers that stand in the states, by rows."""
    script = "rows => rows.map(row => [...row.querySelectorAll('.number')].map(t => t.textContent))"
    return screen.find(".row").evaluate_all(script)


def expected(grid, followed):
    shown = [k for k, column in enumerate(grid.json["columns"]) if column["shown"]]
    return [
        [
            (odds_text if followed.against else percent)(row[k])
            for k in shown
            if not states[k]["unread"]
        ]
        for row, states in zip(followed.values, grid.json["rows"], strict=True)
    ]


def test_a_clicked_label_is_followed_through_every_state(look, grid):
    screen = look(VIEW)
    screen.drawn(6)
    screen.select(1, "output state, layer 2")
    name = screen.find(".detail [data-label]").first
    label = name.get_attribute("data-label")
    name.click()
    expect(screen.find(".number")).to_have_count(6 * 10)
    assert numbers(screen) == expected(grid, grid.follow(label))
    expect(screen.find(".following .said")).to_contain_text(f"probability of “{label}”, full width")
    expect(screen.find("input.follow")).to_have_value(label)
    assert f"follow={label}" in screen.page.url
    assert screen.find(".ring.pin").count() == 0
    screen.page.keyboard.press("Escape")
    expect(screen.find(".number")).to_have_count(0)
    expect(screen.find(".state .bar").first).to_be_attached()
    assert "follow" not in screen.page.url


@pytest.mark.release
def test_a_set_is_typed_against_a_set(look, grid):
    screen = look(VIEW)
    screen.drawn(6)
    screen.page.fill("input.follow", "see / sees")
    screen.page.keyboard.press("Enter")
    expect(screen.find(".number")).to_have_count(6 * 10)
    assert numbers(screen) == expected(grid, grid.follow("see", against=("sees",)))
    screen.page.reload()
    expect(screen.find(".number")).to_have_count(6 * 10)
    expect(screen.find("input.follow")).to_have_value("see / sees")
    screen.page.click(".following .plain")
    expect(screen.find(".number")).to_have_count(0)
    screen.page.go_back()
    expect(screen.find(".number")).to_have_count(6 * 10)


@pytest.mark.release
def test_labels_of_the_panel_are_followed_too(look):
    screen = look(VIEW)
    screen.drawn(6)
    screen.select(2, "cell state, layer 1")
    screen.find(".detail [data-label]").nth(4).click()
    expect(screen.find(".number")).to_have_count(6 * 10)


@pytest.mark.release
def test_what_follows_goes_on_while_somebody_types(look, probed_run):
    screen = look(VIEW + "&follow=birds")
    expect(screen.find(".number")).to_have_count(6 * 10)
    screen.write(TEXT + " and")
    expect(screen.find(".number")).to_have_count(7 * 10)
    grid = rnnlens.load(probed_run)(TEXT + " and")
    assert numbers(screen) == expected(grid, grid.follow("birds"))
    assert screen.find("polyline.followed").count() == 6 * 10  # to the next row


@pytest.mark.release
def test_compact_states_are_shaded_by_it(look):
    screen = look(VIEW + "&follow=birds&density=compact")
    screen.drawn(6)
    mark = screen.find(".state .mark").first
    expect(mark).to_have_attribute("fill-opacity", re.compile(r"^[01]"))
    assert screen.find(".number").count() == 0


@pytest.mark.release
def test_what_is_half_typed_keeps_the_grid_and_is_completed(look, grid):
    screen = look(VIEW, quiet=False)
    screen.drawn(6)
    field, options = screen.find("input.follow"), screen.find(".completion [role=option]")
    said, quiet = screen.find(".following .said"), screen.find(".following .quiet")
    place = screen.find(".gridplace").bounding_box()
    field.press_sequentially("bird")
    expect(options).to_have_text(["bird", "birds"])
    expect(said).to_contain_text("probability of “bird”,")  # which is a label
    screen.page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", options.first.get_attribute("id"))
    screen.page.keyboard.press("ArrowDown")
    screen.page.keyboard.press("Enter")
    expect(said).to_contain_text("probability of “birds”,")
    expect(options.first).to_be_hidden()
    expect(screen.find(".number")).to_have_count(6 * 10)
    followed = numbers(screen)
    assert followed == expected(grid, grid.follow("birds"))

    field.press_sequentially(" / se")  # half a label: what was followed stays
    expect(options.first).to_have_text(re.compile("^sees?$"))
    expect(quiet).to_have_text("")
    assert numbers(screen) == followed
    screen.page.keyboard.press("Escape")  # closes the list alone
    expect(options.first).to_be_hidden()
    assert "follow=birds" in screen.page.url
    field.fill("dgos")
    expect(quiet).to_have_text("\u201cdgos\u201d is no label here")
    expect(options).to_have_text(["dogs"])  # none begins so: the nearest
    assert numbers(screen) == followed
    screen.page.wait_for_timeout(300)
    expect(field).to_have_value("dgos")
    assert screen.find(".gridplace").bounding_box() == place
    options.first.click()
    expect(said).to_contain_text("probability of “dogs”,")
    expect(quiet).to_have_text("")


def test_a_link_that_follows_what_is_no_label_shows_the_grid_and_says_so(look):
    screen = look(VIEW + "&follow=dgos", quiet=False)
    screen.drawn(6)
    expect(screen.find(".following .quiet")).to_have_text(re.compile("'dgos'.*'dogs'"))
    expect(screen.find(".state .bar").first).to_be_attached()
    expect(screen.find(".note.unread")).to_be_hidden()


def test_turns_are_marked_ranked_and_jumped_to(look, grid):
    screen = look(VIEW)
    screen.drawn(6)
    assert screen.find(".turns").count() == 0
    screen.page.click(".toggle")
    expect(screen.find(".turning li")).to_have_count(8)
    shown = {column["id"] for column in grid.json["columns"] if column["shown"]}
    # What was read a step before is the row above, whose column is shown.
    turns = [t for t in grid.turns().ranked() if {t.source.partition("@")[0], t.target} <= shown]
    first = screen.find(".turning li").first
    expect(first.locator("b")).to_have_text(f"{turns[0].bits:.2f}")
    expect(first).to_contain_text(turns[0].word)
    assert "turns=1" in screen.page.url
    screen.select(0, "embedding")
    columns = {column["id"]: column["name"] for column in grid.json["columns"]}
    for turn in turns[:2]:
        screen.page.keyboard.press("t")
        expect(screen.find(".panel h2")).to_contain_text(f"after “{turn.word}”")
        expect(screen.find(".panel h2")).to_contain_text(
            re.compile(columns[turn.target], re.IGNORECASE)
        )
    other = screen.find(".turning li").nth(3)
    other.locator("button").click()
    word = other.locator(".soft").text_content()
    expect(screen.find(".panel h2")).to_contain_text(f"after “{word}”")


@pytest.mark.release
def test_the_surprisal_of_what_came_stands_beside_the_prediction(look, grid):
    screen = look(VIEW + "&turns=1")
    expect(screen.find(".surprisal")).to_have_count(5)
    bits = screen.find(".surprisal text").all_text_contents()
    assert bits == [f"{value:.1f}" for value in grid.turns().surprisal[:-1]]
    expect(screen.find(".surprisal title").first).to_have_text(
        re.compile(f"^“dogs” came: {bits[0]} bits of surprisal")
    )


@pytest.mark.release
def test_the_key_t_shows_turns_and_is_a_letter_where_somebody_types(look):
    screen = look(VIEW)
    screen.drawn(6)
    screen.page.focus("#text")
    screen.page.keyboard.press("End")
    screen.page.keyboard.type(" t")
    screen.drawn(7)
    assert "turns" not in screen.page.url
    screen.select(0, "embedding")
    before = screen.find(".panel h2").text_content()
    screen.page.keyboard.press("t")
    expect(screen.find(".panel h2")).not_to_have_text(before)
    assert "turns=1" in screen.page.url


@pytest.mark.release
def test_turns_are_not_asked_for_unless_wanted(look):
    screen = look(VIEW)
    screen.drawn(6)
    asked = []
    screen.page.on("request", lambda request: asked.append(request.url))
    screen.write(TEXT + " and")
    screen.page.wait_for_timeout(600)
    assert asked
    assert not [url for url in asked if "follow" in url or "turns" in url]


@pytest.mark.release
def test_what_is_typed_to_follow_stays_while_turns_arrive(look):
    screen = look(VIEW)
    screen.drawn(6)
    held = []
    screen.page.route("**/api/turns", lambda route: held.append(route))  # noqa: PLW0108
    with screen.page.expect_request("**/api/turns"):
        screen.page.click("button.toggle")
    screen.page.fill("input.follow", "see / sees")
    for route in held:
        route.continue_()
    expect(screen.find(".turns").first).to_be_attached()
    expect(screen.find("input.follow")).to_have_value("see / sees")
    expect(screen.find(".following .said")).to_contain_text("“see” against “sees”")


@pytest.mark.release
def test_labels_of_a_comparison_are_followed_and_states_of_nothing_have_no_values(look):
    screen = look(VIEW + "&pin=h2:2&pin=c1@-1:1")
    screen.drawn(6)
    label = screen.find(".comparison tbody [data-label]").first
    cells = screen.find(".comparison tbody tr").first.locator("td")
    expect(cells.nth(0)).to_contain_text("%")
    expect(cells.nth(1)).to_have_text("—")
    name = label.get_attribute("data-label")
    label.click()
    expect(screen.find(".following .said")).to_contain_text(f"probability of “{name}”, full width")
