"""Grids and lenses shown by VS Code's own widget manager, on a page that hears what VS Code hears.

Not VS Code itself: its notebook and its Jupyter extension are played by webview.js.
"""

import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from playwright.sync_api import Browser, Locator, Page, Route, expect
from tests.live import TEXT, check_grid, check_lens, environment, mark

ROOT = Path(__file__).parents[2]
MANAGER = ROOT / "node_modules/@vscode/jupyter-ipywidgets8/dist/ipywidgets.js"
EXTENSIONS = Path(sysconfig.get_path("data")) / "share/jupyter/nbextensions"
ADDRESS = "http://webview.localhost/"
FILES = {
    "ipywidgets.js": MANAGER,
    "webview.js": Path(__file__).with_name("webview.js"),
    "anywidget.js": EXTENSIONS / "anywidget/index.js",
}
PAGE = """<!doctype html><html lang="en"><head><base href="https://elsewhere.invalid/folder/">
<style>body { overflow: hidden; margin: 0 } .output { margin: 8px }</style></head>
<body class="vscode-dark"><div id="container"></div>
<script type="module" src="http://webview.localhost/webview.js"></script></body></html>"""

pytestmark = pytest.mark.skipif(not MANAGER.exists(), reason="npm ci --ignore-scripts brings it")


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[BlockingKernelClient]:
    """A real kernel, without a notebook."""
    quiet = subprocess.DEVNULL
    manager, client = start_new_kernel(env=environment(tmp_path), stdout=quiet, stderr=quiet)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture
def page(kernel: BlockingKernelClient, browser: Browser) -> Iterator[Page]:
    """The page where outputs are shown; nothing may be fetched from elsewhere, nothing go wrong."""
    problems: list[str] = []

    def serve(route: Route) -> None:
        name = route.request.url.removeprefix(ADDRESS)
        if name in FILES:
            route.fulfill(path=FILES[name], content_type="text/javascript")
        elif name:
            problems.append(route.request.url)
            route.abort()
        else:
            route.fulfill(body=PAGE, content_type="text/html")

    def heard() -> list[dict[str, Any]]:
        """What the kernel said since, if anything."""
        said = []
        while (message := kernel.session.recv(kernel.iopub_channel.socket)[1]) is not None:
            told = {name: message[name] for name in ("content", "metadata")}
            said.append({**told, "header": {"msg_type": message["header"]["msg_type"]}})
        return said

    def tell(content: dict[str, Any]) -> None:
        kernel.session.send(kernel.shell_channel.socket, "comm_msg", content)

    context = browser.new_context(viewport={"width": 1300, "height": 1400})
    made = context.new_page()
    made.set_default_timeout(20_000)
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    made.route(lambda address: not address.startswith(("blob:", "data:")), serve)
    made.expose_function("heard", heard)
    made.expose_function("tell", tell)
    made.goto(ADDRESS)
    yield made
    context.close()
    assert problems == []


def test_alive_in_the_manager_of_vs_code(page, kernel, probed_run):
    kernel.execute(f"import rnnlens\nlens = rnnlens.load({str(probed_run)!r})\nlens({TEXT!r})")
    kernel.execute("lens")
    views = page.locator(".output .rnnlens")
    expect(views).to_have_count(2, timeout=40_000)
    tables = page.locator(".output > [class*='rnnlens-']")
    assert [table.is_visible() for table in tables.all()] == [False, False]
    grid, lens = views.nth(0), views.nth(1)
    for view in views.all():
        expect(view.get_by_role("button", name="unfold the panel")).to_be_visible()
        expect(view.locator(".detail")).to_be_hidden()  # until something is selected
    check_grid(page, grid, probed_run)
    check_narrow(page, grid)
    check_lens(page, lens, probed_run)
    check_keys(page, lens)
    check_wheel(page, lens)
    for kind, start in (("SVG: a drawing", "<?xml ve"), ("PNG: a picture", "\x89PNG\r\n\x1a\n")):
        grid.get_by_text("save", exact=True).click()
        grid.get_by_text(kind).click()
        name = f"rnnlens-the-old-teacher-follows-the-birds-she-sa.{kind[:3].lower()}"
        page.wait_for_function("told.saved.length")
        assert page.evaluate("told.saved.splice(0)") == [{"name": name, "start": start}]
    expect(page.locator("body > a")).to_have_count(0)
    expect(grid).to_have_attribute("data-theme", "dark")
    page.evaluate("document.body.className = 'vscode-light'")
    expect(grid).to_have_attribute("data-theme", "light")


def check_narrow(page: Page, view: Locator) -> None:
    """In a narrow output the panel comes from below, and is gone with what was selected."""
    page.set_viewport_size({"width": 656, "height": 1400})
    expect(view.locator(".panel")).to_be_hidden()
    mark(view, 5, "output state, layer 1").click(force=True)
    expect(view.locator(".panel h2").first).to_contain_text("Output state 1", ignore_case=True)
    page.wait_for_timeout(300)  # it has come up
    panel, scroller = (view.locator(one).bounding_box() for one in (".panel", ".scroller"))
    outer, ring = view.bounding_box(), view.locator(".ring.focus").bounding_box()
    assert outer is not None
    assert panel is not None
    assert scroller is not None
    assert ring is not None
    assert panel["width"] > 600
    assert panel["y"] + panel["height"] <= outer["y"] + outer["height"]
    assert ring["y"] + ring["height"] < scroller["y"] + scroller["height"] <= panel["y"] + 1
    view.get_by_role("button", name="close the panel").click()
    expect(view.locator(".panel")).to_be_hidden()
    page.set_viewport_size({"width": 1300, "height": 1400})


def check_keys(page: Page, view: Locator) -> None:
    """VS Code hears of no key that types, moves or edits, and of every other."""
    assert page.evaluate("told.keys") == [], "pins, arrows and typing, so far"
    field = view.locator("textarea")
    field.fill("the old dogs")
    view.locator(".scroller").focus()  # VS Code is not told of the focus that comes from here
    field.focus()
    for key in ("Home", "Delete", "Shift+End", "Control+a", "Control+z", "Escape", "Tab"):
        page.keyboard.press(key)
    expect(field).to_have_value("the old dogs")
    view.locator(".scroller").focus()
    page.keyboard.press("Control+End")
    assert page.evaluate("told.keys.splice(0)") == ["Control"] * 3, "a key alone is no command"
    for key in ("F1", "Control+a", "Control+Enter", "Alt+ArrowDown", "Control+Shift+P"):
        page.keyboard.press(key)
    heard = [key for key in page.evaluate("told.keys") if key not in {"Control", "Shift", "Alt"}]
    assert heard == ["F1", "a", "Enter", "ArrowDown", "P"]


def check_wheel(page: Page, view: Locator) -> None:
    """The notebook scrolls when there is nothing left to scroll here."""
    view.locator("textarea").fill("the old dogs see a bird " * 5)
    scroller = view.locator(".scroller")
    expect(scroller).to_have_attribute("aria-rowcount", "31")
    expect(scroller).to_have_attribute("aria-busy", "false")
    scroller.evaluate("one => { one.scrollTop = 0; }")  # what was typed was brought into sight
    scroller.hover()
    page.mouse.wheel(0, 100)
    expect(scroller).to_have_js_property("scrollTop", 100)
    assert page.evaluate("told.turns") == 0
    scroller.evaluate("one => { one.scrollTop = one.scrollHeight; }")
    page.mouse.wheel(0, 100)
    page.wait_for_function("told.turns === 1")
