"""What evaluation.json says, and what it must say."""

import json

import pytest

from rnnlens.errors import RnnlensError
from rnnlens.view.scores import Scores


def test_a_run_that_was_not_measured_has_no_scores(tmp_path):
    found = Scores.read(tmp_path)
    assert found.own is None
    assert found.perplexity("output", "h2") is None


def test_what_was_measured_is_found(formula):
    assert formula.scores.perplexity("output", "y") == 9.5
    assert formula.scores.perplexity("output", "x") == 20.0
    assert formula.scores.perplexity("output", "nothing") is None
    assert formula.scores.to_json()["unigrams"] == {"output": 21.0}
    row = formula.scores.to_json()["semantics"]["output"][0]
    assert row == {
        "kind": "x", "perplexity": 20.0, "ratio": 2.0, "accuracy": 0.25, "kl": 0.5,
        "calibration": 0.01,
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
