"""`rnnlens fit` and what `rnnlens eval` then says, by the real command line."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.runfiles import contents, edit

from rnnlens.base.files import sha256, write_json
from rnnlens.cli import main
from rnnlens.probe.fitting import Fitter
from rnnlens.run.folder import Run
from rnnlens.work.observer import Resumable

CPU = ("--device", "cpu")


@pytest.fixture(scope="module")
def fitted_run(trained_run, tmp_path_factory) -> Path:
    """A run with probes for two semantics, to be read only."""
    path = Path(shutil.copytree(trained_run, tmp_path_factory.mktemp("fitted") / "run"))
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["fit", str(path), "--semantic", "output,output+1", "--epochs", "2", *CPU]) == 0
    return path


@pytest.fixture
def fitted_copy(fitted_run, tmp_path) -> Path:
    return Path(shutil.copytree(fitted_run, tmp_path / "fitted"))


@pytest.mark.parametrize(("brief", "saves"), [(60.0, 1), (0.0, 2)])
def test_a_brief_fit_is_not_saved_just_before_its_probes_are_written(
    run_copy, monkeypatch, brief, saves
):
    saved = []
    monkeypatch.setattr("rnnlens.work.fit_run._BRIEF", brief)
    monkeypatch.setattr("rnnlens.work.fit_run.save_fit", lambda *given: saved.append(given))
    two = ["--semantic", "output,output+1", "--epochs", "1", *CPU]
    assert main(["fit", str(run_copy), *two]) == 0
    assert len(saved) == saves


@pytest.mark.parametrize(
    ("worse", "said"), [(0, ""), (2, " 2 of 17 kinds (x, f1),"), (6, " 6 of 17 kinds,")]
)
def test_it_says_which_kinds_are_given_the_frequencies(command, run_copy, monkeypatch, worse, said):
    monkeypatch.setattr(Fitter, "_settled", lambda self: [k >= worse for k in range(17)])
    answer = command("fit", run_copy, "--epochs", "1", *CPU)
    told = [line for line in answer.out.splitlines() if "frequencies" in line]
    assert len(told) == bool(worse)
    assert said in "".join(told)


def test_how_a_long_fit_gets_shorter_is_told_as_flags(command, run_copy, monkeypatch):
    monkeypatch.setattr("rnnlens.probe.fitting.MANY", 0)
    monkeypatch.setattr("rnnlens.probe.needed_time._LONG", 0)
    told = command("fit", run_copy, "--epochs", "8", *CPU).err
    assert "; --epochs 3 makes it about" in told


def test_a_fit_leaves_probes_and_no_checkpoint(fitted_run):
    run = Run(fitted_run)
    assert not run.fit_checkpoint.exists()
    described = json.loads((fitted_run / "probes.json").read_text())
    assert described["semantics"] == ["output", "output+1"]
    assert len(described["kinds"]) == 17
    assert described["model"] == sha256(fitted_run / "model.safetensors")
    probes = run.probes()
    assert probes.logits("l2", torch.zeros(5, 8), "output+1").shape == (5, probes.label_count)


def test_eval_shows_every_kind_and_agrees_with_its_json(command, fitted_copy):
    shown = command("eval", fitted_copy, *CPU)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.count("unigram perplexity") == 2
    found = json.loads(command("eval", fitted_copy, "--json", *CPU).out)
    assert found == contents(fitted_copy / "evaluation.json")
    for row in found["probes"]:
        assert f"{row['perplexity']:.2f}" in shown.out
        assert (row["ratio"] is None) == (row["semantic"] != "output")


def test_with_a_control_no_description_is_much_longer_than_by_frequencies(command, fitted_copy):
    found = json.loads(command("eval", fitted_copy, "--control", "--json", *CPU).out)
    assert len(found["probes"]) == 2 * 17
    for row in found["probes"]:
        control, told = row["control"], row["description"]
        assert row["selectivity"] == control["accuracy"] - control["control"]
        assert told["bits"] < 1.02 * told["unigram"], (row["semantic"], row["kind"])
        assert told["compression"] == told["uniform"] / told["bits"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf"])
def test_the_figure_is_drawn(command, fitted_copy, tmp_path, ending):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"accuracy{ending}"
    assert command("eval", fitted_copy, "--figure", path, *CPU).code == 0
    assert path.stat().st_size > 2000


def test_shared_probes_are_smaller(command, run_copy):
    assert command("fit", run_copy, "--epochs", "0", *CPU).code == 0
    large = Run(run_copy).probes().parameters
    assert (
        command("fit", run_copy, "--probe", "shared", "--rank", "4", "--epochs", "1", *CPU).code
        == 0
    )
    assert Run(run_copy).probes().family == "shared"
    assert Run(run_copy).probes().parameters < large / 4


def test_an_interrupted_fit_continues_to_the_same_probes(
    command, run_copy, fitted_run, monkeypatch
):
    words = ["fit", run_copy, "--semantic", "output,output+1", "--epochs", "2", *CPU]
    calls, stop = iter(range(100)), Resumable.stop

    def stopping(made: Resumable) -> bool:
        made.signal = 15 if next(calls) in (0, 2) else made.signal
        return stop(made)

    monkeypatch.setattr(Resumable, "stop", stopping)
    for _ in range(2):
        answer = command(*words)
        assert answer.code == 143
        assert Run(run_copy).fit_checkpoint.exists()
    assert command(*words).code == 0
    assert sha256(run_copy / "probes.safetensors") == sha256(fitted_run / "probes.safetensors")


def test_a_finished_semantic_is_kept_when_the_next_one_crashes(command, run_copy, monkeypatch):
    words = ["fit", run_copy, "--semantic", "output,output+1", "--epochs", "2", *CPU]
    learn, fitted = Fitter._learn, []

    def crashing(fitter, chosen, number):
        fitted.append(fitter.semantic)
        if fitter.semantic == "output+1" and not crashed:
            crashed.append(True)
            raise RuntimeError("power cut")
        learn(fitter, chosen, number)

    crashed: list[bool] = []
    monkeypatch.setattr(Fitter, "_learn", crashing)
    with pytest.raises(RuntimeError):
        command(*words)
    fitted.clear()
    assert command(*words).code == 0
    assert set(fitted) == {"output+1"}


@pytest.mark.release
def test_two_processes_fit_the_probes_of_one(run_copy, fitted_run):
    words = ["fit", str(run_copy), "--semantic", "output,output+1", "--epochs", "2", *CPU]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         "-m", "rnnlens", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("parameters;") == 1
    ours, one = (load_file(p / "probes.safetensors") for p in (run_copy, fitted_run))
    for name in one:
        torch.testing.assert_close(ours[name], one[name], rtol=5e-3, atol=5e-3)


def refused(answer, reason):
    assert answer.code == 2
    assert answer.err.startswith("rnnlens: ")
    assert answer.err.count("\n") == 1
    assert reason in answer.err


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--probe", "mlp"], "no probe is called"),
        (["--semantic", "later"], "is no semantic"),
        (["--semantic", "output+500"], "long enough"),
        (["--rank", "0"], "--rank 0"),
        (["--learning-rate", "nan"], "--learning-rate"),
        (["--learning-rate", "1e38"], "--learning-rate"),
        (["--corpus", "nowhere.txt"], "no corpus at"),
    ],
)
def test_bad_flags_are_one_line_and_write_nothing(command, run_copy, flags, reason):
    before = sorted(p.name for p in run_copy.iterdir())
    refused(command("fit", run_copy, "--checkpoint-seconds", "0", *flags, *CPU), reason)
    assert sorted(p.name for p in run_copy.iterdir() if p.name != "training.log") == [
        name for name in before if name != "training.log"
    ]


def test_a_loss_that_is_no_number_stops_and_saves_nothing(command, run_copy, monkeypatch):
    monkeypatch.setattr("rnnlens.probe.fitting.adamw_", lambda weight, *_: weight.fill_(torch.nan))
    refused(command("fit", run_copy, "--checkpoint-seconds", "0", *CPU), "the loss is nan")
    assert not (run_copy / "probes.json").exists()
    assert not Run(run_copy).fit_checkpoint.exists()


def test_a_folder_without_a_model_is_refused(command, tmp_path):
    refused(command("fit", tmp_path / "nothing", *CPU), "no run at")


def test_probes_of_another_model_are_refused(command, fitted_copy):
    weights = load_file(fitted_copy / "model.safetensors")
    run = Run(fitted_copy)
    network = run.network()
    weights["bias"] += 1
    network.load_state_dict(weights)
    run.write_model(network)
    refused(command("eval", fitted_copy, *CPU), "run.json is of another run than the model")
    record = contents(fitted_copy / "run.json")
    write_json(fitted_copy / "run.json", {**record, "weights": run.model_hash()})
    refused(command("eval", fitted_copy, *CPU), "are of another model")


def test_damaged_probes_are_refused(command, fitted_copy):
    path = fitted_copy / "probes.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    refused(command("eval", fitted_copy, *CPU), "probes.safetensors is damaged")


def test_probes_that_are_not_numbers_are_refused(command, fitted_copy):
    path = fitted_copy / "probes.safetensors"
    tensors = load_file(path)
    tensors["output/x/bias"][0] = float("nan")
    save_file(tensors, path)
    edit(fitted_copy / "probes.json", sha256=sha256(path))
    refused(command("eval", fitted_copy, *CPU), "not numbers")


def test_a_damaged_fit_checkpoint_is_refused(command, run_copy):
    (run_copy / "fit.safetensors").write_bytes(b"x" * 64)
    refused(command("fit", run_copy, *CPU), "fit.safetensors is damaged")


def test_an_unfinished_fit_is_told_from_another_and_can_be_dropped(command, run_copy, monkeypatch):
    words = ["fit", run_copy, *CPU, "--epochs"]
    with monkeypatch.context() as patched:
        patched.setattr(Resumable, "stop", lambda watch: True)
        assert command(*words, "2").code == 143
    refused(command(*words, "1"), "made with --epochs 2, not --epochs 1")
    assert command(*words, "1", "--anew").code == 0
    assert Run(run_copy).fit_config().epochs == 1
