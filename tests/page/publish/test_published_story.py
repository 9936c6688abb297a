"""A published story in a browser: prose beside the lens, which shows what is told."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.page.test_page_access import findings
from tests.screen import Screen

from rnnlens.lens.lens import Lens

LONG = "\n\n".join(["The dog is old, and it sees a bird. " * 12] * 3)
STORY = f"""\
# Dogs and birds

Read [the dog](#text=the+old+dog+sees+a+bird+.&kinds=outputs) first. See [the end](#the-end).

![A dog, drawn as a square](dog.svg)

{LONG}

After *dog*: [the memory](#text=the+old+dog&at=l2:3&kinds=l2,c2,y), and
[without it](#text=the+old+dog&edit=l2@3=0).

{LONG}

- [She](#text=she+said+the+dogs+see) says so

{LONG}

## The end

Nothing more.
"""

DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><path d="M5 5h30v30z"/></svg>'
)


@pytest.fixture(scope="module")
def story(formula: Lens, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("story")
    (folder / "story.md").write_text(STORY, encoding="utf-8")
    (folder / "dog.svg").write_text(DRAWING, encoding="utf-8")
    return formula.publish(folder / "lens.html", precision="fp16", story=folder / "story.md")


@pytest.fixture
def open_story(browser: Browser, story: Path) -> Iterator[object]:
    contexts, said = [], list[str]()

    def opened(view: str = "", width: int = 1280, height: int = 800) -> Screen:
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(story.as_uri() + view)
        return Screen(page, story.as_uri())

    yield opened
    for context in contexts:
        context.close()
    assert said == []


def read(page: Page, words: str) -> None:
    """Scroll until a paragraph is where one reads."""
    top = page.locator(".story [data-view]", has_text=words).evaluate(
        "(one) => one.getBoundingClientRect().top + scrollY"
    )
    below = page.locator("#lens").evaluate(
        "(one) => one.clientWidth > innerWidth * 0.9 ? one.getBoundingClientRect().bottom : 0"
    )
    page.evaluate(f"scrollTo(0, {top} - {below} - 0.3 * (innerHeight - {below}))")
    expect(page.locator(".story [aria-current]")).to_contain_text(words)


def test_scrolling_and_clicks_set_the_lens_and_undo_leads_back(open_story):
    screen = open_story()
    page = screen.page
    screen.drawn(7)  # of the first view, which the file was written with
    expect(screen.find(".head g[role=columnheader]")).to_have_count(4)
    expect(page.locator("h1")).to_have_text("Dogs and birds")
    assert page.title().endswith("Dogs and birds")
    assert (
        page.locator(".story img").evaluate("async (one) => (await one.decode(), one.width)") == 40
    )
    assert findings(screen) == []
    steps = page.evaluate("history.length")
    read(page, "After dog")
    screen.drawn(3)
    expect(screen.find(".ring.focus")).to_have_count(1)
    read(page, "She says")
    screen.drawn(5)
    read(page, "After dog")
    screen.drawn(3)
    assert page.evaluate("history.length") == steps  # scrolling leaves no steps behind

    page.fill("#text", "the dog sees now")  # somebody acts
    screen.drawn(4)
    expect(page.locator(".story [aria-current]")).to_contain_text("After dog")
    expect(page).to_have_url(re.compile("the\\+dog\\+sees\\+now"))
    read(page, "She says")
    screen.drawn(5)
    page.go_back()  # what was typed is not lost
    screen.drawn(4)
    expect(page.locator("#text")).to_have_value("the dog sees now")
    page.go_forward()
    screen.drawn(5)

    link = page.get_by_role("link", name="without it")
    link.focus()
    page.keyboard.press("Enter")
    screen.drawn(3)
    expect(page).to_have_url(re.compile("edit=l2@3=0"))
    expect(page.locator(".story [aria-current]")).to_contain_text("After dog")
    page.go_back()
    screen.drawn(5)
    page.get_by_role("link", name="the end").click()
    expect(page.get_by_role("heading", name="The end")).to_be_in_viewport()
    assert "story-" not in page.url


@pytest.mark.release
def test_a_link_into_a_story_opens_there(open_story):
    screen = open_story("#text=she+said+the+dogs+see")
    screen.drawn(5)
    expect(screen.page.locator(".story [aria-current]")).to_be_in_viewport()
    expect(screen.page.locator(".story [aria-current]")).to_contain_text("She says")
    other = open_story("#story-the-end")
    expect(other.page.get_by_role("heading", name="The end")).to_be_in_viewport()
    expect(other.find(".note.link")).to_be_hidden()
    typed = open_story("#text=a+small+bird+now")
    typed.drawn(4)  # of no paragraph


def test_on_a_phone_the_lens_stays_above_the_prose(open_story):
    screen = open_story(width=390, height=844)
    page = screen.page
    screen.drawn(7)
    read(page, "She says")
    screen.drawn(5)
    lens, told = (page.locator(where).bounding_box() for where in ("#lens", "[aria-current]"))
    assert lens["y"] == 0
    assert lens["width"] == 390
    assert lens["height"] < 0.6 * 844
    assert lens["height"] < told["y"] < 844
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert findings(screen) == []
    expect(screen.find(".scroller")).to_be_in_viewport()
