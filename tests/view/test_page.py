"""The page in a real browser, against the real server and a really trained run."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect


@pytest.fixture
def page(browser: Browser, demo_address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    told: list[str] = []
    opened.on("console", lambda message: told.append(message.text))
    opened.on("pageerror", lambda error: told.append(str(error)))
    opened.goto(demo_address)
    expect(opened.locator("#grid tr").first).to_be_visible()
    yield opened
    context.close()
    assert told == []


def test_a_sentence_is_drawn_at_first_sight(page):
    words = page.locator("#grid .word").all_inner_texts()
    assert [word.strip() for word in words][:3] == ["``", "the", "old"]
    expect(page.locator("#legend li")).to_have_text(["noun", "verb", "adj", "adv", "other"])


def test_typing_redraws_and_the_network_knows_its_grammar(page):
    page.fill("#text", "the dogs")
    expect(page.locator("#grid tr")).to_have_count(2)
    after = page.locator("#grid tr").nth(1).locator(".bars svg").get_attribute("aria-label")
    plural = {
        "see",
        "like",
        "follow",
        "hear",
        "remember",
        "paint",
        "visit",
        "help",
        "chase",
        "find",
    }
    singular = {"sees", "likes", "follows", "hears", "remembers", "paints", "visits", "helps"}
    shown = {part.split()[0] for part in after.split(": ")[1].split(", ")}
    assert shown & plural
    assert not shown & singular


def test_an_empty_sentence_draws_nothing_and_complains_of_nothing(page):
    page.fill("#text", "")
    expect(page.locator("#grid tr")).to_have_count(0)
    expect(page.locator("#problem")).to_be_hidden()


def test_unknown_words_are_marked(page):
    page.fill("#text", "the zyzzyva")
    expect(page.locator("#grid .word small")).to_have_text(["unknown word"])


def test_markup_in_words_is_never_interpreted(page):
    page.fill("#text", "<img src=x onerror=alert(1)> <b>bold</b>")
    expect(page.locator("#grid tr").first).to_contain_text("<")
    assert page.locator("#grid img, #grid b b").count() == 0


def test_the_address_holds_the_sentence(page, demo_address):
    page.fill("#text", "she paints a house .")
    expect(page.locator("#grid tr")).to_have_count(5)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#grid tr")).to_have_count(5)
    assert other.input_value("#text") == "she paints a house ."


def test_a_server_that_is_gone_is_said(browser, demo_address):
    page = browser.new_page()
    page.goto(demo_address)
    expect(page.locator("#grid tr").first).to_be_visible()
    page.route("**/api/grid*", lambda route: route.abort())
    page.fill("#text", "the dog")
    expect(page.locator("#problem")).to_contain_text("does not answer")
    page.unroute("**/api/grid*")
    page.fill("#text", "the dogs")
    expect(page.locator("#problem")).to_be_hidden()
    page.close()
