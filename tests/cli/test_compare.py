"""`rnnlens compare`, `train --keep`, and what fit, eval and show make of them."""

import csv
import json
import shutil

import pytest

from rnnlens.run.folder import Run, kept_runs


@pytest.fixture(scope="module")
def run(corpus_file, tmp_path_factory, tiny):
    """A training whose checkpoints are kept, fitted and measured."""
    from rnnlens.cli import main

    path = tmp_path_factory.mktemp("kept") / "lens"
    assert (
        main(["train", str(corpus_file), "-o", str(path), *tiny, "--epochs", "3", "--keep", "2"])
        == 0
    )
    assert main(["fit", str(path), "--epochs", "0", "--device", "cpu"]) == 0
    assert main(["eval", str(path), "--device", "cpu"]) == 0
    return path


@pytest.mark.slow
def test_every_checkpoint_is_fitted_and_measured(run, command):
    kept = kept_runs(Run(run))
    assert list(kept) == [1, 3]
    assert all(one.has_probes() for one in kept.values())
    probes = {epoch: one.probes_hash() for epoch, one in kept.items()}
    said = command("eval", run, "--states", "50", "--json", "--device", "cpu")
    training = json.loads(said.out)["training"]
    assert {int(epoch) for epoch in training} == {1, 3}
    assert training["1"]["of"] == probes[1]
    first, last = (training[epoch]["model"]["test"]["perplexity"] for epoch in ("1", "3"))
    assert first > last
    assert "test perplexity over training" in command("eval", run, "--states", "50").out


def test_an_interrupted_fit_goes_on_with_what_is_not_fitted(run, tmp_path, command):
    copy = shutil.copytree(run, tmp_path / "copy")
    last = kept_runs(Run(copy))[3]
    (last.path / "probes.json").unlink()
    said = command("fit", copy, "--epochs", "0", "--device", "cpu")
    assert said.code == 0
    assert "checkpoint 0003, 1 of 1" in said.out
    assert last.has_probes()
    assert said.out.count("parameters; see how good they are") == 1  # the run's own stay


@pytest.mark.slow
def test_where_two_runs_disagree(run, corpus_file, tmp_path, command):
    table, figure = tmp_path / "where.csv", tmp_path / "where.svg"
    said = command("compare", f"{run}/kept/0001", run, "--corpus", corpus_file, "--top", "4",
                   "-o", table, "--figure", figure)  # fmt: skip
    assert said.code == 0, said.err
    assert said.out.startswith("lens-epoch-1 and lens: ")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    bits = [float(row["bits"]) for row in rows]
    assert (len(rows), bits) == (4, sorted(bits, reverse=True))
    assert rows[0]["link"].startswith("http://127.0.0.1:8000/#run=lens-epoch-1&beside=lens&text=")
    assert figure.stat().st_size > 1000
    kinds = command("compare", run, "--kinds", "l2,s2", "--corpus", corpus_file, "--part", "test",
                    "--words", "40", "-o", tmp_path / "where.html")  # fmt: skip
    assert kinds.out.startswith("l2 and s2 of lens: ")
    assert "the test sentences are those of lens" in kinds.out  # by the split of its own training
    html = (tmp_path / "where.html").read_text(encoding="utf-8")
    assert "pin=l2:" in html
    assert f"rnnlens view {run} --port 8000" in html
    command("compare", run, "--kinds", "l2,s2", "--corpus", corpus_file, "-o", tmp_path / "w.json")
    whole = json.loads((tmp_path / "w.json").read_text())
    assert len(whole["sentences"]) == 50
    assert whole["low"] <= whole["bits"] <= whole["high"]
    assert whole["words"] > whole["all_sentences"] > 50
    other = tmp_path / "other.txt"
    other.write_text("the dog sees the cat .\n" * 30, encoding="utf-8")
    said = command("compare", run, "--kinds", "l2,s2", "--corpus", other, "--part", "test")
    assert said.code == 2
    assert "is not what lens was trained on, so that it has no parts; leave --part out" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["RUN", "--corpus", "C"], "one run is compared with itself; give another run, or two"),
        (["RUN", "RUN", "RUN", "--corpus", "C"], "3 runs are given, and two are compared"),
        (["RUN", "RUN", "--corpus", "C", "--kinds", "a,b,c"], "give one kind, or two"),
        (["RUN", "RUN", "--corpus", "C", "--kinds", "q"], "has no probes of 'q'; it has x"),
        (["RUN", "RUN", "--corpus", "nowhere.txt"], "nowhere.txt"),
        (["RUN", "RUN", "--corpus", "C", "-o", "a.txt"], "cannot write a.txt; give a name ending"),
        (["RUN", "RUN", "--corpus", "C", "--figure", "a.txt"], "cannot draw a.txt"),
        (["RUN", "RUN", "--corpus", "C", "--top", "0"], "--top 0: give a number from 1 up"),
        (["RUN", "RUN"], "--corpus"),
    ],
)
def test_bad_input_is_one_line(run, corpus_file, command, words, said):
    given = [{"RUN": run, "C": corpus_file}.get(word, word) for word in words]
    answer = command("compare", *given)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert said in answer.err


def test_show_draws_two_texts_and_two_runs(run, tmp_path, command):
    said = command("show", run, "the dog {sees|saw} it", "--kinds", "y", "--width", "60")
    assert [mark in said.out for mark in ("┌ sees", "└ saw", "bits from the line above")] == [
        True
    ] * 3
    two = command("show", run, "the dog", "--beside", f"{run}/kept/0001", "--follow", "the",
                  "--kinds", "y")  # fmt: skip
    assert "against lens-epoch-1" in two.out.splitlines()[0]
    assert two.out.count("┌ dog") == 1
    svg = tmp_path / "two.svg"
    assert command("show", run, "a {dog|} sees", "-o", svg, "--rows", "2-3").code == 0
    assert svg.stat().st_size > 1000
    asked = command("show", run, "the dog", "--beside", run, "--continue", "3")
    assert (asked.code, "--continue is asked of one text" in asked.err) == (2, True)
    wrong = command("show", run, "the {dog} sees")
    assert (wrong.code, "has no bar in it" in wrong.err) == (2, True)
