"""Why, on the page: states that are edited, and which words have written them."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.page.test_page_access import findings

import rnnlens
from rnnlens.draw.printable import name_of

TEXT = "the dogs see the old birds"
VIEW = f"#text={TEXT.replace(' ', '+')}"
CELL = "cell state, layer 2"


def choose(screen, name):
    """Take a line of the menu that is open."""
    screen.find(".sheet.whatif").get_by_role("button", name=name, exact=True).click()


def test_a_state_is_edited_by_keyboard_marked_linked_and_undone(look, probed_run):
    screen = look(f"{VIEW}&at=c2:2&follow=birds")
    screen.drawn(6)
    lens = rnnlens.load(probed_run)
    plain, edited = lens(TEXT), lens(TEXT, edits=["c2@2=0"])
    expect(screen.find(".number")).to_have_count(6 * 10)
    before = screen.states()
    screen.find(".scroller").focus()
    screen.page.keyboard.press("e")
    expect(screen.find(".sheet.whatif")).to_be_visible()
    screen.page.keyboard.press("Enter")  # the first way: zero
    expect(screen.find(".editline li")).to_have_text(re.compile("c2 after dogs: zero"))
    screen.settled()
    expect(screen.find(".scroller")).to_be_focused()
    expect(screen.find(".state[aria-label*='followed']")).to_have_count(6 * 10)
    now = screen.states()
    assert now[: len(before) // 6] == before[: len(before) // 6], "rows before stay as they were"
    bits = (edited - plain)["c2"][1]
    expect(screen.state(1, CELL)).to_have_attribute(
        "aria-label", re.compile(rf"changed by you, {bits:.2f} bits from before")
    )
    assert screen.find("rect.edited").count() == 1
    assert "edit=c2@2=0" in screen.page.url
    assert screen.page.title().endswith("c2@2=0")
    points = 100 * (edited - plain).follow("birds")[1, -1]
    sign = "−" if points < 0 else r"\+"
    last = screen.find(".row[aria-rowindex='3'] .state").last
    assert abs(points) >= 0.05
    expect(last).to_contain_text(re.compile(rf"{sign}{abs(points):.1f}"))
    expect(last).to_have_attribute("aria-label", re.compile(r"followed [\d<.]+%, was [\d<.]+%"))
    screen.page.keyboard.press("e")
    assert findings(screen) == []
    screen.page.keyboard.press("Escape")
    screen.page.get_by_role("button", name="how it goes on").click()
    goes_on = edited.continuation(12, samples=5, seed=1)
    expect(screen.find(".likeliest")).to_have_text(
        list(map(" ".join, (goes_on.words, goes_on.before)))
    )
    drawn = [" ".join(words) for words in (*goes_on.samples, *goes_on.samples_before)]
    expect(screen.find(".way li")).to_have_text(drawn)
    expect(screen.page).to_have_url(re.compile("[&#]seed=1(&|$)"))
    assert findings(screen) == []
    screen.page.get_by_role("button", name="other samples").click()
    expect(screen.find(".way li").first).not_to_have_text(drawn[0])
    screen.page.go_back()
    expect(screen.find(".way li")).to_have_text(drawn)
    screen.page.get_by_role("button", name="how it goes on").click()
    expect(screen.find(".ways")).to_be_hidden()
    assert "seed=" not in screen.page.url
    screen.find(".editline li button").click()
    expect(screen.find("rect.edited")).to_have_count(0)
    expect(screen.find(".editline")).to_be_hidden()
    assert "edit=" not in screen.page.url
    screen.page.go_back()
    expect(screen.find("rect.edited")).to_have_count(1)


def test_edits_go_on_with_what_is_typed_and_what_is_dropped_is_said(look, probed_run):
    screen = look(f"{VIEW}&edit=c2@2=0&edit=l2@6*0.5&edit=q9@1=0", quiet=False)
    note = screen.find(".note.edits")
    expect(note).to_contain_text("'q9' is no kind")
    expect(screen.find(".editline li")).to_have_count(2)
    screen.write("the dogs see the old")
    expect(screen.find(".editline li")).to_have_count(1)
    expect(note).to_contain_text("l2@6*0.5 is about word 6")
    lens = rnnlens.load(probed_run)
    edited = lens("the dogs see the old", edits=["c2@2=0"])
    label, p = edited.json["rows"][4][-1]["top"][0]
    said = screen.find(".row").nth(4).locator(".state").last.get_attribute("aria-label")
    percent = f"{p:.0%}" if p >= 0.0995 else f"{p:.1%}"
    named = name_of(label, edited.json)
    assert f"; {f'{named} ({label})' if named else label} {percent}" in said
    expect(screen.page).to_have_url(re.compile(r"edit=c2@2=0(&|$)"))
    screen.write("the cats see the old", 5)  # another word of the same row
    expect(screen.find(".editline li")).to_have_text(re.compile("c2 after cats: zero"))


@pytest.mark.release
def test_a_state_is_swapped_with_a_pinned_one_and_pushed_towards_a_label(look, probed_run):
    screen = look(f"{VIEW}&pin=c2:5&pin=c2:2//the+dog+sees&pin=l2:2")
    screen.drawn(6)
    screen.select(1, CELL)
    screen.page.mouse.down(button="right")
    screen.page.mouse.up(button="right")
    expect(screen.find(".sheet.whatif")).to_contain_text("swap with that of word 2 of “the dog")
    choose(screen, "swap with that after old")
    expect(screen.find(".editline li")).to_have_text(re.compile("c2 after dogs: that after old"))
    lens = rnnlens.load(probed_run)
    swapped = lens(TEXT, edits=["c2@2=@5"])
    pinned = swapped["c2"][4].divergence(swapped["c2"][1])
    expect(screen.apart(0, "the selected state")).to_contain_text(f"{pinned:.2f} bits")
    screen.select(2, CELL)
    screen.page.get_by_role("button", name="Change").click()
    screen.find(".push input").fill("birds")
    choose(screen, "towards")
    expect(screen.find(".editline li")).to_have_count(2)
    assert "edit=c2@2=@5&edit=c2@3%2B1:birds" in screen.page.url
    pushed = lens(TEXT, edits=["c2@2=@5", "c2@3+birds"])
    label = pushed["c2"][2].top(1)[0][0]
    expect(screen.state(2, CELL)).to_have_attribute(
        "aria-label", re.compile(rf"; {re.escape(label)} ")
    )
    screen.find(".editline").get_by_role("button", name="take all back").click()
    expect(screen.find(".editing")).to_have_count(0)


def test_who_wrote_a_state_is_told_in_the_panel_and_beside_the_words(look, probed_run):
    screen = look(f"{VIEW}&at=y:6", color_scheme="dark")
    screen.drawn(6)
    section = screen.find(".writtenby")
    assert section.locator("table").count() == 0, "only on demand"
    screen.find(".scroller").focus()
    screen.page.keyboard.press("w")
    state = rnnlens.load(probed_run)(TEXT)["y"][5]
    written = state.written_by()
    told = section.locator("tbody tr td:last-child")
    expect(told).to_have_text(lost(written))  # the causal one first
    expect(section.locator("tfoot")).to_have_count(0)
    expect(section.locator(".ahead")).to_contain_text(f"by {abs(written.difference):.2f} logits")
    section.get_by_role("radio", name="path").click()
    expect(section.locator("tfoot")).to_contain_text(signed(written.difference))
    assert written.path is not None
    path = [signed(value) for value in written.path]
    told = section.locator("tbody tr td:last-child").all_text_contents()
    assert told == [signed(written.path_rest), *path]
    heads = [f"{word}, path {part}" for word, part in zip(written.words, path, strict=True)]
    assert screen.words() == heads
    assert screen.find(".word .part").count() == 6
    first = section.locator("tbody tr").nth(1).get_attribute("title")
    titles = first.splitlines()
    assert [re.split(r" [+−]?\d", line)[0] for line in titles[:-1]] == [
        "without this word", "path", "stored", "through gates",
    ]  # fmt: skip
    assert titles[-1].startswith(f"read in its place: {written.drawn[0][0]}")
    section.get_by_role("textbox", name="says").fill("see")
    section.get_by_role("textbox", name="against").fill("sees")
    other = state.written_by("see", against="sees")
    expect(section.locator("tfoot")).to_contain_text(signed(other.difference))
    assert findings(screen) == []
    screen.page.reload()  # all of it is in the link
    expect(section.locator("tfoot")).to_contain_text(signed(other.difference))
    expect(section.get_by_role("radio", name="path")).to_have_attribute("aria-checked", "true")
    section.get_by_role("radio", name="without").click()
    section.get_by_label("what is read in a word’s place").select_option("unknown")
    fixed = state.written_by("see", against="sees", stand_in="unknown")
    rows = section.locator("tbody tr td:last-child")
    expect(rows).to_have_text([signed(value) for value in fixed.without])
    expect(section).to_contain_text("with the unknown word “UNK” in its place")
    expect(screen.page).to_have_url(re.compile("stand_in=unknown"))
    screen.page.reload()
    expect(rows).to_have_text([signed(value) for value in fixed.without])
    screen.select(2, "short-term memory, layer 2")
    expect(section).to_contain_text(
        "Only memories, what is read of them, outputs and the prediction"
    )
    expect(screen.page.get_by_role("button", name="Explain")).to_be_disabled()
    assert screen.find(".word .part").count() == 0


def lost(written):
    """What is lost without each word, as the page writes it: with how sure that is."""
    assert written.high is not None
    return [
        f"{signed(value)} ±{high - value:.2f}" if np.isfinite(value) else "—"
        for value, high in zip(written.without, written.high, strict=True)
    ]


def signed(value):
    """As the page writes logits."""
    said = f"{abs(value):.2f}"
    return said if said == "0.00" else f"{'−' if value < 0 else '+'}{said}"


def test_what_is_read_stands_beside_what_is_used(look, probed_run, demo_address):
    screen = look(f"{VIEW}&at=f2:2&kinds=all")
    screen.drawn(6)
    grid = screen.ask("api/grid", {"text": TEXT})
    column = next(one for one in grid["columns"] if one["id"] == "f2")
    assert column["used_interval"] is None  # of ten sentences, which are too few for one
    told = ".detail dt:has-text('used') + dd"
    expect(screen.find(told)).to_have_text(f"{column['used']:.2f}")
    demo = look("#text=the+dogs&at=h2:2", at=demo_address)
    number = r"−?\d\.\d\d"
    sure = re.compile(rf"^{number} \({number}(–| to ){number}(, [a-z ]+)?\)$")
    expect(demo.find(told)).to_have_text(sure)
    screen.page.click("text=accuracy")
    scores = rnnlens.load(probed_run).subject.scores.to_json()["semantics"]["output"]
    heads = screen.find(".accuracy thead th").all_inner_texts()
    place = heads.index("used") + 1
    cells = screen.find(f".accuracy tbody tr > :nth-child({place})").all_text_contents()
    assert cells == [f"{score['used']['used']:.2f}" for score in scores]
    expect(screen.find(".accuracy rect.use")).to_have_count(len(scores))
