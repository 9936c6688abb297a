"""The table of waits that `make bench` writes."""

import json
import subprocess
from pathlib import Path

import pytest
from benchmarks import dashboard
from benchmarks.noted import NOTES, Wait, note

HELP, RATE = Wait("--help", 0.2, "s", 0.3, 0.01), Wait("index", 0.5, "times", 0.7, None, True)
ABOUT = {"processor": "a", "cores": 2, "load": [0.1, 0.2]}


def test_what_is_noted_is_collected(tmp_path, monkeypatch):
    note("nobody collects", 1.0, "s")
    monkeypatch.setenv(NOTES, str(tmp_path / "notes"))
    note("--help", 0.2, "s", 0.3, floor=0.01)
    note("index", 0.5, "times", 0.7, more_is_better=True)
    lines = (tmp_path / "notes").read_text().splitlines()
    assert [Wait(**json.loads(line)) for line in lines] == [HELP, RATE]


@pytest.mark.parametrize(
    ("wait", "was", "times"), [(HELP, 0.1, 2.0), (RATE, 1.0, 2.0), (RATE, 0.25, 0.5)]
)
def test_worse_is_slower_or_less(wait, was, times):
    assert dashboard.change(wait, {wait.what: was}) == times
    assert dashboard.change(wait, {}) is None


def test_goals_are_the_most_or_the_least():
    assert not dashboard.misses(HELP)
    assert dashboard.misses(RATE)
    assert not dashboard.misses(Wait("a", 9.0, "s"))


def test_the_table_marks_what_became_worse_on_the_same_machine():
    table = dashboard.markdown([HELP, RATE], {"--help": 0.18, "index": 0.49}, ABOUT, True)
    assert "| --help | 0.2 s | 0.3 | 0.01 | 0.18 | **1.11 times worse** |" in table
    assert "| index | 0.5 times | at least 0.7 |  | 0.49 | misses its goal |" in table
    assert "load 0.1 before" in table
    elsewhere = dashboard.markdown([HELP], {"--help": 0.18}, ABOUT, False)
    assert "worse" not in elsewhere


@pytest.mark.parametrize("same", [True, False])
def test_what_another_machine_has_recorded_is_not_recorded_under_this_one(
    tmp_path, monkeypatch, same
):
    here, file = dashboard.machine(), tmp_path / "recorded.json"
    there = here if same else {**here, "cores": here["cores"] + 1}
    waits = [{"what": "--help", "now": 9.0}, {"what": "old", "now": 7.0}]
    file.write_text(json.dumps({"machine": there, "waits": waits}))
    monkeypatch.setattr(dashboard, "RECORDED", file)
    monkeypatch.setattr(dashboard, "run", lambda _: ([HELP], []))
    monkeypatch.setattr("sys.argv", ["dashboard", "--record", "-o", str(tmp_path / "bench")])
    with pytest.raises(SystemExit) as end:
        dashboard.main()
    assert end.value.code == 0
    kept = {one["what"]: one["now"] for one in json.loads(file.read_text())["waits"]}
    assert kept == {"--help": 0.2} | ({"old": 7.0} if same else {})


@pytest.mark.parametrize("code", [0, 1])
def test_a_benchmark_that_fails_has_measured_nothing(monkeypatch, code):
    line = json.dumps(vars(HELP)) + "\n"

    def noted(*_: object, env: dict[str, str], **_more: object) -> subprocess.CompletedProcess[str]:
        with Path(env[NOTES]).open("a") as notes:
            notes.write(line)
        return subprocess.CompletedProcess([], code)

    monkeypatch.setattr(subprocess, "run", noted)
    assert dashboard.run(["starting"]) == (([], ["starting"]) if code else ([HELP], []))


def test_every_benchmark_of_the_table_is_there():
    for name in dashboard.BENCHMARKS:
        assert (dashboard.HERE / f"{name.split()[0]}.py").is_file()
