"""Python trains, fits, measures, indexes and compares as the commands do, to the same numbers."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.runfiles import contents

import rnnlens
from rnnlens.base.files import sha256
from rnnlens.run.folder import Run
from rnnlens.work.observer import Resumable

TINY: dict[str, Any] = {"width": 8, "batch": 16, "epochs": 2, "min_count": 1}


@pytest.fixture(scope="module")
def fitted(trained_run, tmp_path_factory) -> Path:
    """A run that Python has fitted, measured by no one."""
    path = Path(shutil.copytree(trained_run, tmp_path_factory.mktemp("jobs") / "run"))
    lens = rnnlens.fit_run(path, semantic="output,output-1", epochs=1, device="cpu")
    assert lens.semantics == ("output", "output-1")
    return path


def test_python_trains_the_run_that_the_command_trains(corpus_file, trained_run, tmp_path):
    lens = rnnlens.train(corpus_file, tmp_path / "run", device="cpu", **TINY)
    assert lens("the dogs").words == ["the", "dogs"]
    for name in ("model.safetensors", "model.json", "vocabulary.json", "colours.json"):
        assert (tmp_path / "run" / name).read_bytes() == (trained_run / name).read_bytes()
    mine, theirs = Run(tmp_path / "run").record(), Run(trained_run).record()
    assert (mine.network, mine.training, mine.corpus) == (
        theirs.network, theirs.training, theirs.corpus,
    )  # fmt: skip
    assert mine.command.endswith("--width 8 --batch 16 --epochs 2 --min-count 1")


def test_a_training_that_is_stopped_goes_on_where_it_was(
    corpus_file, trained_run, tmp_path, monkeypatch, command, tiny, capsys
):
    stop, steps = Resumable.stop, iter(range(100))

    def stopping(work: Resumable) -> bool:
        work.signal = signal.SIGINT if next(steps) == 3 else work.signal
        return stop(work)

    monkeypatch.setattr(Resumable, "stop", stopping)
    with pytest.raises(KeyboardInterrupt) as stopped:
        rnnlens.train(corpus_file, tmp_path / "run", device="cpu", **TINY)
    assert isinstance(stopped.value, rnnlens.Stopped)
    assert "stopped; call it again to continue" in capsys.readouterr().err
    monkeypatch.undo()
    assert (
        "continuing in epoch 1" in command("train", corpus_file, "-o", tmp_path / "run", *tiny).out
    )
    assert sha256(tmp_path / "run/model.safetensors") == sha256(trained_run / "model.safetensors")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"widht": 8}, "train has no option 'widht'; it has format, "),
        ({"width": "wide"}, "--width 'wide': give int"),
        ({"width": 0}, "--width 0: give at least 1"),
        ({"preset": "slow"}, "no preset is called 'slow'; there is quick, gpu"),
        ({"task": "next", "bidirectional": True}, "has read the next word already"),
        ({"checkpoint_seconds": -1}, "give a number from 0 up"),
        ({"device": "tpu"}, "tpu"),
    ],
)
def test_options_that_cannot_be_are_refused(corpus_file, tmp_path, options, message):
    with pytest.raises(rnnlens.RnnlensError) as error:
        rnnlens.train(corpus_file, tmp_path / "run", **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_python_fits_what_the_command_fits(fitted, run_copy, command):
    flags = "--semantic output,output-1 --epochs 1 --device cpu".split()
    assert command("fit", run_copy, *flags).code == 0
    assert sha256(fitted / "probes.safetensors") == sha256(run_copy / "probes.safetensors")
    with pytest.raises(rnnlens.RnnlensError, match="fit_run has no option 'epoch'"):
        rnnlens.fit_run(fitted, epoch=1)


def test_python_measures_what_the_command_measures(fitted, command, tmp_path):
    copy = shutil.copytree(fitted, tmp_path / "copy")
    evaluation = rnnlens.load(fitted).evaluate(control=True, horizon=1)
    assert command("eval", copy, "--control", "--horizon", 1, "--device", "cpu").code == 0
    stored, mine = contents(copy / "evaluation.json"), evaluation.to_json("0" * 64)
    for part in ("probes", "reach"):
        assert json.loads(json.dumps(mine[part])) == stored[part]
    assert evaluation[-1].kl is None  # output-1 is no prediction of the model's
    assert evaluation[0].kl == stored["probes"][0]["divergence"]
    assert {score.semantic for score in evaluation.reach} == {"output-1", "output", "output+1"}


def test_a_control_wants_data_to_fit_to(fitted):
    lens = rnnlens.load(fitted)
    with pytest.raises(rnnlens.RnnlensError, match="give data for that too"):
        lens.evaluate(["the dogs sleep"], control=True)
    texts = ["the dogs sleep .", "a cat often sees the old house .", "the house sleeps ."]
    parts = {"train": texts * 5, "valid": texts, "test": texts}
    evaluation = lens.evaluate(parts, control=True)
    assert all(score.control and score.description for score in evaluation)
    plain = lens.evaluate(texts)
    assert [score.perplexity for score in plain] == [score.perplexity for score in evaluation]


def test_python_indexes_what_the_command_indexes(fitted, command, tmp_path):
    pytest.importorskip("pyarrow")
    copy = shutil.copytree(fitted, tmp_path / "run")
    folder = rnnlens.index(rnnlens.load(copy), states="int8", state_kinds=["l2"], device="cpu")
    assert folder == copy / "index"
    flags = "--states int8 --state-kinds l2 --device cpu".split()
    assert command("index", copy, "-o", tmp_path / "other", *flags).code == 0
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(path.name for path in (tmp_path / "other").iterdir())
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert rnnlens.load(copy).find("y entropy > 0").total > 0
    with pytest.raises(rnnlens.RnnlensError, match="an index of something else"):
        rnnlens.index(copy, states="fp16", device="cpu")


def test_two_lenses_disagree_as_the_command_says(fitted, corpus_file, command, tmp_path):
    out = tmp_path / "where.json"
    flags = ["--corpus", corpus_file, "--kinds", "l2,s2", "--words", 200, "-o", out]
    assert command("compare", fitted, *flags).code == 0
    apart = rnnlens.disagreement(fitted, fitted, corpus_file, ("l2", "s2"), words=200)
    first = json.loads(out.read_text())["sentences"][0]
    assert round(apart.top(1)[0].bits, 5) == first["bits"]
    lens = rnnlens.load(fitted)
    same = rnnlens.disagreement(lens, rnnlens.load(fitted), ["the dogs sleep", ["a", "cat"]])
    assert same.sentences == (("the", "dogs", "sleep"), ("a", "cat"))
    assert same.bits == pytest.approx(0, abs=1e-6)
    with pytest.raises(rnnlens.RnnlensError, match="names 3 kinds"):
        rnnlens.disagreement(lens, lens, ["the dogs"], ("l2", "s2", "h2"))  # type: ignore[arg-type]
