"""The grid explained in place: heads of columns, the key, help that fits the semantic."""

import pytest
from playwright.sync_api import expect

import rnnlens

VIEW = "#text=the+zyzzyva+sees"


def heads(screen):
    script = "all => all.map(one => one.getAttribute('aria-label'))"
    return screen.find(".head g[role=columnheader]").evaluate_all(script)


def test_a_head_tells_of_its_kind_and_hides_and_shows(look, probed_run):
    screen = look(VIEW)
    screen.drawn(3)
    columns = {c["id"]: c for c in rnnlens.load(probed_run)("the dog").json["columns"]}
    screen.find("[data-column=h2]").click()
    sheet = screen.find(".sheet.kind")
    expect(sheet).to_contain_text("output state, layer 2")
    expect(sheet).to_contain_text(columns["h2"]["equation"])
    expect(sheet).to_contain_text("Perplexity for the next word: ")
    assert sheet.bounding_box()["x"] + sheet.bounding_box()["width"] <= 1280
    screen.page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    screen.find("[data-column=h2]").click()
    sheet.get_by_text("hide this column").click()
    expect(screen.find("[data-column=h2]")).to_have_count(0)
    screen.find("[data-column=s2]").click()
    sheet.get_by_text("show forget gate").click()
    expect(screen.find("[data-column=f2]")).to_have_count(1)
    assert heads(screen)[5:] == [
        "forget gate, layer 2", "long-term memory, layer 2",
        "short-term memory, layer 2", "cell state, layer 2", "prediction",
    ]  # fmt: skip
    screen.find("[data-column=x]").click()
    expect(sheet).to_be_visible()
    screen.page.mouse.click(640, 700)
    expect(sheet).to_be_hidden()
    screen.find("[data-layer='2']").click()  # a layer alone, and again all
    expect(screen.find("[data-column]")).to_have_count(4)
    assert {name.rsplit(", ")[-1] for name in heads(screen)} == {"layer 2"}
    screen.find("[data-layer='2']").click()
    expect(screen.find("[data-column]")).to_have_count(10)
    screen.page.go_back()
    expect(screen.find("[data-column]")).to_have_count(4)
    screen.find("[data-column=c2]").click()
    sheet.get_by_text("compare all parts").click()
    expect(screen.find(".accuracy h2")).to_contain_text("How well each part predicts")


@pytest.mark.release
def test_the_key_says_what_is_drawn(look):
    screen = look(VIEW)
    screen.drawn(3)
    usual = [
        "bar: √probability, numbers in %",
        "feeds the selected state",
        "is fed by it",
        "group of the word itself",
        "?word the model does not know",
    ]
    expect(screen.find(".key li")).to_have_text(usual)
    screen.page.click(".toggle")
    expect(screen.find(".key li")).to_have_text(
        [*usual, "differs from what feeds it", "differs from the row above"]
    )
    screen.write("the dog")
    expect(screen.find(".key li")).to_have_count(6)


@pytest.mark.release
def test_help_fits_the_semantic_and_the_prediction_is_of_the_next_word(look):
    screen = look(VIEW)
    screen.drawn(3)
    expect(screen.find(".read")).to_contain_text("about the word that comes next?")
    expect(screen.find(".head")).to_contain_text("model")
    screen.page.click("text=current word")
    expect(screen.find(".read")).to_contain_text("about the word just read?")
    expect(screen.find(".read")).to_contain_text("y: the model’s own prediction of the next word")
    expect(screen.find(".panel")).to_contain_text("about the word just read?")
    expect(screen.find(".head")).to_contain_text("next word")


@pytest.mark.release
def test_what_nothing_was_read_into_is_hatched_and_says_so(look):
    screen = look(f"{VIEW}&kinds=all")
    screen.drawn(3)
    assert screen.find(".hatch").count() == 2
    states = screen.states()
    empty = [said for said in states if said.endswith(": nothing read yet")]
    assert empty == [f"previous cell, layer {u}, after the start: nothing read yet" for u in (1, 2)]
    expect(screen.state(0, "previous cell, layer 1")).to_contain_text("nothing")
