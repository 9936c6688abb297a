"""Notebooks that are executed, saved, and alive in a real JupyterLab."""

import json
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.live import (
    TEXT,
    check_grid,
    check_lens,
    environment,
    expect_words,
    mark,
)
from tests.table import Table

import rnnlens
from rnnlens.draw.printable import name_of

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("home")
    (made / "work").mkdir()
    settings = made / "jupyterlab_settings_dir" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    told = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(told))
    return made


def write(path: Path, *cells: str) -> Path:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, path)
    return path


@pytest.fixture(scope="module")
def cells(probed_run: Path) -> list[str]:
    loaded = f"import rnnlens\nlens = rnnlens.load({str(probed_run)!r})"
    return [loaded, f"lens({TEXT!r})", "lens"]


@pytest.fixture(scope="module")
def executed(home: Path, cells: list[str]) -> Path:
    """A notebook that was run by nbclient, which keeps the state of widgets."""
    path = write(home / "work" / "executed.ipynb", *cells)
    command = [sys.executable, "-c", "from nbclient.cli import main; main()", "--inplace"]
    subprocess.run([*command, str(path)], env=environment(home), check=True, timeout=60)
    return path


def trust(path: Path, home: Path) -> Path:
    """As somebody does who has run a notebook; JupyterLab shows no widgets of others."""
    command = [sys.executable, "-c", "from nbformat.sign import main; main()", str(path)]
    subprocess.run(command, env=environment(home), check=True, timeout=30)
    return path


@pytest.mark.release
def test_a_notebook_that_is_executed_and_saved(executed, probed_run):
    read = nbformat.read(executed, as_version=4)
    nbformat.validate(read)
    lens = rnnlens.load(probed_run)
    for cell, text in zip(read.cells[1:], (TEXT, lens.examples()[0]), strict=True):
        static, live = cell.outputs
        assert (static.output_type, live.output_type) == ("display_data", "execute_result")
        assert set(static.data) == {"text/html", "text/plain"}
        assert set(live.data) == {VIEW, "text/plain"}
        assert live.data[VIEW]["model_id"] in read.metadata.widgets[STATE]["state"]
        table = Table(static.data["text/html"])
        assert table.words == text.split()
        own = [row[-1].split("\xa0")[0] for row in table.rows[2:]]
        tops = [state.top(1)[0][0] for state in lens(text)["y"]]
        assert own == [name_of(label, lens(text).json) or label for label in tops]
        assert len(json.dumps(static.data)) < 40_000


@pytest.fixture(scope="module")
def lab(home: Path) -> Iterator[str]:
    """JupyterLab, the real command, on a free port; gives the address of a notebook by its name."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, log, address = secrets.token_hex(16), home / "log", f"http://127.0.0.1:{port}"
    flags = [
        "--no-browser", f"--port={port}", "--ServerApp.port_retries=0", "--allow-root",
        f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={home / 'work'}",
        "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with log.open("w") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *flags],
            env=environment(home), cwd=home / "work", stdout=told, stderr=told,
        )  # fmt: skip
    try:
        if not answers(process, f"{address}/api?token={token}"):
            pytest.fail(f"JupyterLab did not start: {log.read_text()}")
        yield f"{address}/lab/tree/{{}}?token={token}&reset"
    finally:
        process.terminate()
        process.wait(timeout=30)


def answers(process: subprocess.Popen[bytes], address: str) -> bool:
    """Whether a server comes up, within 40 seconds."""
    for _ in range(160):
        try:
            with urllib.request.urlopen(address, timeout=5):
                return True
        except OSError:
            if process.poll() is not None:
                return False
            time.sleep(0.25)
    return False


@pytest.fixture
def opened(lab: str, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a notebook; nothing may be fetched from elsewhere, nothing may go wrong."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    told: list[str] = []
    server = lab.split("/lab/", maxsplit=1)[0]
    known = (server, server.replace("http", "ws"), "blob:", "data:")

    def make(name: str, *, quiet: bool = True) -> Page:
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: told.append(str(error)))
        if quiet:
            page.on("console", lambda m: told.append(m.text) if m.type == "error" else None)
        page.on("request", lambda r: None if r.url.startswith(known) else told.append(r.url))
        page.goto(lab.format(name))
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        page.get_by_text("| Idle").wait_for()
        return page

    yield make
    context.close()
    assert told == []


def choose(page: Page, *names: str) -> None:
    for name in names:
        page.get_by_role("menuitem", name=name, exact=True).click()


@pytest.mark.release
def test_alive_in_jupyterlab(opened, home, cells, probed_run):
    write(home / "work" / "live.ipynb", *cells)
    page = opened("live.ipynb")
    look = "getComputedStyle(document.body).cssText"
    before = page.evaluate(look)
    choose(page, "Run", "Run All Cells")
    views = page.locator(".rnnlens")
    expect(views).to_have_count(2, timeout=40_000)
    expect(page.locator("[class*='rnnlens-']").first).to_be_hidden()
    assert page.evaluate(look) == before, "the notebook's page is not restyled"
    check_grid(page, views.nth(0), probed_run)
    check_lens(page, views.nth(1), probed_run)
    expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(3)  # keys were not commands
    expect(views.nth(0)).to_have_attribute("data-theme", "light")
    choose(page, "View", "Activate Command Palette Ctrl+Shift+C")
    page.keyboard.type("use theme: jupyterlab dark")
    page.locator(".lm-CommandPalette-item").first.click()
    expect(views.nth(0)).to_have_attribute("data-theme", "dark")
    views.nth(1).locator("textarea").press("Control+s")
    expect(page.locator(".jp-mod-dirty")).to_have_count(0)
    saved = nbformat.read(home / "work" / "live.ipynb", as_version=4)
    assert Table(saved.cells[1].outputs[0].data["text/html"]).words == TEXT.split()


@pytest.mark.release
def test_without_its_kernel_a_widget_shows_what_was_saved_of_it(opened, executed, home):
    page = opened(trust(executed, home).name)  # and a kernel that knows nothing of the widgets
    views = page.locator(".rnnlens")
    expect(views).to_have_count(2)
    grid, lens = views.nth(0), views.nth(1)
    expect_words(grid, TEXT.split())
    mark(grid, 2, "output state, layer 1").click(force=True)
    page.keyboard.press("p")
    mark(grid, 4, "cell state, layer 2").click(force=True)
    expect(grid.locator(".held .distance")).to_have_text(re.compile(r"^at least \d\.\d\d bits"))
    lens.locator("textarea").fill("the birds")
    expect(lens.locator(".note.server")).to_contain_text("the kernel does not answer")


@pytest.mark.release
@pytest.mark.parametrize("trusted", [False, True])
def test_reopened_without_its_widgets_the_table_is_read(opened, executed, home, trusted):
    read = nbformat.read(executed, as_version=4)
    del read.metadata["widgets"]
    read.metadata["trusted_here"] = trusted  # trust is given to contents, wherever they are
    path = executed.with_name(f"trusted-{trusted}.ipynb")
    nbformat.write(read, path)
    page = opened(trust(path, home).name if trusted else path.name, quiet=not trusted)
    table = page.locator("[class*='rnnlens-'] table").first
    expect(table).to_be_visible()
    assert table.locator("tbody th").all_inner_texts() == TEXT.split()
    ground = "one => getComputedStyle(one).backgroundColor"
    assert table.locator("tbody td").first.evaluate(ground) != "rgba(0, 0, 0, 0)"
