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


@pytest.mark.release
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
    assert saved.value.suggested_filename == "rnnlens-which-parts-disagree-how-often.svg"
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
    expect(screen.find("[aria-busy=true]")).to_have_count(0)  # what is pale while it is asked for
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


@pytest.mark.release
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
    changed = f"#text={TEXT.replace(' ', '+')}&at=l2:3&edit=c1@2=0&tab=alike"
    screen.page.goto(screen.address + changed)
    expect(screen.find(".likeness")).to_contain_text("only of a text as it is")
    screen.page.get_by_role("button", name="Take the changes back").click()
    expect(screen.find(".likeness li")).to_have_count(12)


def test_a_run_without_an_index_says_how_to_make_one(look):
    screen = look("#page=corpus&run=tiny", quiet=False)
    expect(screen.find(".none")).to_contain_text("has no index")
    expect(screen.find(".none code")).to_contain_text("rnnlens index")
    screen.page.click("text=back to the grid")
    expect(screen.find(".tocorpus")).to_be_hidden()


@pytest.mark.release
def test_the_corpus_that_comes_along(look, demo_address):
    """Build a question, open an answer, brush the map, and reload from the link."""
    screen = look("#page=corpus&at=l2:3", at=demo_address)
    page, total, news = screen.page, screen.find(".sum b"), rnnlens.load("english-news")
    expect(screen.find(".hits tbody tr").first).to_be_visible(timeout=30_000)
    clause = screen.find(".builder .clause").first
    asking, shown = (screen.find(at).bounding_box() for at in (".asking", ".builder .outcome"))
    assert asking["y"] < shown["y"] < asking["y"] + asking["height"]  # beside the conditions
    while screen.find(".builder .drop").count() > 1:
        screen.find(".builder .drop").last.click()
    clause.get_by_label("part", exact=True).select_option("l2")
    clause.get_by_label("relation").select_option("expects")
    clause.get_by_label("group").select_option("VERB")
    expect(page.locator(".question")).to_have_value("l2 expects VERB")
    expect(total).to_have_text(f"{news.find('l2 expects verb').total:,}")
    expect(screen.find(".hits thead .says")).to_have_text("l2 expects")
    expect(screen.find(".hits tbody .says bdi").first).to_have_text("verb")
    page.fill(".question", "y rank = 1 and l2 disagrees with h2")  # typed, it sets the builder
    page.press(".question", "Enter")
    expect(screen.find(".builder .clause select").nth(1)).to_have_value("right")
    expect(screen.find(".builder [aria-label='other part']")).to_have_value("h2")
    found = f"{news.find('y rank = 1 and l2 disagrees with h2').total:,}"
    expect(total).to_have_text(found)
    page.fill(".question", "y rank = 1 and l2 expcts verb and y rank = 1")
    expect(screen.find(".still")).to_have_text(re.compile("^Still shown: the answers to y rank"))
    expect(total).to_have_text(found)
    page.fill(".question", "y rank = 1 and l2 expec")  # half typed, it waits
    expect(screen.find(".pointed")).to_have_class(re.compile("waits"))
    expect(screen.find(".asking .completion li").first).to_have_text("expects")
    expect(screen.find(".statemap .here")).to_be_visible()
    expect(screen.find(".mapcard select")).to_have_value("l2")
    box = screen.find(".statemap .over").bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=3)
    page.mouse.up()
    expect(page.locator(".question")).to_have_value(
        re.compile(r"^map l2 in -?[\d.]+\.\.-?[\d.]+, ")
    )
    question = page.input_value(".question")
    total_there = news.find(question).total
    assert total_there > 50
    expect(total).to_have_text(f"{total_there:,}")
    expect(screen.find(".statemap .brush")).to_be_visible()
    assert findings(screen) == []
    screen.find(".mapcard input").nth(1).fill("90")  # the same by keys
    screen.find(".mapcard input").nth(1).press("Enter")
    expect(page.locator(".question")).to_have_value(re.compile(r"^map l2 in -?[\d.]+\.\.90, "))
    page.go_back()
    expect(page.locator(".question")).to_have_value(question)
    screen.find(".mapcard select").select_option("h2")
    expect(page.locator(".question")).to_have_value(question)
    page.reload()
    expect(page.locator(".question")).to_have_value(question, timeout=30_000)
    expect(total).to_have_text(f"{total_there:,}", timeout=30_000)
    screen.find(".hits tbody tr .word a").first.click()
    hit = next(iter(news.find(question)))
    expect(screen.find("#text")).to_have_value(hit.text)
    screen.drawn(len(hit.words))
