"""What evaluation.json says, and what it must say."""

import json

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.control import Control, Description
from rnnlens.probe.evaluation import Score
from rnnlens.probe.measures import Against
from rnnlens.run.scores import Scores

NOTHING_MORE: dict[str, object] = {
    "control": None, "description": None, "temperature": None, "sentences": 0, "intervals": {},
    "below": {}, "reliability": {},
}  # fmt: skip


def test_a_run_that_was_not_measured_has_no_scores(tmp_path):
    found = Scores.read(tmp_path)
    assert found.own is None
    assert found.perplexity("output", "h2") is None


def test_what_was_measured_is_found(formula):
    assert formula.subject.scores.perplexity("output", "y") == 9.5
    assert formula.subject.scores.perplexity("output", "x") == 20.0
    assert formula.subject.scores.perplexity("output", "nothing") is None
    assert formula.subject.scores.to_json()["unigrams"] == {"output": 21.0}
    row = formula.subject.scores.to_json()["semantics"]["output"][0]
    assert row == {
        "kind": "x", "perplexity": 20.0, "ratio": 2.0, "accuracy": 0.25, "kl": 0.5,
        "calibration": 0.01,
        "used": None, "error": None, "precision": None, **NOTHING_MORE,
    }  # fmt: skip


@pytest.mark.parametrize(
    "value",
    ["{", [], {}, {"model": {}}, {"model": {"test": {"perplexity": "a", "unigram": 1}}},
     {"model": {"test": {"perplexity": 1, "unigram": 1}}, "probes": [{}]},
     {"model": {"test": {"perplexity": 1, "unigram": 1}}, "probes": 3},
     {"model": {"test": {"perplexity": float("nan"), "unigram": 1}}}],
)  # fmt: skip
def test_damage_is_one_clear_line(tmp_path, value):
    path = tmp_path / "evaluation.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    with pytest.raises(RnnlensError, match=r"evaluation\.json") as problem:
        Scores.read(tmp_path)
    assert "\n" not in str(problem.value)


MEASURED = [
    Score("output", "x", 9, 8.0, 2.0, 0.25, 0.5, 0.01, 21.0),
    Score("output", "h1", 9, 4.0, 1.0, 0.5, 0.0, 0.02, 21.0, error=Against(0.5, 0.4, 0.9)),
    Score("input", "x", 9, 2.0, None, 0.75, None, 0.03, 7.0),
]


def test_what_was_just_measured_is_as_if_it_was_read(tmp_path):
    found = Scores.of(MEASURED)
    assert (found.own, found.unigram) == (4.0, 21.0)
    assert found.unigrams == {"output": 21.0, "input": 7.0}
    assert [found.perplexity("output", k) for k in ("x", "h1", "y")] == [8.0, 4.0, 4.0]
    assert found.perplexity("input", "x") == 2.0
    assert found.perplexity("input", "h1") is None
    row = {"kind": "x", "perplexity": 2.0, "ratio": None, "accuracy": 0.75, "kl": None}
    more = {"calibration": 0.03, "used": None, "error": None, "precision": None, **NOTHING_MORE}
    assert found.semantics["input"] == [{**row, **more}]
    (tmp_path / "evaluation.json").write_text(json.dumps(found.evaluation()))
    assert Scores.read(tmp_path) == found


def test_controls_that_were_just_measured_can_be_read_again(tmp_path):
    control = Control(0.5, 0.25, 0.1, 0.3, 100, 10, 5)
    score = Score(
        "output", "h1", 10, 2.0, 1.5, 0.5, None, 0.1, 4.0, control=control,
        description=Description(2.0, 1.5, 2.5, 3.0, 4.0, 100, 10),
    )  # fmt: skip
    (tmp_path / "evaluation.json").write_text(json.dumps(Scores.of([score]).evaluation()))
    row = Scores.read(tmp_path).row("output", "h1")
    assert row["control"]["selectivity"] == 0.25
    assert row["description"]["compression"] == 2.0


@pytest.mark.parametrize("scores", [[], MEASURED[2:]])
def test_a_model_that_predicts_other_labels_has_no_perplexity_of_its_own(scores, tmp_path):
    found = Scores.of(scores)
    assert found.own is None
    assert found.unigram is None
    (tmp_path / "evaluation.json").write_text(json.dumps(found.evaluation()))
    assert Scores.read(tmp_path) == found


def test_scores_of_probes_that_were_replaced_are_not_shown(tmp_path):
    evaluation = {**Scores.of(MEASURED).evaluation(), "of": "a" * 64}
    (tmp_path / "evaluation.json").write_text(json.dumps(evaluation))
    assert Scores.read(tmp_path, "a" * 64).perplexity("output", "x") == 8.0
    stale = Scores.read(tmp_path, "b" * 64)
    assert (stale.own, stale.perplexity("output", "x"), stale.unigrams) == (4.0, None, {})
