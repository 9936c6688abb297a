"""Pins: kept while everything else changes, and compared in a table."""

import pytest
from playwright.sync_api import expect
from tests.sampling import sampled

TEXT = "the old dog sees a bird ."
WORDS = TEXT.split()
VIEW = "the selected state"


@pytest.fixture
def screen(look):
    opened = look(f"#text={TEXT.replace(' ', '+')}")
    opened.drawn(len(WORDS))
    return opened


def grid_of(screen):
    asked = {"text": TEXT, "limit": 100}
    return screen.ask("api/grid", asked)


def test_a_comparison_has_the_labels_that_differ_most_on_one_scale(look):
    screen = look(f"#text={TEXT.replace(' ', '+')}&pin=c1:2&pin=h2:5")
    expect(screen.find(".comparison thead .held")).to_have_count(2)
    grid = grid_of(screen)
    at = {column["id"]: k for k, column in enumerate(grid["columns"])}
    tops = [dict(grid["rows"][row][at[kind]]["top"]) for kind, row in (("c1", 1), ("h2", 4))]
    least = [min(top.values()) for top in tops]

    def spread(label):
        return abs(tops[0].get(label, least[0]) - tops[1].get(label, least[1]))

    names = screen.find(".comparison tbody th [data-label]").evaluate_all(
        "all => all.map((one) => one.dataset.label)"
    )
    spreads = [spread(name) for name in names]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[0] == max(map(spread, {*tops[0], *tops[1]}))
    script = """(cells) => cells.map((cell) => ["bar", "track"].map((kind) =>
        cell.querySelector(`.${kind}`)?.getBoundingClientRect().width ?? 0))"""
    drawn = screen.find(".comparison tbody td").evaluate_all(script)
    assert len({track for _, track in drawn}) == 1
    for k, (bar, track) in enumerate(drawn):
        p = tops[k % 2].get(names[k // 2])
        assert bar == pytest.approx(0 if p is None else max(1, p**0.5 * track), abs=0.02)


@pytest.mark.release
def test_seven_pins_are_compared_in_a_small_window_beside_the_whole_detail(look):
    pins = "".join(f"&pin={kind}:4" for kind in ("l1", "s1", "c1", "h1", "l2", "s2", "h2"))
    screen = look(
        f"#text={TEXT.replace(' ', '+')}{pins}&at=c2:4", viewport={"width": 1280, "height": 720}
    )
    expect(screen.find(".comparison thead .held")).to_have_count(7)
    expect(screen.apart(6, VIEW)).to_contain_text("bits")
    script = "(one) => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]"
    wide, high = screen.find(".comparison").evaluate(script)
    assert (wide, high) <= (0, 1)
    table, panel = (screen.find(one).bounding_box() for one in (".comparison", ".panel"))
    assert table["x"] + table["width"] <= panel["x"]
    ring, rows = (screen.find(one).bounding_box() for one in (".ring.focus", ".scroller"))
    assert ring["y"] + ring["height"] <= rows["y"] + rows["height"] <= table["y"] + 1
    assert screen.find(".row .said").first.evaluate("one => getComputedStyle(one).fontSize") == (
        "10.5px"
    )


@pytest.mark.parametrize(
    ("bits", "words"),
    sampled([(0, "the same"), (0.1, "close"), (0.3, "apart"), (0.93, "unlike")], (0.3, "apart")),
)
def test_a_divergence_is_told_in_plain_words(screen, bits, words):
    screen.page.route(
        "**/api/divergence",
        lambda route: route.fulfill(
            json={"bits": [bits] * len(route.request.post_data_json["pairs"])}
        ),
    )
    screen.pin(1, "cell state, layer 2")
    screen.pin(2, "cell state, layer 2")
    expect(screen.apart(1)).to_have_text(f"{bits:.2f} bits {words}")


def test_pinned_states_are_compared_by_their_divergence(screen):
    screen.pin(3, "long-term memory, layer 2")
    screen.pin(3, "short-term memory, layer 2")
    screen.select(3, "cell state, layer 2")
    expect(screen.find(".held")).to_have_count(2)
    pairs = [("l2", "c2"), ("s2", "c2"), ("l2", "s2")]
    ends = [{"a": {"column": a, "row": 3}, "b": {"column": b, "row": 3}} for a, b in pairs]
    bits = screen.ask("api/divergence", {"text": TEXT, "semantic": "output", "pairs": ends})["bits"]
    expect(screen.apart(0, VIEW)).to_contain_text(f"{bits[0]:.2f} bits")
    expect(screen.apart(1, VIEW)).to_contain_text(f"{bits[1]:.2f} bits")
    expect(screen.apart(1)).to_contain_text(f"{bits[2]:.2f} bits")
    expect(screen.apart(0)).to_have_text("—")
    assert len(screen.rings("pin")) == 2
    screen.pin(3, "long-term memory, layer 2")  # again: unpinned
    expect(screen.find(".held")).to_have_count(1)
    screen.find(".held button").click()
    expect(screen.find(".held")).to_have_count(0)


def test_pins_survive_typing_or_keep_their_own_text(screen):
    screen.pin(1, "cell state, layer 2")
    screen.pin(5, "cell state, layer 2")
    column = ".comparison tbody tr td:nth-child(3)"
    said = screen.find(column).all_text_contents()
    screen.write("the old dog sees a cat")
    expect(screen.find(".held")).to_have_count(2)
    assert len(screen.rings("pin")) == 1  # the other is of the text before
    expect(screen.find(".held").nth(0).locator(".origin")).to_have_count(0)
    expect(screen.find(".held").nth(1).locator(".origin")).to_have_text(TEXT)
    assert set(said) & set(screen.find(column).all_text_contents())
    expect(screen.apart(1)).to_contain_text("bits")  # across texts
    screen.page.click("text=current word")
    expect(screen.find(".held").nth(0).locator(".origin").first).to_have_text("next word")
    screen.write(TEXT)
    screen.page.click("text=next word")
    expect(screen.find(".held").nth(1).locator(".origin")).to_have_count(0)


@pytest.mark.release
def test_a_link_with_a_pin_of_another_text_shows_it(look):
    pin = "pin=c2:3&pin=h1:2/input/a+small+bird"
    screen = look(f"#text={TEXT.replace(' ', '+')}&{pin}")
    expect(screen.find(".held")).to_have_count(2)
    expect(screen.find(".held").nth(0)).to_contain_text("after dog")
    expect(screen.find(".held").nth(1)).to_contain_text("after small")
    expect(screen.find(".held").nth(1).locator(".origin")).to_have_text(
        "current word · a small bird"
    )
    expect(screen.apart(1)).to_contain_text("bits")


def test_pins_that_there_are_not_are_said_and_dropped_and_the_others_compared(look):
    screen = look("#text=a+b&pin=h2:1/zz&pin=h2:9//one+two&pin=h2:1/input/hello+world&pin=h2:1")
    expect(screen.find(".note.link")).to_have_text(
        "the link asks about zz, for which this run has no probes; "
        "the link pins word 9 of “one two”, but that text is shorter"
    )
    expect(screen.find(".held")).to_have_count(2)
    expect(screen.find(".held").nth(0)).to_contain_text("after hello")
    expect(screen.apart(1)).to_contain_text("bits")
    screen.select(1, "cell state, layer 2")
    expect(screen.apart(0, VIEW)).to_contain_text("bits")
    expect(screen.find(".note.pins")).to_be_hidden()
    screen.page.wait_for_timeout(350)  # the address follows
    assert "zz" not in screen.page.url
    assert "one+two" not in screen.page.url


@pytest.mark.parametrize(("words", "pins"), sampled([(40, 40), (2_000, 18)], (40, 40)))
def test_any_number_of_pins_of_any_text_is_compared(look, words, pins):
    link = "".join(f"&pin=c2:{row}" for row in range(1, pins + 1))
    screen = look(f"#text={'+'.join(['teacher'] * words)}{link}&at=h2:5")
    expect(screen.find(".held")).to_have_count(pins)
    expect(screen.find(".distance")).to_have_count(2 * pins - 1)
    expect(screen.find(".distance:has-text('…')")).to_have_count(0)


@pytest.mark.release
def test_what_keeps_pins_from_being_compared_is_said(look):
    screen = look(f"#text={TEXT.replace(' ', '+')}&pin=c2:1", quiet=False)  # browsers log failures
    screen.drawn(len(WORDS))
    told = screen.find(".note.pins")
    for row, fail, reason in [
        (3, lambda route: route.abort(), "the server does not answer"),
        (5, lambda route: route.fulfill(status=503, json={"error": "too much"}), "too much"),
    ]:
        screen.page.route("**/api/divergence", fail)
        screen.select(row, "cell state, layer 2")
        expect(told).to_have_text(f"pins could not be compared: {reason}")
        screen.page.unroute("**/api/divergence")
        screen.select(row + 1, "cell state, layer 2")
        expect(told).to_be_hidden()
        expect(screen.find(".held .distance")).to_contain_text("bits from the selected state")


@pytest.mark.release
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
    expect(screen.find(".held").nth(1)).to_contain_text("after …")
    screen.page.unroute("**/api/grid")
    screen.write("the dog sees")
    expect(screen.find(".held").nth(1)).to_contain_text("after bird")
    expect(screen.apart(1)).to_contain_text("bits")
    expect(told).to_be_hidden()
