"""One table from questions to answers, which everybody asks: the server, the notebook, Python."""

import json
import shutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass as question_class
from starlette.testclient import TestClient
from tests.held import held_to
from tests.search.conftest import build, corpus_text
from typing_extensions import is_typeddict

from rnnlens.ask.answer import TABLE, Entry, Table, answer
from rnnlens.ask.questions import STRICT, OfText, Subjects
from rnnlens.base.errors import RnnlensError
from rnnlens.base.schema import Sent, json_type, rounded, sent, unsent
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.page import notebook
from rnnlens.page.serve.app import application
from rnnlens.run.folder import Run

TEXT = "the old dogs see a bird"


@question_class(frozen=True, kw_only=True, config=STRICT)
class LengthQuestion(OfText):
    """How long the words of a text are."""

    least: int = 0


@dataclass(frozen=True)
class Lengths:
    """The mean length of words, and the longest."""

    mean: float = sent("of all words", write=rounded(3))
    longest: tuple[str, ...] = sent("of which there may be several", name="long")
    count: int = unsent()


def lengths(subjects: Subjects, question: LengthQuestion) -> Lengths:
    """How long the words of a text are."""
    words = [word for word in subjects.read_one(question).words if len(word) >= question.least]
    most = max(map(len, words))
    longest = tuple(word for word in words if len(word) == most)
    return Lengths(sum(map(len, words)) / len(words), longest, len(words))


@pytest.fixture
def table() -> Table:
    return {**TABLE, "lengths": Entry(LengthQuestion, Lengths, lengths)}


def test_a_new_question_is_answered_alike_by_server_notebook_and_python(formula, table):
    asked = {"text": TEXT, "least": 2}
    subjects = Subjects.of(formula.subject)
    client = TestClient(application(subjects, table=table), base_url="http://127.0.0.1")
    served = client.post("/api/lengths", json=asked)
    message = {"id": "1", "path": "api/lengths", "body": asked}
    of_kernel = notebook.answer(subjects, message, table=table)["answer"]
    of_python = answer(subjects, LengthQuestion(text=TEXT, least=2), table)
    assert of_python == {"mean": 3.4, "long": ["dogs", "bird"]}
    assert served.json() == json.loads(of_kernel) == of_python
    assert held_to(Lengths, served.content) == of_python
    schema = client.get("/api/openapi.json").json()
    assert schema["components"]["schemas"]["Lengths"]["required"] == ["mean", "long"]
    body = schema["paths"]["/api/lengths"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/LengthQuestion"}


def test_what_a_new_question_may_not_be_is_refused_alike(formula, table):
    subjects = Subjects.of(formula.subject)
    client = TestClient(application(subjects, table=table), base_url="http://127.0.0.1")
    two = {"text": "the {dog|dogs}"}
    served = client.post("/api/lengths", json=two)
    kernel = notebook.answer(subjects, {"id": "1", "path": "api/lengths", "body": two}, table=table)
    with pytest.raises(RnnlensError) as python:
        answer(subjects, LengthQuestion(text=two["text"]), table)
    assert served.status_code == 400
    assert served.json()["error"] == kernel["error"] == str(python.value)
    with pytest.raises(RnnlensError, match="nothing answers a LengthQuestion; ask runs, "):
        answer(subjects, LengthQuestion(text=TEXT))
    plain = TestClient(application(subjects), base_url="http://127.0.0.1")
    assert plain.post("/api/lengths", json={"text": TEXT}).status_code == 405


STATE = {"text": TEXT, "column": "l2", "row": 2}
PIN = {"column": "h2", "row": 1}
ASKED: dict[str, list[dict[str, Any]]] = {
    "runs": [{}],
    "accuracy": [{}],
    "grid": [{"text": TEXT}, {"text": TEXT, "edits": ["l2@2=0"], "limit": None},
             {"text": "the {dog|dogs} see", "edits": ["l2@2:2=0"]}],
    "follow": [{"text": TEXT, "labels": ["dog"]},
               {"text": "the {dog|old dogs}", "labels": ["dog"], "against": ["dogs"]}],
    "labels": [{"begins": "do", "names": ["dog", "dgo"]}, {"begins": "dgo", "semantic": "input"}],
    "texts": [{}, {"find": "the dog", "first": 1}],
    "turns": [{"text": TEXT}, {"text": "the {dog|old dogs}"}],
    "divergence": [{"text": TEXT, "pairs": [{"a": PIN, "b": {**PIN, "column": "x"}}]}],
    "written": [STATE, {**STATE, "text": "the {dog|dogs} see"}],
    "memory": [{**STATE, "column": "c2"}],
    "memories": [{"text": TEXT}],
    "continue": [{"text": TEXT, "edits": ["c2@2=0"], "words": 3}],
    "figure": [{"text": TEXT, "rows": "2-3"}],
    "corpus": [{}],
    "find": [{"question": "word = dog"}, {"question": "count by tag"}, {"question": "l2 expcts"}],
    "table": [{"question": "word = dog"}],
    "picture": [{"name": name} for name in ("disagreement", "turns", "surprise", "reach", "tags")],
    "map": [{"kind": "l2"}, {"kind": "x"}],
    "place": [STATE, {**STATE, "edits": ["c2@2=0"]}],
    "similar": [STATE, {**STATE, "by": "divergence"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def searched(formula: Lens, tmp_path_factory: pytest.TempPathFactory) -> Lens:
    """A lens that was measured, of a run with an index."""
    assert formula.subject.run
    folder = tmp_path_factory.mktemp("searched")
    path = shutil.copytree(formula.subject.run.path, folder / "formula")
    (folder / "words.conllu").write_text(corpus_text(12))
    lens = opened(Run(path))
    build(lens, folder / "words.conllu", "fp16")
    return lens


@pytest.mark.parametrize("name", TABLE)
def test_every_answer_is_what_its_own_class_says(searched, name):
    entry, subjects = TABLE[name], Subjects.of(searched.subject)
    for asked in ASKED[name]:
        question = TypeAdapter(entry.question).validate_python(asked)
        given = json.dumps(answer(subjects, question), allow_nan=False)
        assert held_to(entry.answer, given).keys() == json.loads(given).keys()


def classes_in(kind: Any) -> Iterator[type[Any]]:
    """Every class that the JSON of a question or an answer is of, its own first."""
    parts = get_args(kind)
    for inner in parts[:1] if get_origin(kind) is Annotated else parts:
        yield from classes_in(inner)
    if is_dataclass(kind):
        ways = ((one.name, one.metadata.get("sent", Sent())) for one in fields(kind))
        given = {name: how.type for name, how in ways if how.is_sent}
    elif is_typeddict(kind):
        given = dict.fromkeys(kind.__annotations__)
    else:
        return
    yield kind
    hints = get_type_hints(kind, include_extras=True)
    for name, declared in given.items():
        yield from classes_in(declared or hints[name])


def test_no_question_and_no_answer_is_declared_twice(formula):
    """The schema's names are those of the classes that the table names and their parts."""
    declared = defaultdict[str, set[type[Any]]](set)
    for entry in TABLE.values():
        for kind in (*classes_in(entry.answer), *classes_in(entry.question)):
            declared[kind.__name__].add(kind)
    assert {name: kinds for name, kinds in declared.items() if len(kinds) > 1} == {}
    app: Any = application({"formula": formula.subject}).app
    schemas = app.openapi()["components"]["schemas"]
    of_addresses = {entry.question.__name__ for entry in TABLE.values() if entry.is_got}
    beside = {"Problem", "PublishQuestion"}  # of every question, and of a page in one file
    assert {*schemas} == {*declared} - of_addresses | beside


def test_two_classes_of_one_name_are_noticed(formula):
    @dataclass(frozen=True)
    class Grid:
        """Another of this name."""

        rows: int

    assert json_type(Grid).__name__ == TABLE["grid"].answer.__name__
    other = Entry(LengthQuestion, Grid, lengths)
    app: Any = application({"formula": formula.subject}, table={**TABLE, "lengths": other}).app
    assert "Grid" not in app.openapi()["components"]["schemas"]
