"""The server, asked directly."""

import json
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from tests.asks import grid_json
from tests.models import fresh

import rnnlens
from rnnlens.ask.answer import TABLE
from rnnlens.ask.grids import GridQuestion
from rnnlens.ask.questions import Subjects
from rnnlens.ask.runs import RunsQuestion, runs
from rnnlens.base.errors import RnnlensError
from rnnlens.lens.lens import Lens
from rnnlens.page.serve.app import application
from rnnlens.page.serve.guard import SAFE
from rnnlens.reading.reading import LONGEST
from rnnlens.reading.subject import Subject

PATHS = ["/", "/page.js", "/grid/draw.js", "/style.css", "/api/runs", "/api/accuracy",
         "/api/openapi.json", "/no"]  # fmt: skip


@pytest.fixture(scope="module")
def client(formula, formulas):
    app = application({"formula": formula.subject, "bare": formulas["bare"].subject})
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def grid(client, **asked):
    return client.post("/api/grid", json={"text": "the dog sees .", **asked})


def error(answer, status):
    """The one line that a problem is told in."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert "\n" not in answer.json()["error"]
    return answer.json()["error"]


def test_the_runs_are_listed(client):
    first, second = client.get("/api/runs").json()["runs"]
    assert first == {
        "id": "formula", "title": "formula · LSTM 4 × 2", "labels": 23,
        "semantics": ["output", "input", "output+1"],
        "palettes": ["classes", "coarse", "universal",
                     "classes/paper", "coarse/paper", "universal/paper"],
        "examples": ["the dogs near the old house see a bird ."], "probes": True,
        "comparable": {"output": ["bare"], "input": [], "output+1": []},
        "corpus": False, "reads": True, "training": None,
    }  # fmt: skip
    assert (second["id"], second["probes"], second["semantics"]) == ("bare", False, [])


def test_runs_are_offered_beside_each_other_only_where_they_can_be_compared():
    """As what is refused says: of the bundled ones no two predict the same."""
    names = ("english-news", "english-tags", "brackets")
    subjects = Subjects.of(*(rnnlens.load(name).subject for name in names))
    for run in runs(subjects, RunsQuestion())["runs"]:
        assert {other for some in run["comparable"].values() for other in some} == set()
        for other in set(names) - {run["id"]}:
            asked = GridQuestion(run=run["id"], text="the", beside=other)
            with pytest.raises(RnnlensError):
                subjects.read(asked)


def test_a_grid_is_the_lens_s(client, formula):
    assert grid(client).json() == json.loads(json.dumps(grid_json(formula, "the dog sees .")))
    other = grid(client, run="bare", palette="universal").json()
    assert (other["run"], other["palette"], len(other["columns"])) == ("bare", "universal", 1)


@pytest.mark.slow
def test_a_long_grid_is_made_in_steps_and_is_the_same(client, formula):
    text = "the dog sees 3 old birds and she said . " * 12
    assert grid(client, text=text, limit=200).json() == json.loads(
        json.dumps(grid_json(formula, text))
    )


def test_rows_at_hand_are_not_sent_and_no_more_than_asked_for(client):
    found = grid(client, previous="the dog said .", have=4, limit=2).json()
    assert (found["from"], len(found["rows"])) == (1, 2)


def test_divergences(client):
    pin = {"column": "h2", "row": 1}
    pairs = [
        {"a": pin, "b": pin},
        {"a": pin, "b": {**pin, "text": "she said", "semantic": "input"}},
    ]
    found = client.post("/api/divergence", json={"text": "the dog", "pairs": pairs}).json()
    assert found["bits"][0] == 0
    assert 0 < found["bits"][1] <= 1


def test_accuracy(client):
    found = client.get("/api/accuracy", params={"run": "formula"}).json()
    assert (found["run"], found["own"], found["unigram"]) == ("formula", 9.5, 21.0)
    assert found["semantics"]["output"][0]["kind"] == "x"
    said = error(client.get("/api/accuracy", params={"run": "bare"}), 404)
    assert "rnnlens eval" in said


def test_the_page_in_one_file(client):
    answer = client.get("/api/standalone")
    assert answer.headers["content-type"].startswith("text/html")
    assert 'id="embedded"' in answer.text


def test_the_live_page_in_one_file(client):
    answer = client.post("/api/publish", json={"run": "formula", "text": "the dog"})
    assert answer.headers["content-type"].startswith("text/html")
    assert '"text":"the dog"' in answer.text
    assert 'id="weights"' in answer.text
    said = error(client.post("/api/publish", json={"run": "x", "text": ""}), 404)
    assert "no run is called" in said


def test_of_too_many_words_the_first_are_drawn_and_the_rest_is_counted(client):
    found = grid(client, text="the " * (LONGEST + 3), limit=2).json()
    assert (len(found["words"]), found["left_out"]) == (LONGEST, 3)
    assert found["rows"] == grid(client, text="the " * LONGEST, limit=2).json()["rows"]
    last = {"previous": "the " * (LONGEST + 3), "have": LONGEST - 1}
    assert len(grid(client, text="the " * (LONGEST + 3), **last).json()["rows"]) == 1
    ends = {side: {"column": "y", "row": LONGEST - 1} for side in "ab"}
    asked = {"text": "the " * (LONGEST + 3), "pairs": [ends]}
    assert client.post("/api/divergence", json=asked).json() == {"bits": [0.0]}


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({"run": "none"}, 404, "no run is called 'none'; there is formula, bare"),
        ({"semantic": "output+9"}, 400, "no probes for the semantic 'output+9'"),
        ({"palette": "pink"}, 400, "no palette 'pink'; it has classes, coarse, universal"),
        ({"text": "x" * 20_001}, 422, "20,001 characters are too many"),
        ({"previous": "x" * 20_001}, 422, "characters are too many"),
        ({"text": 3}, 422, "text: Input should be a valid string"),
        ({"text": None}, 422, "text"),
        ({"limit": 0}, 422, "limit: Input should be greater than or equal to 1"),
        ({"limit": 201}, 422, "limit: Input should be less than or equal to 200"),
        ({"limit": "5"}, 422, "limit: Input should be a valid integer"),
        ({"have": -1}, 422, "have"),
        ({"have": True}, 422, "have"),
        ({"bars": 3}, 422, "bars: Unexpected keyword argument"),
    ],
)
def test_what_cannot_be_answered_is_said(client, asked, status, said):
    assert said in error(grid(client, **asked), status)


@pytest.mark.parametrize(
    ("pairs", "status", "said"),
    [
        ([{"a": {"column": "q", "row": 0}, "b": {"column": "y", "row": 0}}], 400, "no column 'q'"),
        ([{"a": {"column": "y", "row": 9}, "b": {"column": "y", "row": 0}}], 400, "no row 9"),
        ([{"a": {"column": "y"}, "b": {"column": "y", "row": 0}}], 422, "pairs.0.a.row"),
        ([{"a": {"column": "y", "row": 0}, "b": {"column": "y", "row": 0}}] * 65, 422, "64"),
    ],
)
def test_pairs_that_cannot_be_compared(client, pairs, status, said):
    answer = client.post("/api/divergence", json={"text": "the dog", "pairs": pairs})
    assert said in error(answer, status)


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"[]", b'"a"', b"\xff", b"1" * 9999])
def test_bodies_that_are_no_request(client, body):
    answer = client.post("/api/grid", content=body, headers={"content-type": "application/json"})
    error(answer, answer.status_code)
    assert answer.status_code in (400, 422)


def test_a_form_of_another_page_is_no_request(client):
    assert grid_as(client, "text/plain").status_code == 422


def grid_as(client, kind):
    body = b'{"text": "a"}'
    return client.post("/api/grid", content=body, headers={"content-type": kind})


@pytest.mark.parametrize(
    "text",
    ["", " ", "a", "\x00\x07", "😀 \u202eشكرا", "a\tb", "<img src=x onerror=alert(1)>", "\u2028"],
)
def test_odd_text_is_answered(client, text):
    found = grid(client, text=text).json()
    assert found["text"] == text
    assert len(found["rows"]) == len(found["words"])


def test_half_a_character_is_replaced(client):
    body = b'{"text": "the \\ud800 dog"}'
    answer = client.post("/api/grid", content=body, headers={"content-type": "application/json"})
    assert answer.json()["text"] == "the \ufffd dog"


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_carries_a_strict_policy(client, path):
    answer = client.get(path)
    assert answer.status_code == (404 if path == "/no" else 200)
    assert {name: answer.headers[name] for name in SAFE} == SAFE
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    ["/../bundle.py", "/%2e%2e/bundle.py", "/grid/../../bundle.py", "/grid/%2e%2e/%2e%2e/bundle.py",
     "/grid%5c..%5cpage.js", "/grid/%2e%2e/page.js", "/grid", "/grid/", "/web/page.js",
     "/bundle.py"],
)  # fmt: skip
def test_only_the_page_is_served(client, path):
    error(client.get(path), 404)


def test_other_methods_are_refused(client):
    assert "is not for POST" in error(client.post("/api/runs"), 405)
    assert client.post("/api/runs").headers["allow"] == "GET"


def test_pages_that_load_from_elsewhere_are_off(client):
    for path in ("/docs", "/redoc"):
        error(client.get(path), 404)


def test_the_schema_names_every_question_and_its_problems(client):
    found = client.get("/api/openapi.json").json()
    assert set(found["paths"]) == {
        "/api/runs", "/api/grid", "/api/divergence", "/api/follow", "/api/turns", "/api/accuracy",
        "/api/standalone", "/api/written", "/api/continue", "/api/figure", "/api/corpus",
        "/api/find", "/api/table", "/api/picture", "/api/similar", "/api/publish",
        "/api/labels", "/api/map", "/api/place", "/api/texts", "/api/memory", "/api/memories",
    }  # fmt: skip
    assert "HTTPValidationError" not in found["components"]["schemas"]
    for path in found["paths"].values():
        for question in path.values():
            assert {"200", "4XX", "503"} <= set(question["responses"])
    text = found["components"]["schemas"]["GridQuestion"]["properties"]["text"]
    assert text["maxLength"] == 20_000


def test_a_failure_of_ours_is_one_line_and_no_trace(formula):
    broken = replace(TABLE["grid"], give=lambda *_: iter([({"labels": 1 / 3}, 0)]))
    app = application({"formula": formula.subject}, table={"grid": broken})
    answer = TestClient(app, "http://127.0.0.1", raise_server_exceptions=False).post(
        "/api/grid", json={"text": "a"}
    )
    assert error(answer, 500) == "the server failed (KeyError)"
    assert answer.headers["content-security-policy"] == SAFE["content-security-policy"]


def test_threads_of_our_own_give_the_same_grid(formula):
    # Neither remembers anything: a row that continues another differs in its last digits.
    spread, plain = (
        Lens(Subject(name, fresh(formula), formula.palettes, formula.subject.probes))
        for name in ("spread", "plain")
    )
    text = "the dog sees the bird and she said ."
    plain.subject.parallel = map
    assert spread.subject.parallel is not map
    assert grid_json(spread, text)["rows"] == grid_json(plain, text)["rows"]
