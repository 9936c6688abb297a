"""Everybody can use the page: nothing serious for axe-core, whole rings, rows as sentences."""

from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.sampling import sampled

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
TEXT = "the old dog sees a bird ."
LINK = f"#text={TEXT.replace(' ', '+')}"
# Who commands by voice says what is written on a control. A cell is none: it is told with values.
OFF = {"label-content-name-mismatch": {"enabled": False}}
VIEWS = {
    "bars": LINK,
    "a state in view": f"{LINK}&at=c2:3",
    "compact": f"{LINK}&density=compact&kinds=all",
    "compared": f"{LINK}&at=c2:3&pin=l2:3&pin=h2:4&pin=h1:2/input/a+small+bird",
    "one pin": f"{LINK}&at=c2:3&pin=h1:2/input/a+small+bird",
    "accuracy": f"{LINK}&page=accuracy",
    "a bad link": f"{LINK}&bars=9",
    "nothing": "#text=",
}


def findings(screen):
    """What axe-core calls serious or worse, with the elements it is about."""
    assert AXE.is_file(), "axe-core is not there; install it: npm ci"
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = screen.page.evaluate("(off) => axe.run(document, { rules: off })", OFF)
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize(
    ("view", "scheme"),
    sampled(product(VIEWS, ("light", "dark")), ("compared", "light"), ("compact", "dark")),
)
def test_axe_finds_nothing_serious(look, view, scheme):
    screen = look(VIEWS[view], color_scheme=scheme)
    screen.settled()
    screen.page.wait_for_timeout(300)
    assert findings(screen) == []


@pytest.mark.parametrize("name", sampled(["parts", "display", "save", "examples"], "display"))
def test_axe_finds_nothing_serious_in_menus(look, name):
    screen = look(LINK)
    screen.drawn(7)
    screen.page.click(f".menu summary:has-text('{name}')")
    assert findings(screen) == []


CLIPPED = """(one) => {
  const box = one.getBoundingClientRect(), style = getComputedStyle(one);
  const out = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
  if (style.outlineStyle === "none") return false;
  for (let at = one.parentElement; at; at = at.parentElement) {
    if (getComputedStyle(at).overflow === "visible") continue;
    const outer = at.getBoundingClientRect();
    if (box.left - out < outer.left - 0.5 || box.right + out > outer.right + 0.5
      || box.top - out < outer.top - 0.5 || box.bottom + out > outer.bottom + 0.5) return true;
  }
  return box.left - out < 0 || box.right + out > innerWidth || box.bottom + out > innerHeight;
}"""


def test_focus_rings_are_not_clipped(look):
    screen = look(f"{LINK}&at=c2:3&pin=l2:3&pin=h2:4")
    screen.drawn(7)
    expect(screen.apart(1)).to_contain_text("bits")
    screen.page.focus("#text")
    for _ in range(20):
        screen.page.keyboard.press("Tab")
        focused = screen.page.evaluate_handle("document.activeElement").as_element()
        assert not focused.evaluate(CLIPPED), focused.evaluate("one => one.outerHTML.slice(0, 120)")


@pytest.mark.release
def test_nothing_moves_for_those_who_asked_for_that(look):
    screen = look(LINK, reduced_motion="reduce")
    screen.drawn(7)
    moving = screen.page.evaluate("""[...document.querySelectorAll(".rnnlens, .rnnlens *")]
      .filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0).length""")
    assert moving == 0


def test_a_row_is_heard_as_a_sentence(look):
    screen = look(LINK)
    screen.drawn(7)
    said = screen.find(".row").nth(2).get_attribute("aria-label")
    grid = screen.ask("api/grid", {"text": TEXT, "limit": 100})
    (label, p), *_ = grid["rows"][2][-1]["top"]
    percent = f"{p:.0%}" if p >= 0.0995 else f"{p:.1%}"
    assert said == f"Word 3, dog: the model expects {label} next, {percent}; then came sees."
