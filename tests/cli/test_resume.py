"""Training that is interrupted goes on to the very same model, however it was interrupted."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runfiles import edit

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import sha256
from rnnlens.base.tensors import read_sealed, write_tensors
from rnnlens.model.train.training import CheckpointHeader
from rnnlens.run.folder import Run
from rnnlens.work.observer import Resumable

# Some 70 steps, each saved: time enough to be caught in the middle.
FLAGS = "--width 8 --batch 8 --epochs 6 --patience 6 --min-count 1 --device cpu".split()


def start(corpus: Path, run: Path) -> subprocess.Popen[str]:
    words = ["train", str(corpus), "-o", str(run), *FLAGS, "--checkpoint-seconds", "0"]
    return subprocess.Popen(
        [sys.executable, "-m", "rnnlens", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupt(process: subprocess.Popen[str], run: Run, number: int) -> tuple[str, str]:
    deadline = time.monotonic() + 60
    while not run.checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(number)
    return process.communicate(timeout=60)


def as_of_before_there_were_tasks(run: Run) -> None:
    """Make a checkpoint what a version left that had fewer options, and told all of them."""
    tensors, header = read_sealed(run.checkpoint, CheckpointHeader, "")
    record = run.record()
    parts = {"corpus": record.corpus, "network": record.network, "training": record.training}
    new = {"source", "hash", "task", "text_column", "label_column", "bidirectional", "unknown"}
    older = {
        part: {name: value for name, value in (options or {}).items() if name not in new}
        for part, options in parts.items()
    }
    identity = json.dumps([record.corpus["hash"], older], sort_keys=True)
    write_tensors(run.checkpoint, tensors, replace(header, identity=identity))


@pytest.fixture(scope="module")
def uninterrupted(corpus_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "run"
    process = start(corpus_file, path)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return path


@pytest.mark.release
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9)])
def test_the_same_command_again_continues_to_the_same_model(
    corpus_file, uninterrupted, tmp_path, number, code
):
    run = Run(tmp_path / "run")
    process = start(corpus_file, run.path)
    out, err = interrupt(process, run, number)
    assert (process.returncode, err) == (code, "")
    assert ("stopped; give the same command again to continue" in out) == (code > 0)
    assert run.record().status == "training"
    assert not (run.path / "model.safetensors").exists()
    with pytest.raises(RnnlensError, match="has not finished"):
        run.model()

    as_of_before_there_were_tasks(run)
    process = start(corpus_file, run.path)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert "continuing in epoch " in out
    names = {p.name for p in run.path.iterdir() if not p.name.startswith(".")}
    assert names == {p.name for p in uninterrupted.iterdir()}
    assert not run.checkpoint.exists()
    for name in ("model.safetensors", "model.json", "evaluation.json", "vocabulary.json"):
        assert (run.path / name).read_bytes() == (uninterrupted / name).read_bytes()
    assert run.record().metrics == Run(uninterrupted).record().metrics


def test_ctrl_c_outside_training_is_one_line_too(command, corpus_file, tiny, tmp_path, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rnnlens.work.train_run.Corpus.read", interrupted)
    answer = command("train", corpus_file, "-o", tmp_path / "run", *tiny)
    assert answer == (130, "", "rnnlens: stopped\n")


def test_a_moved_corpus_does_not_hinder_continuing(
    command, corpus_file, tiny, trained_run, tmp_path, monkeypatch
):
    out, moved = tmp_path / "run", tmp_path / "elsewhere.conllu"
    moved.write_bytes(corpus_file.read_bytes())
    steps = iter(range(100))
    stop = Resumable.stop

    def stopping(made: Resumable) -> bool:
        made.signal = signal.SIGTERM if next(steps) == 3 else made.signal
        return stop(made)

    monkeypatch.setattr(Resumable, "stop", stopping)
    assert command("train", corpus_file, "-o", out, *tiny).code == 143
    answer = command("train", moved, "-o", out, *tiny)
    assert (answer.code, answer.err) == (0, "")
    assert "continuing in epoch 1, after step 4" in answer.out
    assert sha256(out / "model.safetensors") == sha256(trained_run / "model.safetensors")


def test_a_foreign_or_damaged_checkpoint_stops_training(
    command, corpus_file, tiny, run_copy, tmp_path
):
    edit(run_copy / "run.json", status="training")
    (run_copy / "checkpoint.safetensors").write_bytes(b"x" * 100)
    answer = command("train", corpus_file, "-o", run_copy, *tiny)
    assert answer.code == 2
    assert "checkpoint.safetensors is damaged" in answer.err
