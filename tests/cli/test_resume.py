"""Training that is interrupted goes on to the very same model, however it was interrupted."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.runfiles import edit

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import sha256
from rnnlens.base.tensors import read_sealed, write_tensors
from rnnlens.cli.watch import Watch
from rnnlens.model.train.checkpoint import _Header
from rnnlens.model.train.distributed import Processes
from rnnlens.run.folder import Run

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
    tensors, header = read_sealed(run.checkpoint, _Header, "")
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


def nothing() -> None:
    pass


@pytest.fixture
def watch(tmp_path: Path) -> Callable[..., Watch]:
    """A watch over work of five steps."""

    def make(
        seconds: float = 60.0,
        look: Callable[[], str] = str,
        save: Callable[[], None] = nothing,
        processes: Processes | None = None,
    ) -> Watch:
        run, alone = Run(tmp_path), processes or Processes()
        return Watch(
            run, alone, total=5, done=0, unit="step", device=torch.device("cpu"),
            shorter=("--epochs 1", 0.5), seconds=seconds, look=look, save=save,
        )  # fmt: skip

    return make


@pytest.fixture
def heard() -> Iterator[None]:
    """SIGHUP is not ignored, also where the tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_lets_the_step_end_and_saves(watch, tmp_path, capsys, number, code):
    before, saved = signal.getsignal(number), []
    with watch(save=lambda: saved.append(True)) as made:
        assert not made.stop()
        signal.raise_signal(number)
        assert made.stop()
        assert not saved
        assert made.stopped() == code
    assert saved
    assert signal.getsignal(number) is before
    told = "stopped; give the same command again to continue\n"
    assert capsys.readouterr().out == told
    assert (tmp_path / "training.log").read_text() == told


def test_a_second_ctrl_c_stops_at_once(watch):
    before = signal.getsignal(signal.SIGINT)
    with watch():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("heard")
def test_a_terminal_that_closes_is_told_of_twice_and_the_work_is_saved(watch):
    with watch() as made:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)  # by the shell, after the kernel
        assert made.stop()


def test_under_nohup_a_closed_terminal_stops_nothing(watch):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with watch() as made:
            signal.raise_signal(signal.SIGHUP)
            assert not made.stop()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("seconds", "saves"), [(0, 5), (1e9, 0)])
def test_work_is_saved_as_often_as_asked(watch, seconds, saves):
    saved: list[bool] = []
    with watch(seconds, save=lambda: saved.append(True)) as made:
        for _ in range(5):
            assert not made.stop()
    assert len(saved) == saves


@pytest.mark.parametrize(("ago", "saves"), [(0, 0), (9, 0), (11, 1)])
def test_a_landmark_is_saved_unless_that_was_just_done(watch, ago, saves):
    saved: list[bool] = []
    with watch(save=lambda: saved.append(True)) as made:
        made.saved -= ago
        made.landmark()
    assert len(saved) == saves


@pytest.mark.parametrize("ending", ["stop", "stopped", "landmark"])
def test_work_that_went_wrong_is_never_saved(watch, ending):
    def look() -> str:
        raise RnnlensError("the loss is nan")

    saved: list[bool] = []
    with watch(0, look, lambda: saved.append(True)) as made, pytest.raises(RnnlensError):
        getattr(made, ending)()
    assert not saved


def test_only_the_first_process_speaks_logs_and_saves(watch, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Processes, "any", lambda _, flag: flag)
    saved: list[bool] = []
    with watch(0, save=lambda: saved.append(True), processes=Processes(1, 2)) as made:
        made.say("hello")
        made.stop()
    assert capsys.readouterr() == ("", "")
    assert not saved
    assert not (tmp_path / "training.log").exists()


def test_ctrl_c_outside_training_is_one_line_too(command, corpus_file, tiny, tmp_path, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rnnlens.cli.train.Corpus.read", interrupted)
    answer = command("train", corpus_file, "-o", tmp_path / "run", *tiny)
    assert answer == (130, "", "rnnlens: stopped\n")


def test_a_moved_corpus_does_not_hinder_continuing(
    command, corpus_file, tiny, trained_run, tmp_path, monkeypatch
):
    out, moved = tmp_path / "run", tmp_path / "elsewhere.conllu"
    moved.write_bytes(corpus_file.read_bytes())
    steps = iter(range(100))
    stop = Watch.stop

    def stopping(made: Watch) -> bool:
        made.signal = signal.SIGTERM if next(steps) == 3 else made.signal
        return stop(made)

    monkeypatch.setattr(Watch, "stop", stopping)
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


def test_how_far_the_work_is_is_told_only_where_nothing_else_was(watch, monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("rnnlens.base.progress.time.monotonic", lambda: now[0])
    with watch(1e9, look=lambda: "epoch 1") as made:
        made.progress.announced = True
        for seconds in (50, 50, 70):
            now[0] += seconds
            made.stop()
            if now[0] == 50:
                made.say("epoch 1 is done")
    assert capsys.readouterr().out.splitlines() == [
        "epoch 1 is done",
        "epoch 1: 60% done, about 2 min left",
    ]
