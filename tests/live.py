"""What is tried of a live widget, whichever notebook shows it."""

import os
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

import rnnlens

TEXT = "`` the old teacher follows the birds , '' she said ."
NASTY = "the <img/src=x/onerror=alert(1)> dogs $a$ see &amp; a bird"
FOLDERS = """JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR JUPYTERLAB_SETTINGS_DIR
    JUPYTERLAB_WORKSPACES_DIR IPYTHONDIR XDG_CACHE_HOME XDG_CONFIG_HOME""".split()


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's is read or written."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON"))}
    own = {name: str(home / name.lower()) for name in FOLDERS}
    return {**kept, **own, "HOME": str(home)}


def mark(view: Locator, row: int, column: str) -> Locator:
    """The rectangle of a state, by its row and its column's name."""
    script = "all => all.map(one => one.getAttribute('aria-label'))"
    heads = view.locator(".head g[role=columnheader]").evaluate_all(script)
    states = view.locator(f".row[aria-rowindex='{row + 2}'] .state")
    return states.nth(heads.index(column)).locator(".mark")


def said(view: Locator, row: int) -> list[str]:
    """The most probable label of each state in a row."""
    states = view.locator(f".row[aria-rowindex='{row + 2}'] .state")
    found = states.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    labels = [re.sub(r"^.*?%; (.*?) [<>]?[\d.]+%.*$", r"\1", label) for label in found]
    return [re.sub(r"^\D+ \((.+)\)$", r"\1", label) for label in labels]  # comma (,)


def expect_words(view: Locator, words: list[str]) -> None:
    """All of them are drawn that fit, and nothing more is on its way."""
    scroller, heads = view.locator(".scroller"), view.locator(".row [role=rowheader]")
    expect(scroller).to_have_attribute("aria-rowcount", str(len(words) + 1))
    expect(scroller).to_have_attribute("aria-busy", "false")
    script = "all => all.map(one => one.getAttribute('aria-label').split(', unknown')[0])"
    drawn = heads.evaluate_all(script)
    assert len(drawn) >= min(len(words), 8)
    starts = range(len(words) - len(drawn) + 1)  # it may be scrolled to what was typed
    assert any(drawn == words[k : k + len(drawn)] for k in starts), (drawn, words)


def check_grid(page: Page, view: Locator, run: Path) -> None:
    """A selected state, pins with their exact divergence, keys, density, kinds."""
    grid = rnnlens.load(run)(TEXT)
    expect_words(view, TEXT.split())
    box = view.bounding_box()
    assert box
    assert 300 < box["height"] < 800
    mark(view, 2, "output state, layer 1").click(force=True)  # it may be hatched
    expect(view.locator(".panel h2")).to_have_text("output state 1, after “old”")
    expect(view.locator(".detail")).to_contain_text("entropy")
    page.keyboard.press("p")
    mark(view, 4, "cell state, layer 2").click(force=True)
    bits = grid["h1"][2].divergence(grid["c2"][4])
    expect(view.locator(".held .distance")).to_have_text(re.compile(rf"^{bits:.2f} bits"))
    view.locator(".scroller").focus()
    for key in ("ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(view.locator(".held")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(view.locator(".ring.focus")).to_have_count(0)
    view.get_by_role("button", name="clear").click()
    expect(view.locator(".held")).to_have_count(0)
    view.get_by_text("compact", exact=True).click()
    expect(view.locator(".scroller")).to_have_attribute("data-density", "compact")
    view.get_by_text("parts", exact=True).click()
    view.get_by_text("outputs only").click()
    expect(view.locator(".head g[role=columnheader]")).to_have_count(4)


def check_lens(page: Page, view: Locator, run: Path) -> None:
    """Typing, semantics, what is refused, and what is not taken for HTML."""
    lens = rnnlens.load(run)
    field = view.locator("textarea")
    field.click()
    page.keyboard.press("End")
    page.keyboard.type(" dd the a b birds")
    text = f"{lens.examples()[0]} dd the a b birds"
    expect_words(view, text.split())
    field.fill("the zyz")
    expect(view.locator(".row.unfinished")).to_have_count(1)  # half a word
    field.fill(text)
    expect_words(view, text.split())
    view.get_by_text("current word", exact=True).click()
    taken = view.get_by_role("radio", name="current word")
    expect(taken).to_have_attribute("aria-checked", "true")
    expect_words(view, text.split())
    grid = lens(text, "input").json
    shown = [column["shown"] for column in grid["columns"]]
    states = [state for state, drawn in zip(grid["rows"][1], shown, strict=True) if drawn]
    assert said(view, 1) == [state["top"][0][0] for state in states]
    field.fill("the " * 2001)
    expect(view.locator(".note.cut")).to_contain_text("the first 2,000 of 2,001 words are drawn")
    field.fill(NASTY)
    expect(view.locator(".note.cut")).to_be_hidden()
    expect_words(view, lens(NASTY).words)
    expect(view.locator("img")).to_have_count(0)
