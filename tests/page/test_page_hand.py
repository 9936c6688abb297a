"""The hand: a state is selected, acted on, what was done is undone, and all of it is shared."""

import re

import pytest
from playwright.sync_api import expect
from tests.page.test_page_access import findings
from tests.page.test_page_why import lost, signed
from tests.sampling import sampled

import rnnlens

TEXT = "the dogs see the old birds"
LINK = f"#text={TEXT.replace(' ', '+')}"
SIZES = {"large": (1440, 900), "small": (1000, 700), "phone": (390, 844)}
ACTS = ["Change", "Explain", "Find alike", "Follow", "Pin"]
MEMORY = "long-term memory 2, after “dogs”"


def button(screen, name):
    return screen.page.get_by_role("button", name=re.compile(rf"^{name}\b"))


def places(panel):
    """Where the buttons stand in the panel."""
    return panel.locator(".act").evaluate_all("all => all.map(b => [b.offsetLeft, b.offsetTop])")


def check_selection(screen):
    """What is selected stays, whatever is pointed at; each action names it."""
    panel = screen.page.get_by_role("complementary")
    expect(screen.find("body")).to_be_focused()
    if (
        screen.page.viewport_size["width"] > 760
    ):  # where the panel is a sheet, it comes with a state
        expect(panel).to_contain_text("How to read it")
    screen.select(1, "prediction")
    expect(button(screen, "Change")).to_be_disabled()
    assert "nothing goes on from it" in (button(screen, "Change").get_attribute("title") or "")
    screen.select(1, "long-term memory, layer 2")
    heading = panel.get_by_role("heading", level=2)
    expect(heading).to_have_text(MEMORY)
    expect(panel.locator(".act")).to_have_text(ACTS)
    tops = places(panel)
    for row, kind in ((0, "prediction"), (2, "output state, layer 2"), (1, "cell state, layer 2")):
        screen.point(row, kind)
        expect(screen.find(".hovercard")).to_be_visible()
        expect(heading).to_have_text(MEMORY)
    for name in ACTS:
        expect(button(screen, name)).to_have_attribute(
            "aria-label", f"{name} {MEMORY.replace(',', '')}"
        )
    button(screen, "Pin").click()
    expect(button(screen, "Unpin")).to_be_visible()
    assert places(panel)[:4] == tops[:4], "nothing jumps under the hand"


def check_acts(screen, written):
    """Buttons and keys act on the selected state: it is changed, explained and followed."""
    screen.select(2, "output state, layer 2")  # and the pin is another
    button(screen, "Change").click()
    menu = screen.page.get_by_role("dialog", name="change a state")
    expect(menu).to_contain_text("output state 2, after “see”")
    screen.page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    screen.page.keyboard.press("e")
    expect(menu).to_contain_text("output state 2, after “see”")
    menu.get_by_role("button", name="zero", exact=True).click()
    expect(screen.find(".editline li")).to_have_text(re.compile("h2 after see: zero"))
    screen.settled()
    screen.page.get_by_role("tab", name="changed").click()
    expect(screen.find("table.before tbody tr")).to_have_count(10)
    expect(screen.find(".tabsheet")).to_contain_text("bits from before")
    screen.page.keyboard.press("w")
    expect(screen.find(".writtenby")).to_contain_text("read with changes")
    button(screen, "Take the changes back").click()
    expect(screen.find(".editline")).to_be_hidden()
    table = screen.find(".writtenby tbody tr td:last-child")
    expect(table).to_have_text(lost(written))
    expect(screen.find(".writtenby thead")).to_contain_text("logits")
    screen.page.get_by_role("radio", name="path").click()
    expect(screen.find(".writtenby tfoot")).to_contain_text(signed(written.difference))


def check_steps(screen):
    """One thing at a time goes back, by key, button or browser, and comes again."""
    undo, redo = (screen.page.get_by_role("button", name=name) for name in ("Undo", "Redo"))
    tab = screen.page.get_by_role("tab", selected=True)
    without = screen.page.get_by_role("radio", name="without")
    screen.page.keyboard.press("Control+z")
    expect(without).to_have_attribute("aria-checked", "true")
    undo.click()
    expect(screen.find(".editline li")).to_have_count(1)
    screen.page.go_back()
    expect(tab).to_have_text("changed")
    screen.page.go_back()
    expect(tab).to_have_text("says")
    undo.click()
    expect(screen.find(".editline")).to_be_hidden()
    expect(screen.find(".held")).to_have_count(1)
    screen.page.keyboard.press("Control+z")
    expect(screen.find(".held")).to_have_count(0)
    rises = screen.page.viewport_size["width"] < 760  # from below, which is a step to go back from
    if rises:
        screen.page.keyboard.press("Control+z")
        expect(screen.find(".panel")).to_be_hidden()
    expect(undo).to_be_disabled()
    screen.page.keyboard.press("Control+z")  # and the page stays
    for _ in range(6 + rises):
        expect(redo).to_be_enabled()
        redo.click()
    expect(redo).to_be_disabled()
    expect(tab).to_have_text("written by")
    expect(screen.page.get_by_role("radio", name="path")).to_have_attribute("aria-checked", "true")


def check_typing(screen):
    """Typed text is undone a burst at a time, and Escape closes one thing."""
    screen.page.focus("#text")
    screen.page.keyboard.press("End")
    screen.page.keyboard.type(" and", delay=15)
    screen.drawn(7)
    screen.page.wait_for_timeout(1100)
    screen.page.keyboard.type(" dogs", delay=15)
    screen.drawn(8)
    screen.page.keyboard.press("Control+z")
    screen.drawn(7)
    screen.page.keyboard.press("Control+z")
    screen.drawn(6)
    expect(screen.find("#text")).to_have_value(TEXT)
    screen.page.keyboard.press("Control+y")
    screen.drawn(7)
    screen.page.keyboard.press("Control+z")
    screen.drawn(6)
    button(screen, "Follow").click()
    expect(screen.find("input.follow")).to_be_focused()
    expect(screen.find(".number").first).to_be_attached()
    screen.page.keyboard.press("Escape")
    expect(screen.find(".number")).to_have_count(0)
    expect(screen.find(".writtenby")).to_be_visible()
    screen.page.keyboard.press("Escape")
    expect(screen.page.get_by_role("tab", selected=True)).to_have_text("says")
    expect(screen.find(".ring.focus")).to_have_count(1)
    screen.page.keyboard.press("Escape")
    expect(screen.find(".ring.focus")).to_have_count(0)
    expect(screen.find(".held")).to_have_count(1)  # pins stay
    screen.page.keyboard.press("Control+z")
    expect(screen.find(".writtenby tfoot")).to_be_visible()


@pytest.mark.parametrize("size", sampled(SIZES, "phone"))
def test_a_state_is_selected_acted_on_undone_and_shared(look, probed_run, size):
    width, height = SIZES[size]
    screen = look(
        LINK,
        viewport={"width": width, "height": height},
        permissions=["clipboard-read", "clipboard-write"],
    )
    screen.drawn(6)
    check_selection(screen)
    written = rnnlens.load(probed_run)(TEXT)["h2"][2].written_by()
    check_acts(screen, written)
    check_steps(screen)
    check_typing(screen)
    assert findings(screen) == []
    button(screen, "Copy link").click()
    expect(screen.find(".share .said")).to_have_text("copied")
    link = screen.page.evaluate("navigator.clipboard.readText()")
    assert link == screen.page.url
    other = look(link.removeprefix(screen.address), viewport={"width": width, "height": height})
    expect(other.find(".writtenby tfoot")).to_contain_text(signed(written.difference))
    for part in (".panel h2", ".writtenby", ".held"):
        for _ in range(50):  # divergences are on their way
            texts = [one.find(part).inner_text() for one in (other, screen)]
            if texts[0] == texts[1]:
                break
            other.page.wait_for_timeout(100)
        assert texts[0] == texts[1]
    for kind in ("focus", "pin"):
        assert other.rings(kind) == screen.rings(kind)
    expect(other.page.get_by_role("button", name="Undo")).to_be_disabled()


def test_keys_are_letters_of_the_text_while_nothing_is_selected(look):
    screen = look(LINK)
    screen.drawn(6)
    screen.page.keyboard.type(" we")
    expect(screen.find("#text")).to_have_value(f"{TEXT}we")  # a space alone begins nothing
    screen.page.keyboard.press("Control+z")
    expect(screen.find("#text")).to_have_value(TEXT)
    screen.drawn(6)
    screen.select(1, "cell state, layer 2")
    button(screen, "compact").or_(screen.page.get_by_role("radio", name="compact")).first.click()
    screen.page.keyboard.press("w")  # with the focus on a button, too
    expect(screen.find(".writtenby")).to_be_visible()
    expect(screen.find("#text")).to_have_value(TEXT)
    screen.page.get_by_role("textbox", name="says").fill("p")
    screen.page.keyboard.press("e")  # in a field it is a letter
    expect(screen.page.get_by_role("dialog", name="change a state")).to_be_hidden()
    expect(screen.find(".held")).to_have_count(0)


def test_a_key_waits_for_the_turn_that_it_goes_to(look):
    screen = look(LINK)
    screen.drawn(6)
    held = []
    screen.page.route("**/api/turns", lambda route: held.append(route))  # noqa: PLW0108
    screen.select(0, "embedding")
    with screen.page.expect_request("**/api/turns"):
        screen.page.keyboard.press("t")
    expect(screen.find(".turning h3")).to_have_text(re.compile("^Largest turnsbits"))
    screen.page.keyboard.press("Enter")
    expect(screen.find(".held")).to_have_count(0)
    for route in held:
        route.continue_()
    expect(screen.find(".held")).to_have_count(1)
    assert screen.rings("pin") == screen.rings("focus") != [(0, 0)]
