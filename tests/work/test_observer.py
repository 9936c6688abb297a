"""Long work is told of, saved, and stopped so that it can be continued."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from rnnlens.base.errors import RnnlensError, Stopped
from rnnlens.model.train.distributed import Processes
from rnnlens.run.folder import Run
from rnnlens.work.observer import Observer, Resumable


def nothing() -> None:
    pass


@pytest.fixture
def work(tmp_path: Path) -> Callable[..., Resumable]:
    """Work of five steps."""

    def make(
        seconds: float = 60.0,
        look: Callable[[], str] = str,
        save: Callable[[], None] = nothing,
        processes: Processes | None = None,
    ) -> Resumable:
        run, alone = Run(tmp_path), processes or Processes()
        return Resumable(
            run, alone, Observer(print), total=5, done=0, unit="step", device=torch.device("cpu"),
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
def test_a_signal_lets_the_step_end_and_saves(work, tmp_path, capsys, number, code):
    before, saved = signal.getsignal(number), []
    with work(save=lambda: saved.append(True)) as made:
        assert not made.stop()
        signal.raise_signal(number)
        assert made.stop()
        assert not saved
        with pytest.raises(Stopped) as stop:
            made.stopped()
        assert stop.value.code == code
    assert saved
    assert signal.getsignal(number) is before
    told = "stopped; call it again to continue\n"
    assert capsys.readouterr().out == told
    assert (tmp_path / "training.log").read_text() == told


def test_a_second_ctrl_c_stops_at_once(work):
    before = signal.getsignal(signal.SIGINT)
    with work():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("heard")
def test_a_terminal_that_closes_is_told_of_twice_and_the_work_is_saved(work):
    with work() as made:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)  # by the shell, after the kernel
        assert made.stop()


def test_under_nohup_a_closed_terminal_stops_nothing(work):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with work() as made:
            signal.raise_signal(signal.SIGHUP)
            assert not made.stop()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("seconds", "saves"), [(0, 5), (1e9, 0)])
def test_work_is_saved_as_often_as_asked(work, seconds, saves):
    saved: list[bool] = []
    with work(seconds, save=lambda: saved.append(True)) as made:
        for _ in range(5):
            assert not made.stop()
    assert len(saved) == saves


@pytest.mark.parametrize(("ago", "saves"), [(0, 0), (9, 0), (11, 1)])
def test_a_landmark_is_saved_unless_that_was_just_done(work, ago, saves):
    saved: list[bool] = []
    with work(save=lambda: saved.append(True)) as made:
        made.saved -= ago
        made.landmark()
    assert len(saved) == saves


@pytest.mark.parametrize(
    ("took", "ago", "saves"), [(0.1, 11, 1), (1, 49, 0), (1, 51, 1), (9, 61, 1)]
)
def test_what_takes_long_to_save_is_saved_at_fewer_landmarks(work, took, ago, saves):
    saved: list[bool] = []
    with work(60, save=lambda: saved.append(True)) as made:
        made.took = took
        made.saved -= ago
        made.landmark()
        assert len(saved) == saves
        assert (made.took == took) == (not saves)


@pytest.mark.parametrize("ending", ["stop", "stopped", "landmark"])
def test_work_that_went_wrong_is_never_saved(work, ending):
    def look() -> str:
        raise RnnlensError("the loss is nan")

    saved: list[bool] = []
    with work(0, look, lambda: saved.append(True)) as made, pytest.raises(RnnlensError):
        getattr(made, ending)()
    assert not saved


def test_only_the_first_process_speaks_logs_and_saves(work, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Processes, "any", lambda _, flag: flag)
    saved: list[bool] = []
    with work(0, save=lambda: saved.append(True), processes=Processes(1, 2)) as made:
        made.say("hello")
        made.stop()
    assert capsys.readouterr() == ("", "")
    assert not saved
    assert not (tmp_path / "training.log").exists()


def test_how_far_the_work_is_is_told_only_where_nothing_else_was(work, monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("rnnlens.base.progress.time.monotonic", lambda: now[0])
    with work(1e9, look=lambda: "epoch 1") as made:
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
