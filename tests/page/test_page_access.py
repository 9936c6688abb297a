"""Everybody can use the page: nothing serious for axe-core, whole rings, rows as sentences."""

import re
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.sampling import sampled
from tests.screen import Screen

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
TEXT = "the old dog sees a bird ."
LINK = f"#text={TEXT.replace(' ', '+')}"
# Who commands by voice says what is written on a control. A cell is none: it is told with values.
OFF = {"label-content-name-mismatch": {"enabled": False}}
SIZES = {"1440": (1440, 900), "1000": (1000, 700), "zoomed": (720, 450), "phone": (390, 844)}
AT = f"{LINK}&at=c2:3"
TWO = "#text=the+old+dog+{sees|saw}+a+bird+."
VIEWS = {  # what is opened, and what is done there, unless nothing is
    "bars": (LINK, ""),
    "examples": (LINK, ".examples summary"),
    "parts": (LINK, ".choose summary"),
    "display": (LINK, ".look summary"),
    "save": (LINK, ".save summary"),
    "keys": (LINK, "[aria-label=keys]"),
    "a kind": (LINK, ".head [data-column=x]"),
    "compact": (f"{LINK}&density=compact&kinds=all", ""),
    "says": (AT, ""),
    "changed": (f"{AT}&edit=c2@3=0&tab=changed", ""),
    "change": (AT, ".act >> nth=0"),
    "written by": (f"{AT}&tab=written", ""),
    "alike": (f"{AT}&tab=alike", ""),
    "folded": (f"{AT}&folded=1", ""),
    "followed": (f"{AT}&follow=a&against=the&turns=1", ""),
    "one pin": (f"{AT}&pin=h1:2/input/a+small+bird", ""),
    "compared": (f"{AT}&pin=l2:3&pin=h2:4&pin=h1:2/input/a+small+bird", ""),
    "two texts": (f"{TWO}&at=h2:6&tab=changed", ""),
    "a figure": (LINK, "[aria-controls=figure]"),
    "bare": (f"{AT}&view=bare", ""),
    "a bad link": (f"{LINK}&bars=9", ""),
    "nothing": ("#text=", ""),
    "accuracy": (f"{LINK}&page=accuracy", ""),
    "corpus": (f"{LINK}&page=corpus", ""),
    "a wrong question": (f"{LINK}&page=corpus&find=l2+expcts+verb", ""),
}


def findings(screen):
    """What axe-core calls serious or worse, with the elements it is about."""
    assert AXE.is_file(), "axe-core is not there; install it: npm ci"
    if not screen.page.evaluate("'axe' in window"):
        screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    how = {"rules": OFF, "resultTypes": ["violations"], "preload": False}
    found = screen.page.evaluate("(how) => axe.run(document, how)", how)
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def shown(size, scheme):
    """A window of a size, or a phone."""
    width, height = SIZES[size]
    hand = {"has_touch": True, "is_mobile": True} if size == "phone" else {}
    viewport = {"width": width, "height": height}
    return {"viewport": viewport, "color_scheme": scheme, "reduced_motion": "reduce", **hand}


EVERYWHERE = list(product(SIZES, ("light", "dark")))
SOME = ("phone", "dark", "display|change|compared|two texts|corpus")


@pytest.mark.parametrize(
    ("size", "scheme", "views"), sampled([*((*one, ".+") for one in EVERYWHERE), SOME], SOME)
)
def test_axe_finds_nothing_serious_on_any_view(look, size, scheme, views):
    screen = look(LINK, **shown(size, scheme))
    found = []
    for name, (link, act) in VIEWS.items():
        if not re.fullmatch(views, name):
            continue
        screen.page.goto(screen.address + link)
        screen.settled()
        if act:
            screen.page.locator(act).first.click()
        screen.page.wait_for_timeout(250)
        found += [f"{name}: {said}" for said in findings(screen)]
        screen.page.keyboard.press("Escape")
    assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def published(formula, tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    story = folder / "story.md"
    story.write_text(f"# A dog\n\nSee [the memory]({AT}).\n\nThe end.\n", encoding="utf-8")
    plain = formula.publish(folder / "plain.html", precision="fp16", note="by me")
    told = formula.publish(folder / "told.html", precision="fp16", story=story)
    return {"file": (plain, ""), "selected": (plain, AT), "bare": (plain, f"{LINK}&view=bare"),
            "story": (told, ""), "memory": (told, AT)}  # fmt: skip


@pytest.mark.parametrize(("size", "scheme"), sampled(EVERYWHERE))
def test_axe_finds_nothing_serious_in_published_files(browser, published, size, scheme):
    found = []
    for name, (path, view) in published.items():
        context = browser.new_context(**shown(size, scheme))
        page = context.new_page()
        page.goto(path.as_uri() + view)
        expect(page.locator(".row").first).to_be_visible()
        page.wait_for_timeout(250)
        found += [f"{name}: {said}" for said in findings(Screen(page, path.as_uri()))]
        context.close()
    assert not found, "\n".join(found)


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
