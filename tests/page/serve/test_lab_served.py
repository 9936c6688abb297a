"""The laboratory as a page of the server."""

import re
from html import unescape

import pytest
from starlette.testclient import TestClient
from tests.lab.planted import planted

from rnnlens.page.serve.app import application


@pytest.fixture(scope="module")
def client(formula, tmp_path_factory):
    lens = planted(tmp_path_factory.mktemp("served"), 0)[0]
    subjects = {"planted0": lens.subject, "formula": formula.subject, "other": lens.subject}
    return TestClient(application(subjects), base_url="http://127.0.0.1")


def test_a_suite_is_asked_and_drawn(client):
    answer = client.get("/lab?suite=agreement")
    assert answer.status_code == 200
    page = answer.text
    assert "<b>planted0</b>" in page
    assert 'href="/lab?run=formula&amp;suite=agreement"' in page
    assert '<th title="cell state">c1</th>' in page
    assert page.count("bgcolor=") > 8  # interchange of all kinds, and what is preferred
    assert "style=" not in page  # which the server's own policy would not allow
    place, name = re.findall(r'<a href="([^"]*paradigm=[^"]*)">([^<]*)</a>', page)[0]
    one = client.get(unescape(place)).text
    assert f"<b>{name}</b>" in one
    assert "<th>the</th>" in one  # its words, down
    assert client.get("/api/lab.css").headers["content-type"].startswith("text/css")


@pytest.mark.parametrize(
    ("query", "status", "why"),
    [
        ("suite=../secret", 400, "no suite &#x27;../secret&#x27; comes along"),
        ("suite=<script>", 400, "no suite &#x27;&lt;script&gt;"),
        ("run=formula&suite=agreement", 400, "the model does not know"),
        ("suite=agreement&paradigm=", 400, "there is no paradigm &#x27;&#x27;"),
        ("suite=agreement&paradigm=x", 400, "there is no paradigm &#x27;x&#x27;"),
        ("run=gone", 404, "gone"),
    ],
)
def test_what_cannot_be_asked_is_one_line(client, query, status, why):
    answer = client.get(f"/lab?{query}")
    assert answer.status_code == status
    assert why in answer.text
    assert "<script" not in answer.text


def test_an_unknown_run_is_answered_by_a_page_that_leads_on(client):
    answer = client.get("/lab?run=%3Cb%3Egone&suite=polarity")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    said = re.findall("<p role=alert>(.*?)</p>", answer.text)
    assert len(said) == 1
    assert "&lt;b&gt;gone" in said[0]
    assert "planted0, formula, other" in said[0]
    assert 'href="/lab?run=formula&amp;suite=polarity"' in answer.text
    assert 'href="/#run=planted0"' in answer.text
    assert "<b>gone" not in answer.text


def test_links_lead_to_the_run_that_was_asked_for(client):
    page = client.get("/lab?run=other&suite=agreement").text
    assert "<b>other</b>" in page
    assert 'href="/lab?run=other&amp;suite=polarity"' in page
    assert 'href="/lab?run=other&amp;suite=agreement&amp;paradigm=' in page
    assert 'href="/#run=other"' in page


def test_it_needs_the_secret(formula):
    locked = TestClient(application({"formula": formula.subject}, "s" * 32),
                        base_url="http://127.0.0.1")  # fmt: skip
    assert {locked.get(path).status_code for path in ("/lab", "/api/lab.css")} == {403}
    locked.headers["authorization"] = "Bearer " + "s" * 32
    assert locked.get("/api/lab.css").status_code == 200
