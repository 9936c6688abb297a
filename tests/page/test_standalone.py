"""The exported page in a browser: it draws what it holds, offline, and runs nothing else."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.asks import grid_json

from rnnlens.cli import main
from rnnlens.draw.look import Look
from rnnlens.lens.open import opened as opened_lens
from rnnlens.page import bundle
from rnnlens.page.saved_page import contents
from rnnlens.run.folder import Run

RECTANGLE = {"x": 6, "y": 12}  # of a state
SENTENCE = "the dog </script><b>bold sees \u2028 <!-- __proto__ \x1b[31m ."


@pytest.fixture(scope="module")
def grid(trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = Path(shutil.copytree(trained_run, tmp_path_factory.mktemp("export") / "run"))
    assert main(["fit", str(run), "--epochs", "0", "--device", "cpu"]) == 0
    grid: dict[str, Any] = grid_json(opened_lens(Run(run)), SENTENCE)
    return grid


@pytest.fixture
def page(browser: Browser, grid: dict[str, Any], tmp_path: Path) -> Iterator[Page]:
    """The page from file://, which must ask nothing of anybody and complain of nothing."""
    view = {
        "density": "bars",
        "kinds": ["x", "h1", "y"],
        "bars": 2,
        "naming": "symbols",
        "pins": [],
    }
    path = tmp_path / "page.html"
    path.write_text(bundle.standalone({"grid": grid, "view": view, "bits": []}), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
    opened, told = context.new_page(), []
    opened.on("console", lambda message: told.append(message.text))
    opened.on("pageerror", lambda error: told.append(str(error)))
    opened.on("request", lambda request: told.append(request.url))
    opened.goto(path.as_uri())
    yield opened
    context.close()
    assert told == [path.as_uri()]


def test_the_exported_page_draws_what_its_view_asks_for(page, grid):
    states = page.locator("[role=gridcell]")
    expect(states).to_have_count(3 * len(grid["words"]))
    expect(states.first).to_be_visible()


def test_a_click_fills_the_panel_and_a_button_pins(page, grid):
    state = page.locator("[role=gridcell]").first
    state.click(position=RECTANGLE)
    detail = page.locator(".panel .detail")
    expect(page.locator(".panel h2")).to_contain_text("embedding")
    for label, _ in grid["rows"][0][0]["top"][:3]:
        expect(detail).to_contain_text(label)
    expect(page.locator(".pinned .held")).to_have_count(0)
    expect(page.locator(".panel .act")).to_have_text(["Pin"])  # nobody is there to do more
    page.get_by_role("button", name="Pin").click()
    expect(page.locator(".pinned .held")).to_have_count(1)
    expect(page.locator(".panel .act")).to_have_text(["Unpin"])


def test_markup_in_the_text_is_harmless(page):
    expect(page.locator(".sentence")).to_contain_text("</script><b>bold sees")
    assert page.locator(".sentence b, [role=grid] b, body > b").count() == 0
    assert page.evaluate("document.scripts.length") == 2


def test_the_policy_holds(browser, grid, tmp_path):
    """A script or style that is not ours does not run, even when somebody puts it into the file."""
    text = bundle.standalone({"grid": grid, "view": {}, "bits": []})
    spoilt = text.replace(
        "</body>", "<script>document.title = 'spoilt'</script><p style='color: red'>x</p></body>"
    )
    (tmp_path / "page.html").write_text(spoilt, encoding="utf-8")
    page = browser.new_page()
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.goto((tmp_path / "page.html").as_uri())
    assert "spoilt" not in page.title()
    assert (
        page.locator("p", has_text="x").last.evaluate("p => getComputedStyle(p).color")
        != "rgb(255, 0, 0)"
    )
    assert len([text for text in told if "Content Security Policy" in text]) == 2
    page.close()


@pytest.mark.release
def test_paths_of_submodules_are_cut_in_front_wherever_they_stand(browser, formula, tmp_path):
    found = json.loads(json.dumps(grid_json(formula, "the dog sees")))
    paths = [f"some.large.backbone.encoder.layers.{k}" for k in range(3)]
    places = [k for k, column in enumerate(found["columns"]) if column["shown"]][2:5]
    for k, path in zip(places, paths, strict=True):
        found["columns"][k] |= {"letter": "", "name": path, "symbol": path}
    file = tmp_path / "page.html"
    file.write_bytes(contents(found, ".html", Look()))
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(file.as_uri())
    heads = page.locator(".head [role=columnheader] text").all_text_contents()
    assert [text for text in heads if "layers" in text] == [f"…layers.{k}" for k in range(3)]
    for k, place in enumerate([2, 3, 4]):
        page.locator(".row").nth(1).locator("[role=gridcell]").nth(place).click(position=RECTANGLE)
        expect(page.locator(".panel h2")).to_have_text(f"{paths[k]}, after “dog”")
        page.keyboard.press("p")
    cards = page.locator(".held .path")
    assert cards.all_inner_texts() == [f"…layers.{k}" for k in range(3)]
    expect(page.locator(".comparison tfoot")).not_to_contain_text("…")  # drawn for the last time
    width = "all => Math.max(...all.map((one) => one.getBoundingClientRect().width))"
    room = page.locator(".held").first.evaluate("one => one.clientWidth")
    assert page.locator(".held .path").evaluate_all(width) <= room
    page.close()


@pytest.mark.release
def test_of_a_whole_text_it_is_shown_when_it_is_decided(browser, formula, tmp_path):
    found = {**grid_json(formula, "the dog sees a bird"), "answer": "last", "follows": False}
    label = found["rows"][-1][-1]["top"][0][0]
    file = tmp_path / "page.html"
    file.write_bytes(contents(found, ".html", Look()))
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    decision = page.locator(".decision")
    expect(decision.locator("p").first).to_contain_text(f"The answer is “{label}”")
    columns = enumerate(found["columns"])
    shown = {one["id"]: k for k, one in columns if one["shown"] and not one["back"]}
    named = [
        any(label in dict(row[k]["top"]) for row in found["rows"]) for k in shown.values()
    ]  # the others have no line: a state names its twenty likeliest labels
    expect(decision.locator("polyline")).to_have_count(sum(named))
    names = [
        one["name"] + (f" {one['layer']}" if one["id"] not in "xy" else "")
        for one in found["columns"] if one["id"] in shown
    ]  # fmt: skip
    assert decision.locator("li .edge").all_inner_texts() == names
    tops = [row[-1]["top"][0][0] == label for row in found["rows"]]
    since = max((step + 1 for step, same in enumerate(tops) if not same), default=0)
    decision.locator("li button").last.click()
    word = found["words"][since]["text"]
    expect(page.locator(".panel h2")).to_contain_text(f"after “{word}”")
    page.close()
    assert problems == []


@pytest.mark.release
def test_figure_mode_says_what_a_file_cannot_do_and_the_command_that_can(page):
    page.get_by_role("button", name="figure").click()
    figure = page.get_by_role("region", name="figure for print")
    expect(figure).to_contain_text("figures are drawn by rnnlens")
    expect(figure.get_by_role("button", name="PDF")).to_have_count(0)
    page.get_by_label("rows", exact=True).fill("2-3")
    expect(figure.locator("code")).to_contain_text("--rows 2-3 --kinds x,h1,y --bars 2 --width 3.3")
    assert "\x1b" not in figure.locator("code").inner_text()  # it is to be pasted into a terminal
    expect(page.locator(".picked > div")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(figure).to_be_hidden()
