"""The published schema, fuzzed: whatever is sent is answered as it says, and nothing breaks."""

from itertools import product

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks, negative_data_rejection, positive_data_acceptance
from tests.sampling import sampled

from rnnlens.page.serve.app import application

HOST = {"Host": "127.0.0.1"}
QUESTIONS = [
    ("GET", "/api/runs"),
    ("POST", "/api/grid"),
    ("POST", "/api/divergence"),
    ("GET", "/api/accuracy"),
    ("GET", "/api/standalone"),
    ("POST", "/api/publish"),
    ("POST", "/api/follow"),
    ("POST", "/api/labels"),
    ("POST", "/api/texts"),
    ("POST", "/api/memory"),
    ("POST", "/api/memories"),
    ("POST", "/api/turns"),
    ("POST", "/api/figure"),
    ("POST", "/api/written"),
    ("POST", "/api/continue"),
    ("POST", "/api/corpus"),
    ("POST", "/api/find"),
    ("POST", "/api/table"),
    ("POST", "/api/picture"),
    ("POST", "/api/similar"),
    ("POST", "/api/map"),
    ("POST", "/api/place"),
]

# Labels, kinds and questions are those of a run.
OF_A_RUN = {
    "/api/follow",
    "/api/figure",
    "/api/written",
    "/api/table",
    "/api/similar",
    "/api/map",
    "/api/memories",
    "/api/memory",
    "/api/place",
}

load_all_checks()


@pytest.fixture(scope="module")
def api(searched, formulas):
    app = application({"formula": searched.subject, "bare": formulas["bare"].subject})
    return schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=HOST)


def unbounded(schema, path=""):
    """Where a schema has a number without bounds."""
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if not isinstance(schema, dict):
        return []
    bounds = {"minimum", "exclusiveMinimum", "const", "enum"}
    here = schema.get("type") in ("integer", "number") and not bounds & schema.keys()
    within = [place for key, one in schema.items() for place in unbounded(one, f"{path}/{key}")]
    return [path] * here + within


def test_every_number_has_its_bounds(api):
    assert unbounded({"items": [{"type": "number"}, {"type": "integer", "minimum": 0}]}) == [
        "/items/0"
    ]
    assert unbounded(api.raw_schema) == []


@pytest.mark.slow
def test_every_question_is_fuzzed(api):
    found = [operation.ok() for operation in api.get_all_operations()]
    assert {(o.method.upper(), o.path) for o in found} == {*QUESTIONS}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "mode"),
    sampled(product(QUESTIONS, GenerationMode), *product(QUESTIONS, [GenerationMode.POSITIVE]),
            *product(QUESTIONS[1:3], [GenerationMode.NEGATIVE])),
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else one.value,
)  # fmt: skip
def test_every_answer_is_what_the_schema_says(api, question, mode):
    """No server error, no undocumented status, body or header; invalid requests are refused.

    Valid ones may be refused too: the schema cannot know which runs and semantics there are.
    """
    statuses, (method, path) = set(), question

    @settings(
        max_examples=settings().max_examples ** 2 // 20,  # 20 at every change, 80 before a release
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=api[path][method].as_strategy(generation_mode=mode))
    def fuzz(case):
        answer = case.call(headers=HOST)
        excluded = [positive_data_acceptance]
        if answer.status_code == 413:  # a refusal too, which that check does not count as one
            excluded.append(negative_data_rejection)
        case.validate_response(answer, excluded_checks=excluded)
        statuses.add(answer.status_code)
        assert "default-src 'none'" in answer.headers["content-security-policy"][0]

    try:
        fuzz()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # nothing can be wrong about no parameters
        return
    if mode is GenerationMode.POSITIVE and path not in OF_A_RUN:
        assert 200 in statuses, "nothing was answered"
