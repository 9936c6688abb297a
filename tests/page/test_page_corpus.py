"""The corpus page: questions, answers, pictures that lead to them, and states alike."""

import csv
import re

import pytest
from playwright.sync_api import expect
from tests.page.test_page_access import findings

import rnnlens

TEXT = "the dogs see the old birds"


@pytest.fixture(scope="module")
def lens(probed_run):
    return rnnlens.load(probed_run)


def test_a_walk_through_the_corpus(look, lens):
    screen = look("#page=corpus")
    page, total = screen.page, screen.find(".sum b")
    expect(screen.find(".hits tbody tr").first).to_be_visible()  # of the first example
    page.fill(".question", "l2 expcts verb")
    expect(screen.find(".pointed")).to_contain_text("did you mean expects?")
    expect(screen.find(".pointed .before")).to_have_text("l2 ")
    question = "l2 entropy > 1 sort by surprisal desc"
    page.fill(".question", question)
    page.press(".question", "Enter")
    found = lens.find(question)
    expect(total).to_have_text(f"{found.total:,}")
    expect(screen.find(".pointed")).to_be_hidden()
    assert "find=l2+entropy+%3E+1+sort+by+surprisal+desc" in page.url
    expect(screen.find(".hits tbody tr")).to_have_count(50)
    hit = next(iter(found))
    first = screen.find(".hits tbody tr").first
    expect(first.locator(".word")).to_have_text(hit.word)
    expect(first.locator(".says")).to_contain_text(hit["l2"].label)
    expect(first.locator(".states .mark")).to_have_count(18)
    screen.find(".more").click()
    expect(screen.find(".hits tbody tr")).to_have_count(100)
    first.click()
    expect(screen.find("#text")).to_have_value(hit.text)
    screen.drawn(len(hit.words))
    assert page.url.endswith(f"at=l2:{hit.position + 1}")
    expect(screen.find(".panel h2")).to_contain_text(f"after “{hit.word}”")
    page.go_back()
    expect(page.locator(".question")).to_have_value(question)
    expect(screen.find(".hits")).to_be_visible()


def test_pictures_lead_to_their_sentences_and_are_saved(look, lens):
    screen = look("#page=corpus&find=count+by+tag")
    page, total = screen.page, screen.find(".sum b")
    line = screen.find(".counts tbody tr").first
    words = line.locator("td").first.text_content()
    line.click()
    expect(page.locator(".question")).to_have_value(re.compile(r'^tag = "\w+"$'))
    expect(total).to_have_text(words)
    square = screen.find("[data-question='c2 disagrees with h2']").first
    square.click()
    expect(page.locator(".question")).to_have_value("c2 disagrees with h2")
    expect(total).to_have_text(f"{lens.find('c2 disagrees with h2').total:,}")
    expect(square).to_have_class("leads asked")
    with page.expect_download() as saved:
        screen.find("[data-picture=disagreement] figcaption button").click()
    assert saved.value.suggested_filename == "rnnlens-which-kinds-disagree-how-often.svg"
    assert saved.value.path().read_text().startswith("<?xml")
    with page.expect_download() as saved:
        page.click("text=save as CSV")
    rows = list(csv.DictReader(saved.value.path().read_text().splitlines()))
    assert len(rows) == lens.find("c2 disagrees with h2").total
    for name in ("turns", "surprise", "tags"):
        card = screen.find(f"[data-picture={name}]")
        card.scroll_into_view_if_needed()
        mark = card.locator("[data-question]").first
        question = mark.get_attribute("data-question")
        mark.click(force=True)
        expect(page.locator(".question")).to_have_value(question)
        expect(total).to_have_text(f"{lens.find(question).total:,}")
    expect(screen.find("[data-picture=reach]")).to_contain_text("rnnlens eval")


@pytest.mark.release
def test_axe_finds_nothing_serious_in_questions_and_pictures(look):
    screen = look("#page=corpus")
    expect(screen.find(".hits tbody tr").first).to_be_visible()
    screen.page.fill(".question", "l2 expcts verb")
    expect(screen.find(".pointed")).to_contain_text("did you mean expects?")
    assert findings(screen) == []
    screen.page.fill(".question", "c2 disagrees with h2")
    screen.page.press(".question", "Enter")
    for name in ("disagreement", "turns", "surprise", "tags", "reach"):
        screen.find(f"[data-picture={name}]").scroll_into_view_if_needed()
    expect(screen.find("[data-picture=tags] [data-question]").first).to_be_visible()
    assert findings(screen) == []


def test_an_older_answer_does_not_come_over_a_newer_one(look, lens):
    screen = look("#page=corpus&find=count")
    page, held = screen.page, []
    expect(screen.find(".counts")).to_be_visible()
    page.evaluate("AbortController.prototype.abort = () => {}")  # an answer that is under way
    page.route("**/api/find", lambda route: held.append(route))  # noqa: PLW0108
    for question in ("y rank = 1", "position = 0"):
        page.fill(".question", question)
        with page.expect_request("**/api/find"):
            page.press(".question", "Enter")
    newer = f"{lens.find('position = 0').total:,}"
    assert newer != f"{lens.find('y rank = 1').total:,}"
    held[1].continue_()
    expect(screen.find(".sum b")).to_have_text(newer)
    with page.expect_response("**/api/find"):
        held[0].continue_()
    page.wait_for_timeout(150)
    expect(screen.find(".sum b")).to_have_text(newer)


def test_states_alike_are_listed_and_opened(look, lens):
    screen = look()
    screen.page.goto(f"{screen.address}#text={TEXT.replace(' ', '+')}&at=l2:3")
    expect(screen.find(".scroller")).to_have_attribute("aria-rowcount", "7", timeout=30_000)
    screen.drawn(6)
    screen.page.get_by_role("button", name="Find alike").click()
    expect(screen.find(".likeness li")).to_have_count(12)
    state = lens(TEXT)["l2"][2]
    words = screen.find(".likeness li b").all_text_contents()
    assert words == [one.word for one in state.similar(12)]
    assert findings(screen) == []
    near = state.similar(2, by="divergence")[1]
    screen.page.click(".likeness button:has-text('prediction')")
    expect(screen.find(".likeness li .distance").nth(1)).to_have_text(f"{near.distance:.2f}")
    screen.find(".likeness li a").nth(1).click()
    expect(screen.find("#text")).to_have_value(near.text)
    assert screen.page.url.endswith(f"at=l2:{near.position + 1}&tab=alike&alike=divergence")


def test_a_run_without_an_index_says_how_to_make_one(look):
    screen = look("#page=corpus&run=tiny", quiet=False)
    expect(screen.find(".none")).to_contain_text("has no index")
    expect(screen.find(".none code")).to_contain_text("rnnlens index")
    screen.page.click("text=back to the grid")
    expect(screen.find(".tocorpus")).to_be_hidden()
