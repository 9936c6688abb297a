"""What is really sent, held to the schema field by field: none that it lacks, none too few."""

import json
import re

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient
from tests.asks import grid_json
from tests.held import held_to

from rnnlens.ask import json_types as answers
from rnnlens.ask.continuation import Continued
from rnnlens.ask.follow import Followed
from rnnlens.ask.json_types import Accuracy
from rnnlens.ask.turns import Turns
from rnnlens.ask.written import Written
from rnnlens.draw.figure import BARS
from rnnlens.draw.look import Look
from rnnlens.page import saved_page as view
from rnnlens.page.saved_page import contents
from rnnlens.page.serve.app import application

TEXTS = ("", "the dog", "the dog sees 3 zyzzyva . " * 12)


@pytest.fixture(scope="module")
def client(formula, formulas):
    lenses = {"formula": formula, **formulas}
    subjects = {name: lens.subject for name, lens in lenses.items()}
    return TestClient(application(subjects), base_url="http://127.0.0.1")


def test_runs(client):
    held_to(answers.Runs, client.get("/api/runs").content)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("run", ["formula", "gru", "rnn", "bare"])
def test_grids(client, run, text):
    answer = client.post("/api/grid", json={"run": run, "text": text, "limit": 200})
    grid = held_to(answers.Grid, answer.content)
    assert len(grid["rows"]) == len(grid["words"])
    assert all(len(row) == len(grid["columns"]) for row in grid["rows"])


def test_grids_of_other_semantics_and_later_rows(client):
    asked = {"text": TEXTS[-1], "semantic": "input", "previous": TEXTS[-1], "have": 3, "limit": 2}
    assert held_to(answers.Grid, client.post("/api/grid", json=asked).content)["from"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("run", ["formula", "gru", "bare"])
def test_followed_labels_and_turns(client, run, text):
    asked = {"run": run, "text": text, "limit": 200}
    grid = held_to(answers.Grid, client.post("/api/grid", json=asked).content)
    for against in ([], ["dogs"]):
        wanted = {**asked, "labels": ["dog"], "against": against}
        followed = held_to(Followed, client.post("/api/follow", json=wanted).content)
        assert [len(row) for row in followed["rows"]] == [len(grid["columns"])] * len(grid["words"])
    turns = held_to(Turns, client.post("/api/turns", json=asked).content)
    assert len(turns["rows"]) == len(grid["words"])
    assert all(len(row["edges"]) == len(grid["edges"]) for row in turns["rows"])
    assert all(len(row["above"]) == len(grid["columns"]) for row in turns["rows"])


def test_divergences_accuracy_and_problems(client):
    pin = {"column": "h2", "row": 0}
    pairs = [{"a": pin, "b": pin}, {"a": pin, "b": {**pin, "column": "x"}}]
    asked = client.post("/api/divergence", json={"text": "the dog", "pairs": pairs})
    assert len(held_to(answers.Divergences, asked.content)["bits"]) == 2
    held_to(Accuracy, client.get("/api/accuracy").content)
    for refused in (client.get("/no"), client.post("/api/grid", json={"texts": 1})):
        held_to(answers.Problem, refused.content)


@pytest.mark.parametrize(
    "look",
    [
        Look(),
        Look(kinds="all", bars=5),
        Look(kinds=["h2", "c1@-1"], density="compact", symbols=True),
    ],
)
def test_saved_pages(formula, look):
    page = contents(grid_json(formula, "the dog sees"), ".html", look).decode()
    (embedded,) = re.findall(r'<script type="application/json" id="embedded">(.*?)</script>', page)
    assert held_to(view.SavedPage, embedded)["view"]["bars"] == (look.bars or BARS)


def test_a_field_too_many_or_too_few_is_noticed(formula):
    grid = json.loads(json.dumps(grid_json(formula, "the dog")))
    held_to(answers.Grid, json.dumps(grid))
    for change in (
        lambda state: state.update(more=1),
        lambda state: state.pop("entropy"),
        lambda state: state.update(share=1.5),
        lambda state: state["top"][0].append(1),
        lambda state: state.update(wanted=["the", 0.5, 0]),
    ):
        spoilt = json.loads(json.dumps(grid))
        change(spoilt["rows"][1][2])
        with pytest.raises(ValidationError, match=r"rows\.1\.2"):
            held_to(answers.Grid, json.dumps(spoilt))


@pytest.mark.slow
def test_edited_grids_what_wrote_a_state_and_how_it_goes_on(client, formula):
    edits = ["c1@2=0", "l2@3+0.5:dog"]
    for text in TEXTS[1:]:
        asked = {"text": text, "edits": edits[: len(text.split()) - 1], "limit": 200}
        grid = held_to(answers.Grid, client.post("/api/grid", json=asked).content)
        assert grid["edits"] == asked["edits"]
        assert [len(row) for row in grid["changes"]] == [len(row) for row in grid["rows"]]
        assert {change["bits"] for change in grid["changes"][0]} == {0}
        assert max(row[-1]["bits"] for row in grid["changes"]) > 0
        followed = client.post("/api/follow", json={**asked, "labels": ["dog"]}).json()["rows"]
        expected = formula(text, edits=asked["edits"]).follow("dog").to_json()["rows"]
        assert followed == expected
        turns = client.post("/api/turns", json=asked).json()
        assert turns != client.post("/api/turns", json={**asked, "edits": []}).json()
    ends = [{"column": "y", "row": 1, "edits": some} for some in ([], ["c1@2=0"])]
    pairs = [{"a": ends[0], "b": ends[1]}, {"a": ends[1], "b": ends[1]}]
    bits = client.post("/api/divergence", json={"text": "the dog", "pairs": pairs}).json()["bits"]
    assert bits[0] > bits[1] == 0
    for column in ("c2", "f1", "y"):
        state = {"text": "the dog sees", "column": column, "row": 2, "labels": ["dog"]}
        held_to(Written, client.post("/api/written", json=state).content)
    words = client.post("/api/continue", json={"text": "the dog", "edits": ["c2@2*9"], "words": 4})
    continued = held_to(Continued, words.content)
    assert len(continued["before"]) == len(continued["after"]) == 4


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        ("grid", {"edits": ["c9@1=0"]}, "'c9' is no kind that could be edited"),
        ("grid", {"edits": ["c1@9=0"]}, "c1@9=0 is about word 9"),
        ("grid", {"edits": ["c1"]}, "'c1' is no edit"),
        ("written", {"column": "y", "row": 0, "labels": ["a"], "against": ["a"]}, "'a' cannot"),
        ("written", {"column": "y", "row": 9}, "there is no row 9"),
        ("continue", {"words": 201}, "words: "),
    ],
)
def test_edits_and_states_that_there_are_not(client, path, asked, said):
    answer = client.post(f"/api/{path}", json={"text": "the dog", **asked})
    assert answer.status_code in (400, 422)
    assert held_to(answers.Problem, answer.content)["error"].startswith(said)


def test_edits_that_cannot_be_made_are_left_out_and_said_where_that_is_asked_for(client):
    edits = [
        "c9@1=0",
        "c1@2=0",
        "c1@9=0",
        "c1",
        "c1@1=freeze",
        "l1@1=@9",
        "c2@2+nowhere",
        "l2@1*0.5",
    ]
    asked = {"text": "the dog", "edits": edits, "lenient": True}
    grid = held_to(answers.Grid, client.post("/api/grid", json=asked).content)
    assert grid["edits"] == ["c1@2=0", "l2@1*0.5"]
    assert len(grid["dropped"]) == 6
    exact = client.post("/api/grid", json={"text": "the dog", "edits": grid["edits"]})
    assert held_to(answers.Grid, exact.content)["rows"] == grid["rows"]
    assert exact.json()["dropped"] == []
    none = client.post("/api/grid", json={**asked, "edits": ["c9@1=0"]}).json()
    assert none["edits"] == none["changes"] == []


def test_a_figure_has_the_edits_of_its_grid(client):
    asked = {"text": "the dog sees", "rows": "2-3", "labels": ["dog"], "edits": ["c1@2=0"]}
    plain, edited = (
        client.post("/api/figure", json={**asked, "edits": edits}).json()["data"]
        for edits in ([], asked["edits"])
    )
    assert edited != plain
