"""Figures that the page asks for: those of `rnnlens show`, and no more work than they take."""

import base64
import re

import pytest
from starlette.testclient import TestClient
from tests.asks import grid_json
from tests.held import held_to

from rnnlens.ask.figures import Figure
from rnnlens.draw.look import Look
from rnnlens.page.saved_page import exported
from rnnlens.page.serve.app import application

TEXT = "the dog sees the old birds and she said ."


@pytest.fixture(scope="module")
def client(formula):
    return TestClient(application({"formula": formula.subject}), base_url="http://127.0.0.1")


def ask(client, **asked):
    answer = client.post("/api/figure", json={"text": TEXT, **asked})
    assert answer.status_code == 200, answer.json()
    return held_to(Figure, answer.content)


def test_what_cannot_be_drawn_is_said_in_one_line(client):
    for asked, told in (
        ({"against": ["dog"]}, "none to follow"),
        ({"pins": ["h2:11"]}, "pin 'h2:11': the text has 10 rows"),
        ({"rows": "2-3", "pins": ["h2:0"]}, "pin 'h2:0': the text has 10 rows"),
    ):
        answer = client.post("/api/figure", json={"text": TEXT, **asked})
        assert answer.status_code == 400
        assert told in answer.json()["error"]
    assert ask(client, rows="2-3", pins=["h2:9"])["ending"] == "svg"  # of a row that is not drawn


def rounded(drawing: str) -> str:
    """Numbers to a tenth of a point: rows computed by themselves differ in the last digits."""
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.1f}", drawing)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "look"),
    [
        ({}, Look()),
        ({"rows": "7-8", "kinds": ["layer2"], "width": 3.3},
         Look(kinds="layer2", rows="7-8", width=3.3)),
        ({"rows": "2,5-", "kinds": ["x", "h2"], "density": "compact", "pins": ["h2:5", "x:1"],
          "key": False, "symbols": True},
         Look(kinds="x,h2", rows="2,5-", density="compact", pins="h2:5", key=False, symbols=True)),
    ],
)  # fmt: skip
def test_the_page_and_the_command_give_the_same_figure(client, formula, asked, look):
    figure = ask(client, **asked)
    assert rounded(figure["data"]) == rounded(
        exported(grid_json(formula, TEXT), ".svg", look).decode()
    )
    assert figure["width"] == pytest.approx(look.width or figure["width"])


@pytest.mark.slow
def test_labels_that_are_followed_are_drawn(client, formula):
    figure = ask(client, rows="3-4", labels=["see", "sees"], against=["said"])
    followed = formula(TEXT).follow("see", "sees", against=("said",)).to_json()
    expected = exported(grid_json(formula, TEXT), ".svg", Look(rows="3-4"), followed).decode()
    assert rounded(figure["data"]) == rounded(expected)


def test_a_smaller_figure_has_smaller_type(client):
    wide, narrow = (ask(client, rows="7-8", width=width) for width in (6.9, 3.3))
    assert wide["type"] / narrow["type"] == pytest.approx(6.9 / 3.3, rel=0.2)
    assert wide["height"] > narrow["height"]


@pytest.mark.slow
def test_pdf_and_png_come_in_base64(client):
    for ending, begins in (("pdf", b"%PDF-"), ("png", b"\x89PNG")):
        data = ask(client, rows="1", kinds=["h2"], ending=ending)["data"]
        assert base64.b64decode(data, validate=True).startswith(begins)


def test_only_rows_that_are_drawn_are_computed(client, formula):
    before = formula.subject.recent.computed
    ask(client, text="the old dog sees a bird and " * 60, rows="401-402")
    assert formula.subject.recent.computed - before <= 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rows": "9-11"}, "rows '9-11': give numbers from 1 to 10"),
        ({"kinds": ["l3"]}, "the run has no kind 'l3'"),
        ({"pins": ["h2:one"]}, "pin 'h2:one': give a kind of x, "),
        ({"pins": ["q:1"]}, "pin 'q:1': give a kind of x, "),
        ({"text": " "}, "there is nothing to draw"),
        ({"text": "the " * 201}, "201 rows are too many for a figure; give at most 200"),
        ({"labels": ["dgos"]}, "there is no label 'dgos'"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(client, asked, said):
    answer = client.post("/api/figure", json={"text": TEXT, **asked})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(said)


def test_a_figure_that_takes_long_is_refused_before_anything_is_computed(client, monkeypatch):
    monkeypatch.setattr("rnnlens.ask.figures.parts", pytest.fail)
    for asked, told in (
        ({"text": "the dog " * 100, "bars": 20}, "more than the 8,000 that are drawn"),
        ({"text": "the dog " * 100, "bars": 20, "kinds": ["y"]}, "too large for a .svg file"),
        ({"text": "the dog " * 100, "kinds": ["y"], "width": 90.0, "ending": "png"}, "too large"),
    ):
        answer = client.post("/api/figure", json=asked)
        assert answer.status_code == 400
        assert told in answer.json()["error"]
