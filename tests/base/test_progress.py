"""What long work says of itself."""

from collections.abc import Callable

import pytest
import torch

from rnnlens.base.progress import Progress, duration

CPU = torch.device("cpu")


@pytest.fixture
def clock(monkeypatch) -> Callable[[float], None]:
    """A clock that stands still unless it is moved."""
    now = [0.0]
    monkeypatch.setattr("rnnlens.base.progress.time.monotonic", lambda: now[0])

    def move(seconds: float) -> None:
        now[0] += seconds

    return move


def lines(clock, steps: int, seconds: float, **options) -> list[str]:
    """What is said in work of some steps that take so long each."""
    said: list[str] = []
    with Progress(steps, unit="step", say=said.append, **{"device": CPU, **options}) as progress:
        for _ in range(steps):
            clock(seconds)
            progress.advance()
    return said


def test_long_work_says_how_long_it_takes_and_what_makes_it_shorter(clock):
    said = lines(clock, 100, 1.0, shorter=("--epochs 1", 1 / 4), title="output")
    assert said[0] == "output: about 2 min on this CPU; --epochs 1 makes it about 20 s"
    assert said[1:] == ["output: 63% done, about 40 s left"]  # a minute after the first


def test_where_nothing_makes_it_shorter_only_the_time_is_told(clock):
    assert lines(clock, 3000, 1.0)[0] == "about 50 min on this CPU"


def test_a_first_step_of_nothing_is_no_measure(clock):
    with Progress(10, unit="step", say=print, device=CPU) as progress:
        clock(5.0)
        progress.advance(0)


def test_short_work_says_nothing(clock):
    assert lines(clock, 29, 1.0) == []


def test_a_single_long_step_says_nothing(clock):
    assert lines(clock, 1, 100.0) == []


def test_the_first_step_of_a_gpu_is_no_measure_of_the_others(clock):
    said: list[str] = []
    with Progress(100, unit="step", device=torch.device("cuda"), say=said.append) as progress:
        for seconds in [50.0, *[1.0] * 99]:
            clock(seconds)
            progress.advance()
    assert said[0] == "about 2 min on this GPU"


def test_work_that_continues_is_measured_by_what_is_left(clock):
    said: list[str] = []
    with Progress(1000, done=900, unit="step", device=CPU, say=said.append) as progress:
        for _ in range(100):
            clock(2.0)
            progress.advance()
    assert said[0] == "about 3 min on this CPU"


def test_other_processes_than_the_first_are_quiet(clock):
    assert lines(clock, 300, 1.0, quiet=True) == []


def test_what_is_iterated_over_is_work(clock, capsys):
    with Progress(50, unit="chunk", device=CPU, title="first pass") as progress:
        for _ in progress.over(range(50)):
            clock(2.0)
    assert capsys.readouterr().err.startswith("first pass: about 2 min on this CPU\n")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 s"), (4.4, "4 s"), (44, "40 s"), (89, "90 s"), (90, "2 min"), (1234, "21 min"),
     (9000, "2.5 h")],
)  # fmt: skip
def test_times_are_told_as_people_say_them(seconds, said):
    assert duration(seconds) == said
