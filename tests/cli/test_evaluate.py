"""`rnnlens eval` measures what training measured."""

import json
import shutil
from pathlib import Path

import pytest
from tests import grammar
from tests.runfiles import contents, edit


def evaluation(run: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads((run / "evaluation.json").read_text())["model"]
    return found


def test_it_agrees_with_what_training_measured(command, run_copy):
    before = evaluation(run_copy)
    answer = command("eval", run_copy, "--json", "--device", "cpu")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out) == {"model": before} == {"model": evaluation(run_copy)}


def test_it_writes_what_it_measured(command, run_copy, trained_run):
    (run_copy / "evaluation.json").unlink()
    assert command("eval", run_copy, "--device", "cpu").code == 0
    assert evaluation(run_copy) == evaluation(trained_run)


def test_the_numbers_are_of_the_three_splits(trained_run):
    measured = evaluation(trained_run)
    assert [row["sentences"] for row in measured.values()] == [81, 10, 10]
    assert list(measured) == ["train", "valid", "test"]
    for row in measured.values():
        assert set(row) == {"sentences", "pairs", "perplexity", "unigram"}
        assert 1 < row["unigram"] < 100
        assert 1 < row["perplexity"] < 100


def test_the_table_shows_the_same_numbers(command, run_copy):
    head, *rows = command("eval", run_copy, "--device", "cpu").out.splitlines()
    assert head.split() == ["sentences", "pairs", "perplexity", "unigram"]
    for line, (name, row) in zip(rows, evaluation(run_copy).items(), strict=True):
        shown = [f"{row['perplexity']:.2f}", f"{row['unigram']:.2f}"]
        assert line.split() == [name, str(row["sentences"]), str(row["pairs"]), *shown]


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
