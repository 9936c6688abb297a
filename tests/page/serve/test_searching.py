"""Questions about the corpus, as the page asks them."""

import json
import random

import pytest
from starlette.testclient import TestClient
from tests.held import held_to

from rnnlens.ask.json_types import Problem, Runs
from rnnlens.base.errors import RnnlensError
from rnnlens.page.serve.app import application
from rnnlens.search import answers, sql
from rnnlens.search.pictures import PICTURES

TEXT = "the dog sees a bird"


@pytest.fixture(scope="module")
def client(searched, formulas):
    lenses = {"formula": searched.subject, "bare": formulas["bare"].subject}
    return TestClient(application(lenses), base_url="http://127.0.0.1")


def given(model, answer):
    assert answer.status_code == 200, answer.text
    return held_to(model, answer.content)


def test_every_answer_is_what_the_schema_says(client):
    about = given(answers.Corpus, client.post("/api/corpus", json={}))
    asked = [example["question"] for example in about["examples"]]
    asked += ["", "l2 expcts", "count by tag"]
    slices = [
        given(answers.FoundSlice, client.post("/api/find", json={"question": q, "limit": 3}))
        for q in asked
    ]
    assert any(answer["hits"] for answer in slices)
    assert [answer["wrong"] is None for answer in slices[-2:]] == [False, True]
    assert given(answers.Table, client.post("/api/table", json={"question": "count"}))["rows"] == 1
    for name in PICTURES:
        picture = given(answers.Picture, client.post("/api/picture", json={"name": name}))
        there = [one for one in PICTURES if picture[one] is not None]
        assert there == ([] if picture["missing"] else [name])
    state = {"text": TEXT, "column": "l2", "row": 2, "count": 3}
    for by in ("cosine", "divergence"):
        similar = given(answers.Similar, client.post("/api/similar", json={**state, "by": by}))
        assert len(similar["near"]) == 3
    runs = given(Runs, client.get("/api/runs"))["runs"]
    assert [run["corpus"] for run in runs] == [True, False]


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        ("find", {"question": "count", "run": "bare"}, "bare has no index; make one: rnnlens ind"),
        ("table", {"question": "l2 expcts verb"}, "did you mean expects"),
        ("find", {"question": "x" * 10_001}, "question: "),
        ("similar", {"text": TEXT, "column": "y", "row": 0}, "have no probe"),
        ("similar", {"text": TEXT, "column": "l2", "row": 9}, "there is no row 9"),
        ("similar", {"text": TEXT, "column": "l2", "row": 1, "semantic": "input",
                     "by": "divergence"}, "compare by cosine"),
    ],
)  # fmt: skip
def test_whatever_is_wrong_is_one_line(client, path, asked, said):
    answer = client.post(f"/api/{path}", json=asked)
    assert answer.status_code in (400, 422)
    error = held_to(Problem, answer.content)["error"]
    assert said in error
    assert "\n" not in error


def test_states_like_one_of_two_texts_are_those_of_its_text(client):
    state = {"column": "l2", "count": 3}
    asked = {"text": "the {dog|dogs see}"}
    lines = client.post("/api/grid", json=asked).json()["lines"]
    assert [line["row"] for line in lines] == [0, None, 1, 1, 2]
    for text, line, row in (("the dogs see", 2, 1), ("the dog", 3, 1), ("the dogs see", 4, 2)):
        both = {**state, **asked, "row": line}
        near = given(answers.Similar, client.post("/api/similar", json=both))["near"]
        alone = client.post("/api/similar", json={**state, "text": text, "row": row})
        assert near == given(answers.Similar, alone)["near"]
    gap = client.post("/api/similar", json={**state, **asked, "row": 1})
    assert held_to(Problem, gap.content)["error"].startswith("no word stands in row 2")


def test_without_the_extra_the_page_is_told_what_to_install(client, monkeypatch):
    def gone():
        raise RnnlensError("finding needs duckdb and pyarrow; install them: pip")

    monkeypatch.setattr(sql, "library", gone)
    answer = client.post("/api/find", json={"question": "count"})
    assert (answer.status_code, "install them" in answer.json()["error"]) == (400, True)


PIECES = [
    "l2", "y", "x", "expects", "verb", "noun", '"dog"', "'", '"', "`l2`", "`", "{", "}", ",", "(",
    ")", "and", "or", "not", "count", "by", "tag", "word", "=", "!=", "<", ">", ">=", ".5", "1e99",
    "-1", "limit", "sort", "rank", "entropy", "within", "3", "before", "after", "differs", "from",
    "c2@-1", "agrees", "with", "s2", ";", "--", "/*", "DROP TABLE words", "\0", "\ud800", "é",
    "read_csv('/etc/passwd')", "%", "*", "\\", "\n", "<script>", "1000", "unknown", "is", "like",
]  # fmt: skip


GOOD = ["", "l2 expects verb", "word = dog count", "y rank >", "count by tag, y label", "not ("]
JSON = {"Content-Type": "application/json"}


@pytest.mark.slow
def test_hostile_questions_are_answered_in_one_clear_line(client):
    chance = random.Random(7)
    wrong = 0
    for _ in range(150):
        question = " ".join([chance.choice(GOOD), *chance.choices(PIECES, k=chance.randint(0, 6))])
        body = json.dumps({"question": question}).encode()  # halves of characters, too
        found = given(answers.FoundSlice, client.post("/api/find", content=body, headers=JSON))
        if found["wrong"]:
            wrong += 1
            assert "\n" not in found["wrong"]["error"]
            assert 0 <= found["wrong"]["place"] <= len(question)
    assert 30 < wrong < 150
