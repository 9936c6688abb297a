"""Every answer of an index is, as JSON, what its schema says."""

import json
from typing import Any, get_args

from pydantic import TypeAdapter
from tests.search.conftest import total
from tests.search.test_similar import nearest

from rnnlens.base.schema import json_type, to_json
from rnnlens.search import answers
from rnnlens.search.pictures import picture


def check(answer: Any) -> None:
    """Refuse JSON that is not what the answer's class declares, to the last field."""
    written = json.dumps(to_json(answer), allow_nan=False)
    kind: Any = type(answer)
    TypeAdapter(json_type(kind)).validate_json(written, strict=True)


def test_answers_are_their_own_schema(page):
    about = page.about()
    check(about)
    for question in (*(one.question for one in about.examples), "", "l2 expcts", "count by tag"):
        check(page.find(question, 0, 3))
    assert total(page, "") == about.words
    check(page.table("count"))
    for name in get_args(answers.PictureName):
        check(picture(page.subject, name))
    for by in get_args(answers.Nearness):
        check(nearest(page.subject, "the dog sees", "l2", 2, 3, by))


def test_fields_say_what_they_mean():
    hit = TypeAdapter(json_type(answers.FoundSlice)).json_schema()["$defs"]["Hit"]["properties"]
    assert hit["surprisal"]["description"] == "of the word that came, in bits"
