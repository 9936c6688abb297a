"""Two texts side by side in the page's engine: a line is a row of its own text, edited or not."""

import base64
from typing import Any

import pytest
from tests.page.publish.engine import answered

from rnnlens.lens.lens import Lens
from rnnlens.page.publish.pack import packed

TWO = "the dog {old|small} sees a bird ."
TEXTS = ("the dog old sees a bird .", "the dog small sees a bird .")
EDITS = ["c1@1=0", "h1@2:4=freeze", "l2@1:2*0.5", "c1@2:6=@2", "c1@2:6*0.5", "c1@2:6*0.5"]
OF_SIDE = (["c1@1=0", "l2@2*0.5"], ["c1@1=0", "h1@4=freeze", "c1@6=@2", "c1@6*0.5", "c1@6*0.5"])


def asked(lens: Lens, *questions: tuple[str, dict[str, Any]]) -> list[Any]:
    pack = packed(lens.subject, lens.semantics, "fp16")
    sent = {"manifest": pack.manifest, "blob": base64.b64encode(pack.blob).decode()}
    every = [(0, f"api/{path}", question) for path, question in questions]
    answers: list[Any] = answered(
        "grids.mjs", {"lenses": [sent], "ways": [True], "questions": every}
    )
    return answers


def test_a_line_is_a_row_of_its_own_text_with_the_edits_of_its_side(formula):
    more = {"grid": {}, "follow": {"labels": ["dog"]}, "turns": {}}
    for path, with_it in more.items():
        pair, *single = (
            one["gives"]
            for one in asked(
                formula,
                (path, {"text": TWO, "edits": EDITS, **with_it}),
                *((path, {"text": text, "edits": edits, **with_it})
                  for text, edits in zip(TEXTS, OF_SIDE, strict=True)),
            )
        )  # fmt: skip
        if path == "grid":
            lines, grid = pair["lines"], pair
        for line, row in zip(lines, pair["rows"], strict=True):
            assert row == single[line["side"] == "second"]["rows"][int(line["row"])], (path, line)
    assert grid["edits"] == EDITS
    assert [line["side"] for line in lines].count("both") == 1  # the row before the first edit
    assert [bool(change) for change in grid["changes"]] == [
        line["side"] == "second" for line in lines
    ]


def test_the_same_edits_on_both_sides_leave_rows_that_are_the_same(formula):
    two = "the old dog {sees|said} a bird ."
    edited, plain = asked(
        formula,
        ("grid", {"text": two, "edits": ["l2@1=0", "h1@3+dog"]}),
        ("grid", {"text": two}),
    )
    assert edited["gives"]["lines"] == plain["gives"]["lines"]
    assert edited["gives"]["rows"] != plain["gives"]["rows"]


def test_an_edit_of_both_is_made_where_there_is_its_row(formula):
    text = "the dog {|sees a bird}"
    made, refused, dropped, alone = asked(
        formula,
        ("grid", {"text": text, "edits": ["c1@4=0"]}),
        ("grid", {"text": text, "edits": ["c1@1:4=0"]}),
        ("grid", {"text": text, "edits": ["c1@1:4=0", "c1@9=0", "x", "c1@2:2=0"], "lenient": True}),
        ("grid", {"text": "the dog", "edits": ["c1@2:2=0"]}),
    )
    assert made["gives"]["edits"] == ["c1@4=0"]
    assert "is about word 4, and the text has 2 words" in refused["refuses"]
    assert dropped["gives"]["edits"] == ["c1@2:2=0"]
    assert len(dropped["gives"]["dropped"]) == 3
    assert "is about a second text, and there is one" in alone["refuses"]


def test_rows_that_are_at_hand_are_not_sent_again(formula):
    have = {"previous": TWO, "have": 12, "text": TWO}
    others: tuple[list[str], ...] = ([], ["l2@2:5=0"], ["l2@2:5=0", "l2@2:3=0"])
    same, later, earlier = (
        one["gives"]
        for one in asked(
            formula,
            *(("grid", {**have, "edits": edits, "previous_edits": ["l2@2:5=0"]})
              for edits in (others[1], others[0], others[2])),
        )
    )  # fmt: skip
    assert (same["from"], len(same["rows"])) == (12, 0)
    lines = earlier["lines"]
    assert later["lines"][int(later["from"])]["row"] == 4
    assert lines[int(earlier["from"])]["row"] == 2


@pytest.mark.parametrize(("line", "side", "row"), [(0, 0, 0), (2, 0, 2), (3, 1, 2)])
def test_who_wrote_a_state_of_one_of_two_texts(formula, line, side, row):
    of_line, of_text, edited, other = asked(
        formula,
        ("written", {"text": TWO, "column": "c2", "row": line}),
        ("written", {"text": TEXTS[side], "column": "c2", "row": row}),
        ("written", {"text": TWO, "column": "c2", "row": line, "edits": ["c1@2=0"]}),
        ("written", {"text": TWO, "column": "c2", "row": 99}),
    )
    assert of_line == of_text
    assert "told only of a text without edits" in edited["refuses"]
    assert other["refuses"] == "there is no row 99; the grid has 12"
