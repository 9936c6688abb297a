"""Cells of memories that are matrices: a number, or an answer to a word, by choice and link."""

import re

import pytest
from playwright.sync_api import expect

import rnnlens
from rnnlens.run.folder import run_at

TEXT = "b 3 d 7 b 5 ? b"


@pytest.fixture(scope="module")
def recall(server):
    with server(run_at("recall").path) as served:
        yield served


def test_cells_of_a_memory_show_what_is_chosen_and_the_link_brings_it_back(look, recall):
    grid = rnnlens.load("recall")(TEXT)
    screen = look("#text=b+3+d+7+b+5+%3F+b&kinds=q1,S1,r1,y&asked=b", at=recall)
    screen.drawn(8)
    cells = screen.find(".row [data-told]")
    expect(cells).to_have_count(8)
    for row, answer in enumerate(grid["S1"].asked("b")):
        first = re.escape(f"; asked by b: {answer.top(1)[0][0]} ")
        expect(cells.nth(row)).to_have_attribute("aria-label", re.compile(first))
    head = screen.find(".head [data-column=S1]")
    expect(head).to_contain_text("asked by b")
    head.click()
    choice = screen.page.get_by_label("what the cells of memories show")
    expect(choice).to_have_value("asked")
    choice.select_option("rank")
    for row, told in enumerate(grid["S1"].memory()):
        said = f"; effective rank {sum(told.rank) / len(told.rank):.3g}"
        expect(cells.nth(row)).to_have_attribute("aria-label", re.compile(re.escape(said)))
    expect(screen.page).to_have_url(re.compile("&memories=rank$"))
    choice.select_option("says")
    expect(cells).to_have_count(0)
    screen.page.go_back()
    expect(head).to_contain_text("effective rank")
    screen.page.keyboard.press("Escape")
    screen.find(".head [data-column=q1]").click()  # no memory: it has no such choice
    expect(screen.find(".sheet.kind")).to_contain_text("question")
    expect(choice).to_have_count(0)
