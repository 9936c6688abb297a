"""`rnnlens eval --horizon`: how far back and forward kinds reach."""

import json
import shutil

import pytest

from rnnlens.cli.reach import reach_table
from rnnlens.run.scores import Scores


@pytest.mark.slow
def test_kinds_remember_the_words_they_have_read(trained_run, command, tmp_path):
    run = shutil.copytree(trained_run, tmp_path / "run")
    command("fit", run, "--semantic", "output,output-1", "--epochs", "6", "--device", "cpu")
    before = (run / "probes.safetensors").read_bytes()
    figure = tmp_path / "reach.svg"
    answer = command("eval", run, "--horizon", "2", "--reach", figure, "--json", "--device", "cpu")
    assert answer.code == 0, answer.err
    rows = json.loads(answer.out)["reach"]
    semantics = ["output-2", "output-1", "output", "output+1", "output+2"]
    assert list(dict.fromkeys(row["semantic"] for row in rows)) == semantics
    left = {(r["kind"], r["semantic"]): r["perplexity"] / r["unigram"] for r in rows}
    others = [left["x", semantic] for semantic in semantics if semantic != "output-1"]
    assert left["x", "output-1"] < 0.8 * min(others)  # the embedding is the word just read
    drawn = figure.read_text()
    assert all(f">{left[key]:.2f}<" in drawn for key in left)
    assert (run / "probes.safetensors").read_bytes() == before
    assert Scores.read(run).own  # the file is still one that can be read
    # What the run has probes for is measured with these, and not fitted again.
    measured = json.loads((run / "evaluation.json").read_text())
    own = {(s["kind"], s["semantic"]): s["perplexity"] for s in measured["probes"]}
    for row in measured["reach"]:
        if (row["kind"], row["semantic"]) in own:
            assert row["perplexity"] == pytest.approx(own[row["kind"], row["semantic"]])


def test_the_table_has_a_column_for_each_word_around():
    rows = [
        {"semantic": s, "kind": k, "perplexity": p, "unigram": 100.0}
        for s, k, p in (("output-1", "h1", 2), ("output", "h1", 20), ("output+1", "h1", None))
    ]
    head, line = reach_table(rows).splitlines()[1:]
    assert head.split() == ["kind", "+0", "+1", "+2"]
    assert line.split() == ["h1", "0.02", "0.20", "-"]


def test_a_figure_of_reach_needs_a_horizon_and_a_name_that_can_be_drawn(trained_run, command):
    answer = command("eval", trained_run, "--reach", "reach.svg")
    assert answer.code == 2
    assert "--reach reach.svg: say how far, such as --horizon 4" in answer.err
    assert "give a name ending in" in command("eval", trained_run, "--reach", "reach.txt").err


@pytest.mark.parametrize("number", [0, -3, 1000])
def test_a_horizon_that_cannot_be_is_refused(trained_run, command, number):
    answer = command("eval", trained_run, "--horizon", number)
    assert answer.code == 2
    assert f"--horizon {number}: give a number from 1 to 100" in answer.err
