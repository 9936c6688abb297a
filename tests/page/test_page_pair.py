"""Two texts and two runs side by side in the page; checkpoints by a slider."""

import re
import shutil

import pytest
from playwright.sync_api import expect
from tests.page.test_page_access import findings

from rnnlens.draw.printable import percent
from rnnlens.run.folder import Keeper, Run

TEXT = "the old dog {sees|saw} a {small|} bird"
FIRST, SECOND = "the old dog sees a small bird", "the old dog saw a bird"
LINK = "#text=the+old+dog+%7Bsees%7Csaw%7D+a+%7Bsmall%7C%7D+bird"


def test_a_minimal_pair_is_typed_looked_at_and_left_again(look):
    screen = look("#text=the+old+dog", quiet=False)  # a console tells of what is refused
    screen.drawn(3)
    tops = [screen.find(".gridplace").bounding_box()]
    screen.page.fill("#text", "the old dog {sees")
    screen.page.wait_for_timeout(400)
    expect(screen.find(".note.problem")).to_be_hidden()  # half-typed braces wait
    expect(screen.find(".shown")).to_be_hidden()
    tops += [screen.find(".gridplace").bounding_box()]
    screen.find("#text").blur()
    expect(screen.find(".note.problem")).to_contain_text("the brace in '{sees' is not closed")
    screen.write(TEXT, 11)
    expect(screen.find(".note.problem")).to_be_hidden()
    tops += [screen.find(".gridplace").bounding_box()]
    assert len({box and box["y"] for box in tops}) == 1  # the grid stays where it is
    words = screen.words()
    assert words == [
        "the", "old", "dog", "sees", "saw, unknown word", "a", "a", "small", "no word",
        "bird", "bird",
    ]  # fmt: skip
    expect(screen.find(".sides .side")).to_have_text([FIRST, SECOND])
    expect(screen.find(".sides .lane")).to_have_text(["sees", "saw"])
    grid = screen.ask("api/grid", {"text": TEXT})
    y = screen.find(".row[aria-rowindex='4'] .insight .then title").text_content() or ""
    assert f"sees {percent(grid['then'][2][-1][0])}, saw (unknown)" in y
    expect(screen.page).to_have_url(re.compile(re.escape(LINK)))
    told = screen.find(".row[aria-rowindex='6'] .state").last.get_attribute("aria-label") or ""
    bits = grid["changes"][4][-1]["bits"]
    first = "the first text"
    apart = f"{bits:.2f} bits from {first}, where it says" if bits >= 0.0005 else f"as in {first}:"
    assert apart in told
    screen.select(5, "output state, layer 2")  # the first `a`, which follows the first text alone
    detail = screen.find(".detail")
    expect(screen.find(".panel h2")).to_contain_text("after “a” in the first text")
    screen.page.get_by_role("tab", name="changed").click()
    expect(detail).to_contain_text(re.compile("the second text(, where it says|:) “"))
    expect(detail.locator("table.before thead")).to_contain_text("the second text")
    assert {row for row, _ in screen.rings("feeds")} <= {5, 3}
    screen.pin(6, "output state, layer 2")
    expect(screen.page).to_have_url(re.compile(r"pin=h2:5/+the\+old\+dog\+saw\+a\+bird"))
    screen.page.get_by_role("button", name="swap").click()
    expect(screen.find("#text")).to_have_value("the old dog {saw|sees} a {|small} bird")
    expect(screen.find(".sides .side")).to_have_text([SECOND, FIRST])
    screen.page.get_by_role("button", name="only the first").click()
    expect(screen.find("#text")).to_have_value(SECOND)
    screen.drawn(6)
    expect(screen.find(".sides")).to_be_hidden()
    expect(screen.page).to_have_url(re.compile("text=the[+]old[+]dog[+]saw[+]a[+]bird"))


@pytest.mark.release
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_link_shows_two_texts_and_axe_finds_nothing_serious(look, scheme):
    screen = look(f"{LINK}&at=h2:5&tab=changed", color_scheme=scheme)
    screen.drawn(11)
    expect(screen.find(".detail")).to_contain_text(
        re.compile("the first text(, where it says|:) “")
    )
    assert findings(screen) == []
    assert screen.find(".row .lane[width='3']").count() == 8
    screen.page.get_by_role("button", name="turns").click()
    screen.page.fill(".follow", "a")
    expect(screen.find(".row[aria-rowindex='6'] .number").first).to_contain_text("%")
    expect(screen.find(".turning h3")).to_contain_text("Largest turns")
    assert findings(screen) == []
    lines = screen.find(".row[aria-rowindex='5'] .state").last.locator("polyline")
    expect(lines).to_have_count(1)  # from `sees` in the first text, the other is of the second
    expect(screen.find(".row[aria-rowindex='4'] .state").last.locator("polyline")).to_have_count(2)
    screen.find(".follow").blur()  # which closes the list of labels
    screen.page.get_by_role("button", name="Change").click()
    screen.find(".sheet.whatif").get_by_role("button", name="zero", exact=True).click()
    expect(screen.find(".editline li")).to_have_text(re.compile("h2 after .* of the second: zero"))
    expect(screen.page).to_have_url(re.compile(r"edit=h2@2:\d+=0"))


def test_two_runs_and_the_checkpoints_of_a_training(look, probed_run, tmp_path, server):
    path = shutil.copytree(probed_run, tmp_path / "trained")
    run = Run(path)
    record = {k: v for k, v in run.record().to_json().items() if k != "metrics"}
    keeper = Keeper(run, record, (1,))
    keeper.after_epoch(1, run.network())
    for name in ("probes.json", "probes.safetensors", "evaluation.json"):
        shutil.copy(path / name, path / "kept/0001" / name)
    with server(path, probed_run) as address:
        screen = look("#text=the+old+dog", at=address)
        screen.drawn(3)
        slider = screen.page.get_by_label("training")
        slider.focus()
        for key, epoch in (("ArrowLeft", 1), ("ArrowRight", 40)):
            screen.page.keyboard.press(key)  # the focus stays, so that the next key moves it on
            told = re.compile(f"after epoch {epoch}, perplexity")
            expect(slider).to_have_attribute("aria-valuetext", told)
            screen.settled()
            expect(slider).to_be_focused()
        screen.page.get_by_label("beside it").select_option("trained-epoch-1")
        screen.drawn(6)
        expect(screen.find(".sides b").first).to_have_text("Two runs")
        expect(screen.find(".sides .lane")).to_have_text(["trained", "trained-epoch-1"])
        assert "beside=trained-epoch-1" in screen.page.url
        screen.page.get_by_label("beside it").select_option("")
        screen.drawn(3)
        slider.focus()
        screen.page.keyboard.press("ArrowLeft")
        expect(slider).to_have_attribute("aria-valuetext", re.compile("after epoch 1, perplexity"))
        expect(screen.page).to_have_url(re.compile("run=trained-epoch-1"))
        screen.settled()
        expect(slider).to_be_focused()
        assert findings(screen) == []
        screen.page.get_by_role("button", name="accuracy").click()
        expect(screen.find(".accuracy h2").last).to_have_text("When each part learns")
        assert findings(screen) == []
        gone = look("#text=the+old+dog&beside=nowhere", at=address)
        expect(gone.find(".note.link")).to_contain_text("names run nowhere, which is not served")
