"""The address bar, and what is saved: both reproduce what was seen."""

import re
import struct
import xml.etree.ElementTree as ET

import pytest
from playwright.sync_api import expect
from tests.held import held_to

from rnnlens.page.saved_page import SavedPage

TEXT = "`` the old dog sees <b> & \"a\" bird , '' she said ."
VIEW = "the selected state"
SVG = "{http://www.w3.org/2000/svg}"


def settle(screen):
    """The address follows a moment after the view."""
    screen.page.wait_for_timeout(350)
    return screen.page.url


def test_a_link_reproduces_the_whole_view(look):
    screen = look()
    screen.page.fill("#text", TEXT)
    expect(screen.find(".row [role=rowheader][aria-label='bird']")).to_be_visible()
    screen.page.click("text=current word")
    screen.page.click(".look summary")
    screen.page.click(".look [aria-label='number of bars'] [data-value='2']")
    screen.page.click(".look [data-value='universal']")
    screen.page.keyboard.press("Escape")
    screen.page.click(".choose summary")
    screen.page.click(".kinds label:has-text('embedding')")
    screen.page.keyboard.press("Escape")
    screen.pin(2, "cell state, layer 1")
    screen.pin(3, "output state, layer 2")
    screen.select(4, "long-term memory, layer 1")
    expect(screen.apart(1)).to_contain_text("bits")
    other = look(settle(screen).removeprefix(screen.address))
    expect(other.apart(1)).to_contain_text("bits")
    assert other.page.input_value("#text") == TEXT
    assert other.states() == screen.states()
    for kind in ("focus", "pin", "feeds", "fed"):
        assert other.rings(kind) == screen.rings(kind)
    assert other.find(".panel").inner_text() == screen.find(".panel").inner_text()
    assert settle(other) == screen.page.url


@pytest.mark.release
def test_a_link_to_a_state_brings_it_into_view(look):
    screen = look(f"#text={'+'.join(['dog'] * 300)}&at=c2:250&kinds=all")
    ring = screen.find(".ring.focus")
    expect(ring).to_be_in_viewport()
    window, box = screen.find(".scroller").bounding_box(), ring.bounding_box()
    assert box["x"] + box["width"] <= window["x"] + window["width"]
    assert screen.rings("focus")[0][0] == 249
    screen.settled()
    screen.find(".scroller").evaluate("one => { one.scrollTop = 0; }")
    screen.write("sees " + "dog " * 299, words=300)  # the view stays where the user put it
    assert screen.find(".scroller").evaluate("one => one.scrollTop") == 0
    screen.write("sees " + "dog " * 298 + "sees", words=300)  # and goes where the text is edited
    expect(screen.find(".row[aria-rowindex='301']")).to_be_in_viewport()


def test_back_and_forward_undo_and_redo(look):
    screen = look("#text=the+dog")
    screen.drawn(2)
    screen.page.click("text=compact")
    screen.page.click("text=current word")
    expect(screen.find("[data-value=input]")).to_have_attribute("aria-checked", "true")
    screen.page.go_back()
    expect(screen.find("[data-value=output]")).to_have_attribute("aria-checked", "true")
    expect(screen.find("[data-value=compact]")).to_have_attribute("aria-checked", "true")
    screen.page.go_back()
    expect(screen.find("[data-value=bars]")).to_have_attribute("aria-checked", "true")
    screen.page.go_forward()
    screen.page.go_forward()
    expect(screen.find("[data-value=input]")).to_have_attribute("aria-checked", "true")
    screen.page.click("text=accuracy")
    expect(screen.find(".accuracy h2")).to_be_visible()
    screen.page.go_back()
    expect(screen.find(".row").first).to_be_visible()
    assert screen.page.input_value("#text") == "the dog"


@pytest.mark.release
def test_what_is_typed_without_a_pause_is_one_step_of_the_history(look):
    screen = look()
    before = screen.page.evaluate("history.length")
    screen.page.focus("#text")
    screen.page.keyboard.type(" and more", delay=40)
    assert "text=" in settle(screen)
    assert screen.page.evaluate("history.length") == before + 1


def test_what_a_link_names_and_nobody_has_is_said_and_the_rest_works(look):
    screen = look(
        "#text=the+dog+sees&kinds=x,q9,c2&semantic=output%2B7&palette=neon&run=brown&bars=8"
        "&pin=c2:2&pin=c2:40&pin=q8:1&at=c2:50&size=3"
    )
    screen.drawn(3)
    told = screen.find(".note.link")
    for part in (
        "the link names part q9, which this run does not have",
        "the link asks about output+7, for which this run has no probes",
        "the link names colours neon, which this run does not have",
        "the link names run brown, which is not served here",
        "the link pins word 40, but the text is shorter",
        "the link selects word 50, but the text is shorter",
        "the link says bars=8, which means nothing here",
        "the link says size=3",
    ):
        expect(told).to_contain_text(part)
    assert len(screen.states()) == 6
    expect(screen.find(".held")).to_have_count(1)
    screen.page.click("text=compact")
    expect(told).to_be_hidden()


@pytest.mark.release
def test_what_a_notice_quotes_is_short(look):
    screen = look("#" + "k" * 50_000)
    expect(screen.find(".note.link")).to_have_text(
        f"the link says {'k' * 79}…, which means nothing here"
    )


@pytest.mark.release
def test_nonsense_in_the_address_breaks_nothing(look):
    screen = look("#%")
    nonsense = "text=%E0%A4%A", "&&=&text", "a" * 5000, "pin=/////", "at=:1", "kinds=,q,&bars=-1"
    for part in nonsense:
        screen.page.evaluate("(part) => { location.hash = part; }", part)
        screen.settled()
        screen.write("the dog")
        assert len(screen.states()) == 20


def saved(screen, what, tmp_path):
    screen.page.click(".menu.save summary")
    with screen.page.expect_download() as waiting:
        screen.page.click(f".menu.save .action:has-text('{what}')")
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def found(pattern, locator):
    match = re.search(pattern, locator.inner_text())
    assert match
    return match[1]


@pytest.fixture
def screen(look):
    opened = look()
    opened.page.fill("#text", TEXT)
    expect(opened.find(".row [role=rowheader][aria-label='bird']")).to_be_visible()
    expect(opened.find(".row.stale")).to_have_count(0)
    return opened


@pytest.mark.release
def test_a_saved_drawing_holds_what_is_seen(screen, tmp_path):
    drawing = ET.parse(saved(screen, "SVG", tmp_path)).getroot()
    texts = ["".join(one.itertext()) for one in drawing.iter(f"{SVG}text")]
    assert any("faded = nearer the base rate" in text and "√probability" in text for text in texts)
    assert TEXT in texts
    marks = [one for one in drawing.iter(f"{SVG}rect") if one.get("class") == "mark"]
    seen = screen.find(".row .mark").evaluate_all(
        "all => all.map((one) => one.getAttribute('fill'))"
    )
    assert len(marks) == 10 * (int(screen.find(".scroller").get_attribute("aria-rowcount")) - 1)
    assert [one.get("fill") for one in marks][: len(seen)] == seen  # below these is more
    assert not any("style" in one.attrib for one in drawing.iter())


def test_a_saved_live_page_begins_with_what_is_seen_and_needs_no_server(look, screen, tmp_path):
    path = saved(screen, "live page", tmp_path)
    expect(screen.find(".note.loading")).to_be_hidden()
    alive = look(at=path.as_uri())
    expect(alive.find("#text")).to_have_value(TEXT)
    alive.write("the dog")
    screen.write("the dog")
    assert alive.words() == screen.words()
    assert len(alive.states()) == len(screen.states())


@pytest.mark.release
def test_a_saved_picture_is_twice_as_fine(screen, tmp_path):
    drawing = ET.parse(saved(screen, "SVG", tmp_path)).getroot()
    picture = saved(screen, "PNG", tmp_path).read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", picture[16:24])
    assert (width, height) == tuple(2 * int(drawing.attrib[side]) for side in ("width", "height"))
    assert len(picture) > 20_000


def test_a_saved_page_works_from_a_file_without_a_server(screen, look, tmp_path):
    tall = {"width": 1280, "height": 1000}  # so that all rows are drawn
    screen.page.set_viewport_size(tall)
    screen.pin(2, "cell state, layer 1")
    screen.pin(3, "output state, layer 2")
    expect(screen.apart(1)).to_contain_text("bits")
    exact = found(r"([\d.]+ bits)", screen.apart(1))
    page = saved(screen, "HTML", tmp_path)
    (held,) = re.findall(r'id="embedded">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert len(held_to(SavedPage, held)["bits"]) == 1
    other = look(page.as_uri(), at="", viewport=tall)
    asked = []
    other.page.on("request", lambda request: asked.append(request.url))
    expect(other.find(".sentence")).to_have_text(TEXT)
    assert other.states() == screen.states()
    expect(other.apart(1)).to_contain_text(exact)
    screen.select(4, "long-term memory, layer 1")
    other.select(4, "long-term memory, layer 1")
    for kind in ("focus", "feeds", "fed", "pin"):
        assert other.rings(kind) == screen.rings(kind)
    for part in ("h2", ".saying .said", ".tabsheet"):
        texts = [one.find(f".panel {part}").all_inner_texts() for one in (other, screen)]
        assert texts[0] == texts[1]
    expect(screen.apart(0, VIEW)).to_contain_text("bits")
    expect(other.apart(0, VIEW)).to_contain_text(re.compile(r"at least [\d.]+ bits"))
    truth, bound = (float(found(r"([\d.]+) bits", one.apart(0, VIEW))) for one in (screen, other))
    assert bound <= truth
    other.page.click("text=compact")
    expect(other.find(".state text")).to_have_count(0)
    other.page.focus(".scroller")
    other.page.keyboard.press("Home")
    assert other.rings("focus")[0][1] == 0
    other.page.keyboard.press("Escape")
    expect(other.find(".ring.focus")).to_have_count(0)
    expect(other.find(".held")).to_have_count(2)
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_the_laboratory_is_that_of_the_network_on_the_screen(look):
    screen = look()  # whose address names none
    shown = screen.page.evaluate("fetch('api/runs').then((answer) => answer.json())")["runs"][0]
    screen.page.route("**/lab?*", lambda route: route.fulfill(body="the laboratory"))
    screen.page.click(".tolab")
    expect(screen.page).to_have_url(re.compile(rf"/lab\?run={re.escape(shown['id'])}$"))
