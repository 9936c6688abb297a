"""Followed labels and turns, as the server and the kernel answer them."""

import json

import pytest
from starlette.testclient import TestClient

from rnnlens.ask.questions import Subjects
from rnnlens.page import notebook
from rnnlens.page.serve.app import application

TEXT = "the dog sees the old birds and she said . " * 3


@pytest.fixture(scope="module")
def client(formula):
    return TestClient(application({"formula": formula.subject}), base_url="http://127.0.0.1")


def test_the_rows_that_were_asked_for_are_answered(client, formula):
    asked = {"text": TEXT, "labels": ["see", "sees"], "against": ["said"], "first": 20, "limit": 9}
    found = client.post("/api/follow", json=asked).json()
    assert (found["from"], found["labels"], found["against"]) == (20, ["see", "sees"], ["said"])
    expected = formula(TEXT).follow("see", "sees", against=("said",)).to_json()["rows"]
    assert len(found["rows"]) == 9
    for row, wanted in zip(found["rows"], expected[20:29], strict=True):
        assert row == pytest.approx(wanted, abs=2e-4)
    beyond = client.post("/api/follow", json={**asked, "first": 999}).json()
    assert (beyond["from"], beyond["rows"]) == (999, [])


def test_turns_of_the_rows_that_were_asked_for(client, formula):
    found = client.post("/api/turns", json={"text": TEXT, "first": 5, "limit": 6}).json()
    turns = formula(TEXT).turns()
    assert (found["from"], len(found["rows"])) == (5, 6)
    for row, answer in enumerate(found["rows"], 5):
        assert answer["edges"] == pytest.approx(turns.across[row].tolist(), abs=1e-4)
        assert answer["above"] == pytest.approx(turns.above[row].tolist(), abs=1e-4)
        assert answer["surprisal"] == pytest.approx(turns.surprisal[row], abs=1e-4)
    first = client.post("/api/turns", json={"text": "the dog", "limit": 1}).json()["rows"][0]
    assert set(first["above"]) == {None}
    assert None in first["edges"]


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({"labels": ["dgos"]}, 400, "there is no label 'dgos'; the nearest: 'dogs'"),
        ({"labels": ["dog"], "against": ["dog"]}, 400, "'dog' is followed and stands against"),
        ({"labels": []}, 400, "no label is named to follow"),
        ({"labels": ["dog"] * 65}, 422, "labels: "),
        ({"labels": ["dog"], "run": "no"}, 404, "no run is called 'no'"),
    ],
)
def test_what_cannot_be_followed_is_one_line(client, asked, status, said):
    answer = client.post("/api/follow", json={"text": "the dog", **asked})
    assert answer.status_code == status
    assert answer.json()["error"].startswith(said)


@pytest.mark.parametrize(
    ("path", "asked"),
    [("api/follow", {"labels": ["dog"], "limit": 30}), ("api/turns", {"first": 3, "limit": 20})],
)
def test_the_kernel_answers_as_the_server_does(client, formula, path, asked):
    body = {"text": TEXT, **asked}
    answer = notebook.answer(Subjects.of(formula.subject), {"id": "1", "path": path, "body": body})
    assert json.loads(answer["answer"]) == client.post(f"/{path}", json=body).json()
