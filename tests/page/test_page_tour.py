"""The tour: offered once to a person who comes with nothing in mind, and done rather than read."""

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.page.test_page_access import findings
from tests.screen import Screen

PERSON = "Object.defineProperty(navigator, 'webdriver', { get: () => false });"
FORGETFUL = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('none'); } });"


@pytest.fixture
def visit(browser: Browser, address: str):
    """Come as a person does, with a memory that is empty at first."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(PERSON)
    told: list[str] = []

    def visited(view: str = "", script: str = "") -> Screen:
        page: Page = context.new_page()
        page.on("pageerror", lambda error: told.append(str(error)))
        page.add_init_script(script)
        page.goto(address + view)
        expect(page.locator(".row").first).to_be_visible()
        return Screen(page, address)

    yield visited
    context.close()
    assert told == []


def step(screen: Screen, name: str) -> None:
    expect(screen.find(".tour h2")).to_have_text(name)


def test_whoever_comes_with_something_in_mind_is_not_shown_round(visit):
    for view in ("#text=the+dog", "#view=bare"):
        screen = visit(view)
        screen.page.wait_for_timeout(200)
        expect(screen.find(".tour")).to_have_count(0)
    forgetful = visit(script=FORGETFUL)  # it would begin anew every time
    forgetful.page.wait_for_timeout(200)
    expect(forgetful.find(".tour")).to_have_count(0)


@pytest.mark.release
def test_each_step_goes_on_once_it_is_done(visit):
    screen = visit()
    page = screen.page
    step(screen, "1 of 4: Type")
    assert page.evaluate("document.activeElement === document.body")  # it takes no focus
    assert findings(screen) == []
    screen.write("the old dog sees a bird")
    step(screen, "2 of 4: Select")
    ring = screen.find(".tourring").bounding_box()
    page.mouse.click(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)  # what it rings
    step(screen, "3 of 4: Change")
    page.get_by_role("button", name="Change").click()
    page.locator(".whatif").get_by_role("button", name="zero").click()
    step(screen, "4 of 4: Explain")
    page.get_by_role("button", name="Explain").click()
    expect(screen.find(".tour")).to_have_count(0)

    again = visit()  # once
    again.page.wait_for_timeout(200)
    expect(again.find(".tour")).to_have_count(0)
    again.page.keyboard.press("?")
    again.page.get_by_role("button", name="Take the tour").click()
    step(again, "1 of 4: Type")
    again.page.get_by_role("button", name="Next").click()
    step(again, "2 of 4: Select")
    again.page.keyboard.press("Escape")
    expect(again.find(".tour")).to_have_count(0)
    again.page.keyboard.press("?")
    again.page.get_by_role("button", name="Take the tour").press("Enter")
    for name in ("1 of 4: Type", "2 of 4: Select", "3 of 4: Change", "4 of 4: Explain"):
        step(again, name)
        again.find(".tourend .toggle").click()
    expect(again.find(".tour")).to_have_count(0)
