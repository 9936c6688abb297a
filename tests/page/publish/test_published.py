"""A published lens in a browser: from a file, offline, with nothing but what the file holds."""

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.sampling import sampled
from tests.screen import Screen

import rnnlens
from rnnlens.lens.lens import Lens
from rnnlens.page.publish.live_page import seven_bits

FIRST, OTHER = "the old dog sees a bird .", "she said the dogs see a very small <b> now"
MARKUP = "<b>by</b> </script><script>alert(1)</script> & me"
LISTEN = """window.violations = [];
document.addEventListener("securitypolicyviolation",
  (event) => violations.push(event.blockedURI));"""
WITHOUT = "delete window.Worker; delete window.WebAssembly;"
OLD = """delete window.Worker; delete window.DecompressionStream;
const Pattern = RegExp;
window.RegExp = function (source, flags) {
  if (/[(][?]<[!=]/.test(source)) throw new SyntaxError("invalid group specifier name");
  return new Pattern(source, flags);
};"""

PERSON = "Object.defineProperty(navigator, 'webdriver', { get: () => false });"

Open = Callable[..., Screen]


@pytest.fixture(scope="module")
def files(formula: Lens, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same lens with another text to begin with: Python has computed what is drawn first."""
    folder = tmp_path_factory.mktemp("published")
    texts = {"first": FIRST, "other": OTHER}
    return {
        name: formula.publish(
            folder / f"{name}.html", precision="fp16", title=MARKUP, note=MARKUP, text=text
        )
        for name, text in texts.items()
    }


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Open]:
    """Open a file offline; it must ask for nothing else, and complain of nothing."""
    contexts, heard = list[BrowserContext](), list[tuple[Page, list[str]]]()

    def opened(path: Path, view: str = "", script: str = "", complaints: bool = False) -> Screen:
        context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
        contexts.append(context)
        page, said = context.new_page(), list[str]()
        page.set_default_timeout(10_000)
        page.add_init_script(LISTEN + script)
        if not complaints:
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda request: said.append(request.url.partition("#")[0]))
            heard.append((page, said))
        page.goto(path.as_uri() + view)
        return Screen(page, path.as_uri())

    yield opened
    ends = [(page.url.partition("#")[0], page.evaluate("violations"), said) for page, said in heard]
    for context in contexts:
        context.close()
    for address, violations, said in ends:
        assert [one for one in said if not one.startswith("blob:")] == [address]
        assert violations == []


def assert_alike(some: list[str], others: list[str]) -> None:
    """States say the same labels in the same order; probabilities may be rounded otherwise."""
    number = re.compile(r"[\d.]+(?=%)")
    assert [number.sub("", one) for one in some] == [number.sub("", one) for one in others]
    here, there = (list(map(float, number.findall(" ".join(one)))) for one in (some, others))
    assert len(here) > 100
    assert here == pytest.approx(there, rel=0.06)


def test_it_reads_what_is_typed_as_python_does(files, open_file):
    screen, drawn = open_file(files["first"]), open_file(files["other"])
    expect(screen.find(".about")).to_have_text(MARKUP)
    expect(screen.find(".title")).to_have_text(MARKUP)
    screen.drawn(7)
    first = screen.states()
    screen.write(OTHER, 10)
    drawn.drawn(10)
    assert_alike(screen.states(), drawn.states())
    screen.write(FIRST.replace("old", "small"), 7)
    assert screen.states() != first
    screen.write(FIRST, 7)
    assert_alike(screen.states(), first)


def test_it_does_what_the_served_page_does(files, open_file):
    screen = open_file(files["first"])
    screen.find(
        "button",
    ).filter(has_text="current word").click()
    screen.settled()
    expect(screen.find(".read")).to_contain_text("just read")
    screen.pin(1, "output state, layer 2")
    screen.pin(3, "output state, layer 2")
    expect(screen.apart(1)).to_contain_text("bits")
    screen.find(
        ".strip button",
    ).filter(has_text="turns").click()
    screen.settled()
    states, address = screen.states(), screen.page.url
    assert "semantic=input" in address
    again = open_file(files["first"], address[address.index("#") :])
    again.drawn(7)
    expect(again.apart(1)).to_contain_text("bits")
    assert again.states() == states
    screen.find("summary").filter(has_text="save").click()
    assert screen.find(".menu[open] button").all_inner_texts() == [
        "SVG: a drawing for print and web", "PNG: a picture",
    ]  # fmt: skip
    for name in ("SVG", "PNG"):
        with screen.page.expect_download() as saved:
            screen.find("button").filter(has_text=name).click()
        assert saved.value.path().stat().st_size > 5000
        screen.find("summary").filter(has_text="save").click()
    screen.find("button").filter(has_text="accuracy").click()
    expect(screen.find("main.accuracy")).to_contain_text("9.5")


def test_two_texts_part_and_go_on_as_python_says(files, open_file, formula):
    text = "the old dog {sees|said}"
    two = rnnlens.compare(formula, text)
    screen = open_file(files["first"], "#text=the+old+dog+%7Bsees%7Csaid%7D&seed=5")
    screen.drawn(5)
    (parting,) = two.partings
    told = screen.find(".row[aria-rowindex='4'] .insight .then title").text_content() or ""
    here = [float(one) for one in re.findall(r"([\d.]+)%", told)]
    assert here == pytest.approx([100 * (p or 0) for p in parting["y"]], rel=0.06, abs=0.06)
    for way, grid in zip(("sees", "said"), (two.before, two.after), strict=True):
        goes_on = grid.continuation(12, samples=5, seed=5)
        shown = screen.page.get_by_role("region", name=way, exact=True)
        expect(shown.locator(".likeliest")).to_have_text(" ".join(goes_on.words))
        expect(shown.locator("li")).to_have_text([" ".join(one) for one in goes_on.samples])


def test_it_needs_neither_a_worker_nor_webassembly(files, open_file):
    screen, drawn = open_file(files["first"], script=WITHOUT), open_file(files["other"])
    screen.write(OTHER, 10)
    drawn.drawn(10)
    assert_alike(screen.states(), drawn.states())


def test_it_works_in_a_frame_that_may_do_nothing_but_run_scripts(files, open_file, tmp_path):
    (tmp_path / "lens.html").write_bytes(files["first"].read_bytes())
    host = tmp_path / "host.html"
    lens = '<iframe sandbox="allow-scripts" src="lens.html" width=1200 height=700></iframe>'
    host.write_text(f"<input autofocus>{lens}")
    page = open_file(host, script=PERSON, complaints=True).page
    frame = page.frame_locator("iframe")
    expect(frame.locator(".scroller")).to_have_attribute("aria-rowcount", "8")
    expect(frame.locator(".scroller")).to_have_attribute("aria-busy", "false")
    assert page.evaluate("document.activeElement.tagName") == "INPUT"
    expect(frame.locator(".tour")).to_have_count(0)
    frame.locator("#text").fill("the dog")
    expect(frame.locator(".scroller")).to_have_attribute("aria-rowcount", "3")
    expect(frame.locator(".scroller")).to_have_attribute("aria-busy", "false")


SILENT = "window.Worker = class { postMessage() {} };"
CHROME = """() => {
  const top = document.querySelector(".scroller").getBoundingClientRect();
  return innerHeight - top.height;
}"""


def test_it_says_that_it_is_loading_and_of_what_until_the_engine_is_there(files, open_file):
    screen = open_file(files["first"], "#text=she+said+now", script=SILENT)
    expect(screen.find(".waiting")).to_contain_text("loading …")
    assert screen.find(".waiting li").all_inner_texts() == ["she", "said", "now"]
    held = open_file(files["first"], script=SILENT)
    held.drawn(7)  # what the file was written with needs no engine
    expect(held.find(".waiting")).to_have_count(0)
    expect(held.find("button").filter(has_text="figure")).to_have_count(0)


@pytest.mark.parametrize("width", [720, 360])
def test_a_bare_frame_is_the_text_and_the_grid(files, open_file, tmp_path, width):
    (tmp_path / "lens.html").write_bytes(files["first"].read_bytes())
    host = tmp_path / "host.html"
    view = "#view=bare&text=the+old+dogs+see&pin=h2:1&pin=h2:2&edit=l2@2=0&at=l2:2"
    host.write_text(f'<iframe src="lens.html{view}" width={width} height=520></iframe>')
    frame = open_file(host, complaints=True).page.frames[1]
    expect(frame.locator(".scroller")).to_have_attribute("aria-rowcount", "5")
    assert frame.evaluate(CHROME) <= 0.1 * 520
    expect(frame.locator(".panel, .top, .strip").locator("visible=true")).to_have_count(0)
    expect(frame.locator("#text")).to_have_value("the old dogs see")
    frame.locator("#text").fill("she said")
    expect(frame.locator(".scroller")).to_have_attribute("aria-rowcount", "3")
    expect(frame.locator(".full")).to_have_attribute("href", re.compile(r"text=she\+said"))
    assert "view=bare" in frame.url
    link = frame.get_by_role("link", name="open in full").get_attribute("href")
    assert "bare" not in link


def test_an_old_browser_shows_the_first_grid_and_says_what_is_missing(files, open_file):
    screen = open_file(files["first"], script=OLD)
    screen.drawn(7)
    screen.page.fill("#text", "the")
    expect(screen.find(".note.problem")).to_contain_text("no DecompressionStream")


def cut(text: str, part: str, share: float = 0.5) -> str:
    """A file that ends within an element."""
    start = text.index(f'id="{part}"')
    return text[: start + int(share * (text.index("</script>", start) - start))]


def changed(text: str, part: str) -> str:
    """A file with a bit turned over within an element."""
    at = len(cut(text, part))
    return text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]


def repacked(text: str) -> str:
    """A file with other code in its engine, zipped as it should be."""
    start = text.index(">", text.index('id="engine"')) + 1
    code = seven_bits(gzip.compress(b"self.onmessage = () => {};", mtime=0))
    return text[:start] + code + text[text.index("</script>", start) :]


def put(old: str, new: str) -> Callable[[str], str]:
    """A file with something in the place of something."""
    return lambda text: text.replace(old, new, 1)


DAMAGE = {
    "with another engine": (lambda text: changed(text, "engine"), ".note.problem"),
    "cut in its numbers": (lambda text: cut(text, "weights"), ".note.problem"),
    "cut before its numbers": (lambda text: cut(text, "manifest"), ".note.problem"),
    "cut in its script": (lambda text: text[: text.index("<script>") + 9999], "#opening"),
    "cut in what is drawn first": (lambda text: cut(text, "head"), "#opening"),
    "with another number": (lambda text: changed(text, "weights"), ".note.problem"),
    "with another first number": (put('"share":0.', '"share":0.9'), "#opening"),
    "with another style": (put("margin: 0", "margin: 1"), "#opening"),
    "with a looser policy": (put("default-src 'none'", "default-src *"), "#opening"),
    "with words before it": (put("<noscript>", "h2 99%<noscript>"), "#opening"),
    "with an engine of its own": (repacked, ".note.problem"),
    "with another script": (lambda text: text.replace('"use strict"', '"use strics"'), "#opening"),
}  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    sampled(DAMAGE, "cut in its script", "with another first number", "with an engine of its own"),
)
def test_a_damaged_file_says_so(damage, files, open_file, tmp_path):
    spoil, where = DAMAGE[damage]
    path = tmp_path / "lens.html"
    path.write_text(spoil(files["first"].read_text(encoding="utf-8")), encoding="utf-8")
    screen = open_file(path, complaints=True)
    expect(screen.find(where)).to_contain_text("damaged or cut short")
    if where == "#opening":
        expect(screen.find(".state")).to_have_count(0)
