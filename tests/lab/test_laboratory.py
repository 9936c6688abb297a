"""A model and a suite: accuracies, what is published beside them, and what is written."""

import csv
import io
import json

import numpy as np
import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.lab.accuracy import read_published
from rnnlens.lab.encoded import encoded
from rnnlens.lab.laboratory import Lab
from rnnlens.lab.scoring import Scored
from rnnlens.lab.suite import BAD, GOOD, Item, Suite

NUMBER = """N.sg: dog, bird
N.pl: dogs, birds
paradigm: number
the {N.sg|N.pl} {sees|see} {X}
"""


def items(paradigm, count, condition=""):
    pair = {GOOD: ("the dog sees",), BAD: ("the dog see",)}
    return [Item(paradigm, k, pair, condition=condition) for k in range(count)]


@pytest.fixture
def lab(formula):
    """Three paradigms, of which two have enough items; right in 80%, 30% and none."""
    every = [*items("a", 60, "c"), *items("a", 40, "d"), *items("b", 50), *items("few", 10)]
    read = encoded(Suite("made", tuple(every)), formula.subject.session.text)
    published = {"a": {"lstm": 0.9}, "b": {"lstm": 0.5}}
    made = Lab(formula.subject, read, published)
    right = np.array([1] * 60 + [1] * 20 + [0] * 20 + [1] * 15 + [0] * 35 + [0] * 10, float)
    made.__dict__["scored"] = Scored(right, np.where(right, 1.0, -3.0))
    return made


def test_the_mean_is_over_paradigms_with_enough_items(lab):
    assert lab.accuracy == pytest.approx((0.8 + 0.3) / 2)
    by_name = {row.paradigm: row for row in lab.paradigms}
    assert {name: row.accuracy for name, row in by_name.items()} == {"a": 0.8, "b": 0.3, "few": 0}
    assert by_name["few"].low is None  # too few items to tell
    assert 0.7 < by_name["a"].low < 0.8 < by_name["a"].high < 0.9
    assert by_name["a"].margin == pytest.approx(0.8 - 0.2 * 3)
    interval = lab.result.interval
    # Two means of binomials: 100 items at .8 and 50 at .3.
    spread = 1.96 * np.sqrt(0.16 / 100 + 0.21 / 50) / 2
    assert interval.low == pytest.approx(0.55 - spread, abs=0.015)
    assert interval.high == pytest.approx(0.55 + spread, abs=0.015)
    assert [(row.paradigm, row.condition, row.accuracy) for row in lab.conditions] == [
        ("a", "c", 1.0),
        ("a", "d", 0.5),
    ]
    # All of 60 are right: Wilson's interval.
    row = lab.conditions[0]
    assert (row.low, row.high) == (pytest.approx(60 / (60 + 1.96**2), abs=1e-4), 1.0)


def test_a_mean_of_what_is_always_right_is_not_wholly_sure(lab):
    lab.__dict__["scored"] = Scored(np.ones(160), np.ones(160))
    assert lab.accuracy == 1
    assert 0.92 < lab.result.interval.low < 0.97
    assert lab.result.interval.high == 1


def test_json_and_csv_have_the_same(lab):
    found = json.loads(json.dumps(lab.to_json(), allow_nan=False))
    assert found["accuracy"] == 0.55
    assert [row["paradigm"] for row in found["paradigms"]] == ["a", "b", "few"]
    assert found["interval"]["low"] < 0.55 < found["interval"]["high"]
    rows = list(csv.DictReader(io.StringIO(lab.to_csv())))
    assert [row["accuracy"] for row in rows] == ["0.8", "0.3", "0.0", "1.0", "0.5"]
    assert [row["published lstm"] for row in rows] == ["0.9", "0.5", "", "", ""]
    assert repr(lab) == "<formula on made: 55.0% of 3 paradigms>"


def test_published_accuracies_stand_beside(formula, tmp_path):
    names = ["p0", "p1", "p2", "p3"]
    texts = [("the dog sees", "the dog see"), ("a bird sees", "a bird see"), ("the dogs see",
             "the dogs sees"), ("she said now", "she said in")]  # fmt: skip
    path = tmp_path / "suite.jsonl"
    lines = [json.dumps({"UID": name, "sentence_good": g, "sentence_bad": b})
             for name, (g, b) in zip(names, texts, strict=True) for _ in range(50)]  # fmt: skip
    path.write_text("\n".join(lines), encoding="utf-8")
    summary = tmp_path / "models_summary.jsonl"
    rates = [0.2, 0.4, 0.9, 0.8]
    summary.write_text("\n".join(json.dumps({"UID": n, "linguistics_term": "x", "lstm": rate})
                                 for n, rate in zip(names, rates, strict=True)))  # fmt: skip
    found = formula.lab(path)
    (beside,) = found.result.published
    assert (beside.model, beside.paradigms, beside.accuracy) == ("lstm", 4, pytest.approx(0.575))
    ours = [row.accuracy for row in found.paradigms]
    assert beside.ours == pytest.approx(np.mean(ours))
    if np.std(ours):
        assert beside.correlation == pytest.approx(np.corrcoef(ours, rates)[0, 1])
    for text, why in (('{"UID": "a", "lstm": 7}', "from 0 to 1"), ('{"lstm": 0.7}', "UID"),
                      (f'{{"UID": "a", "lstm": 1{"0" * 400}}}', "from 0 to 1")):  # fmt: skip
        summary.write_text(text)
        with pytest.raises(RnnlensError, match=why):
            read_published(summary)
    with pytest.raises(RnnlensError, match="there is no file"):
        formula.lab(path, published=tmp_path / "gone")
