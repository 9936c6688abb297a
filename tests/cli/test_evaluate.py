"""`rnnlens eval` measures what training measured."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests import grammar
from tests.runfiles import contents, edit

from rnnlens.cli.evaluate_command import reach_table, tables
from rnnlens.run.scores import Scores


def evaluation(run: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((run / "evaluation.json").read_text())["model"]
    return found


def test_it_agrees_with_what_training_measured(command, run_copy):
    before = evaluation(run_copy)
    answer = command("eval", run_copy, "--json", "--device", "cpu")
    assert (answer.code, answer.err) == (0, "")
    printed = json.loads(answer.out)
    assert len(printed.pop("weights")) == 64  # which weights it is of
    assert printed == {"model": before} == {"model": evaluation(run_copy)}


def test_it_writes_what_it_measured(command, run_copy, trained_run):
    (run_copy / "evaluation.json").unlink()
    assert command("eval", run_copy, "--device", "cpu").code == 0
    assert evaluation(run_copy) == evaluation(trained_run)


def test_the_numbers_are_of_the_three_splits(trained_run):
    measured = evaluation(trained_run)
    assert [row["sentences"] for row in measured.values()] == [81, 10, 10]
    assert list(measured) == ["train", "valid", "test"]
    for row in measured.values():
        assert set(row) == {"sentences", "pairs", "perplexity", "unigram", "intervals"}
        assert 1 < row["unigram"] < 100
        assert 1 < row["perplexity"] < 100


def test_the_table_shows_the_same_numbers(command, run_copy):
    head, *rows = command("eval", run_copy, "--device", "cpu").out.splitlines()
    assert head.split() == ["sentences", "pairs", "perplexity", "95%", "unigram"]
    for line, (name, row) in zip(rows, evaluation(run_copy).items(), strict=True):
        ends = row["intervals"].get("perplexity")  # of the training part alone: others are small
        assert (ends is not None) == (name == "train")
        between = f"{ends['low']:.2f} to {ends['high']:.2f}".split() if ends else ["-"]
        shown = [f"{row['perplexity']:.2f}", *between, f"{row['unigram']:.2f}"]
        assert line.split() == [name, str(row["sentences"]), str(row["pairs"]), *shown]


def test_few_pairs_are_listed_as_not_told_apart_and_none_that_say_nothing(command, run_copy):
    assert command("fit", run_copy, "--epochs", "1", "--device", "cpu").code == 0
    found = json.loads(command("eval", run_copy, "--json", "--device", "cpu").out)
    for k, row in enumerate(found["probes"]):
        row["perplexity"] = 50.0 + k
        row["below"] = {other["kind"]: 0.5 for other in found["probes"]}

    def told(unigram: float) -> list[str]:
        for row in found["probes"]:
            row["unigram"] = unigram
        lines = tables(found)[1].splitlines()
        return [line for line in lines if line.startswith("not told apart: ")]

    assert told(50.0) == []
    assert told(52.0)[0].count(" below ") == 2
    (line,) = told(90.0)
    assert line.count(" below ") == 6
    assert line.endswith(f"; and {len(found['probes']) - 7} more pairs")


def test_a_corpus_that_moved_is_found_where_one_says(command, tiny, tmp_path):
    corpus, moved, run = tmp_path / "a.conllu", tmp_path / "b.conllu", tmp_path / "run"
    corpus.write_text(grammar.conllu(60))
    command("train", corpus, "-o", run, *tiny)
    corpus.rename(moved)
    lost = command("eval", run, "--device", "cpu")
    assert lost.code == 2
    assert f"was at {corpus} and is not there now; say where it is: --corpus" in lost.err
    assert command("eval", run, "--device", "cpu", "--corpus", moved).code == 0


@pytest.mark.parametrize(
    "text", [grammar.conllu(101, seed=1), grammar.conllu(101).replace("ADJ", "ADV")]
)
def test_another_corpus_is_refused_and_nothing_written(command, run_copy, tmp_path, text):
    other = tmp_path / "other.conllu"
    other.write_text(text)
    (run_copy / "evaluation.json").unlink()
    answer = command("eval", run_copy, "--corpus", other, "--device", "cpu")
    assert (answer.code, answer.out) == (2, "")
    assert "other.conllu is not what" in answer.err
    assert not (run_copy / "evaluation.json").exists()


@pytest.mark.parametrize("change", ["labels", "counts"])
def test_another_vocabulary_is_refused(command, run_copy, change):
    path = run_copy / "vocabulary.json"
    edit(path, **{change: contents(path)[change][::-1]})
    answer = command("eval", run_copy, "--device", "cpu")
    assert answer.code == 2
    assert "is not what" in answer.err


def test_a_run_can_be_moved(command, trained_run, tmp_path):
    moved = shutil.copytree(trained_run, tmp_path / "somewhere" / "else")
    assert command("eval", moved, "--device", "cpu").code == 0


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
