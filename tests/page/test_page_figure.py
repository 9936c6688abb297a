"""Figure mode: a part of the grid is chosen by pointer or key, previewed as printed, and saved."""

import re

import pytest
from playwright.sync_api import expect
from tests.page.test_page_access import findings

TEXT = "the old dog sees a bird ."
LINK = f"#text={TEXT.replace(' ', '+')}&pin=l2:4"


@pytest.fixture
def figure(look):
    """The page in figure mode, with a pin, and its preview drawn."""

    def opened(**other):
        screen = look(LINK, **other)
        screen.drawn(7)
        screen.page.get_by_role("button", name="figure").click()
        drawn(screen)
        return screen

    return opened


def drawn(screen):
    """Wait until the figure is that of what is chosen."""
    screen.page.wait_for_timeout(250)
    # The first figure of a process takes longest: matplotlib is loaded for it.
    expect(screen.find(".figure[aria-busy=false] img")).to_be_visible(timeout=30_000)


def fields(screen):
    return [screen.page.get_by_label(name, exact=True).input_value() for name in ("rows", "parts")]


def middle(screen, row, column):
    box = screen.state(row, column).locator(".mark").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(screen, *ends):
    """From one state to another; beyond the grid's edge a word or a head is taken hold of."""
    for end, move in zip(ends, (screen.page.mouse.down, screen.page.mouse.up), strict=True):
        screen.page.mouse.move(*end, steps=4)
        move()


@pytest.mark.release
def test_rows_and_columns_are_chosen_by_dragging(figure):
    screen = figure()
    screen.page.keyboard.press("Escape")
    screen.pin(1, "output state, layer 1")  # what is pinned now is ringed, too
    screen.page.get_by_role("button", name="figure").click()
    drawn(screen)
    expect(screen.find(".command code")).to_contain_text("--pins l2:4,h1:2")
    expect(screen.page.get_by_label("pins", exact=True)).to_be_checked()
    first, last = (
        middle(screen, 2, "cell state, layer 1"),
        middle(screen, 4, "long-term memory, layer 2"),
    )
    drag(screen, first, last)
    assert fields(screen) == ["3-5", "c1,h1,l2"]
    expect(screen.find(".picked > div")).to_have_count(1)
    box = screen.find(".picked > div").bounding_box()
    assert box["y"] < first[1] < last[1] < box["y"] + box["height"]
    assert box["x"] < first[0] < last[0] < box["x"] + box["width"]
    words, head = (
        screen.find(".row .word").first.bounding_box(),
        screen.find(".head").bounding_box(),
    )
    drag(screen, (words["x"] + 40, middle(screen, 6, "embedding")[1]), (500, first[1]))
    assert fields(screen) == ["3-7", ""]  # whole rows
    drag(screen, (first[0], head["y"] + 30), (last[0], first[1]))
    assert fields(screen) == ["", "c1,h1,l2"]  # whole columns
    expect(screen.find(".ring.pin")).to_have_count(2)  # dragging pins nothing


@pytest.mark.release
def test_keys_choose_as_the_pointer_does(figure):
    screen = figure()
    screen.find(".scroller").focus()
    for key in (
        "ArrowDown",
        "ArrowDown",
        "ArrowRight",
        "Enter",
        "Shift+ArrowRight",
        "Shift+ArrowDown",
    ):
        screen.page.keyboard.press(key)
    assert fields(screen) == ["2-3", "l1,s1"]
    expect(screen.find(".held")).to_have_count(1)
    screen.page.get_by_label("rows", exact=True).fill("1,6-")
    screen.page.get_by_label("parts", exact=True).fill("layer2")
    expect(screen.find(".picked > div")).to_have_count(2)
    screen.page.get_by_label("rows", exact=True).fill("6-99")
    expect(screen.find(".figure .wrong")).to_contain_text("give numbers from 1 to 7")
    expect(screen.find(".figure img")).to_have_count(0)
    screen.page.keyboard.press("Escape")
    expect(screen.find(".figure")).to_be_hidden()
    expect(screen.page.get_by_role("button", name="figure")).to_be_focused()
    expect(screen.find(".held")).to_have_count(1)  # what Escape closed was the figure


def test_the_preview_is_what_is_saved_and_what_the_command_writes(
    figure, tmp_path, command, probed_run
):
    screen = figure()
    page = screen.page
    page.get_by_label("rows", exact=True).fill("3-4")
    page.get_by_label("parts", exact=True).fill("layer2")
    page.get_by_role("radio", name="double").click()
    drawn(screen)
    expect(screen.find(".figure .size")).to_have_text(re.compile(r"^6\.9 × \d\.\d in .*pt"))
    assert abs(screen.find(".figure img").bounding_box()["width"] - 6.9 * 96) < 1
    said = screen.find(".command code").inner_text()
    assert "--rows 3-4 --kinds layer2 --width 6.9 --pins l2:4 -o figure.pdf" in said
    shown = screen.find(".figure img").evaluate("one => decodeURIComponent(one.src)")
    saved = {}
    for ending in ("SVG", "PDF", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=ending, exact=True).click()
        saved[ending] = download.value.path().read_bytes()
        assert (
            download.value.suggested_filename == f"rnnlens-the-old-dog-sees-a-bird.{ending.lower()}"
        )
    assert shown.endswith(saved["SVG"].decode())
    assert saved["PDF"].startswith(b"%PDF-")
    assert saved["PNG"].startswith(b"\x89PNG")
    flags = "--rows 3-4 --kinds layer2 --width 6.9 --pins l2:4".split()
    path = tmp_path / "figure.svg"
    assert command("show", probed_run, TEXT, *flags, "-o", path).code == 0
    number = re.compile(r"-?\d+\.\d+")
    plain = [number.sub(lambda one: f"{float(one[0]):.1f}", svg) for svg in
             (saved["SVG"].decode(), path.read_text(encoding="utf-8"))]  # fmt: skip
    assert plain[0] == plain[1]
    for name in ("pins", "key"):
        before = screen.find(".figure img").get_attribute("src")
        page.get_by_label(name, exact=True).uncheck()
        drawn(screen)
        assert screen.find(".figure img").get_attribute("src") != before


@pytest.mark.release
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_figure_mode(figure, scheme):
    screen = figure(color_scheme=scheme)
    assert findings(screen) == []
    expect(screen.page.get_by_role("region", name="figure for print")).to_be_visible()
    screen.page.fill("#text", "the old bird")  # the figure follows the text
    drawn(screen)
    expect(screen.find(".figure img")).to_have_attribute("alt", "figure of the old bird")
