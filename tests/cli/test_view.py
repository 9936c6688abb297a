"""`rnnlens view`: one run, several, and colours of one's own."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.fixtures import formula_run
from tests.sampling import sampled
from tests.search.conftest import build, corpus_text

from rnnlens.ask.runs import summary
from rnnlens.cli.view_command import unique_names
from rnnlens.lens.open import opened
from rnnlens.run.folder import Run


@pytest.fixture
def indexed_elsewhere(tmp_path):
    """A run, and the folder of its index, which is not in the run's."""
    corpus = tmp_path / "words.conllu"
    corpus.write_text(corpus_text(4))
    run = formula_run(tmp_path / "formula")
    build(opened(Run(run)), corpus)
    return run, (run / "index").rename(tmp_path / "elsewhere")


def test_runs_are_called_by_their_folders(tmp_path):
    paths = [tmp_path / "a" / "news", tmp_path / "b" / "news", tmp_path / "news-2"]
    assert unique_names([Run(path) for path in paths]) == ["news", "news-2", "news-2-2"]
    assert unique_names([Run(Path("/"))]) == ["run"]


def asked(address, path, body=None):
    headers = {"content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address + path, data, headers), timeout=20) as answer:
        return json.load(answer)


@pytest.mark.release
def test_several_runs_are_served_in_colours_of_ones_own_until_interrupted(trained_run, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text('{"colours": {"ANIMAL": "#123456"}, "groups": {"dog": "ANIMAL"}}')
    command = [sys.executable, "-m", "rnnlens", "view", str(trained_run), str(trained_run)]
    with subprocess.Popen(
        [*command, "--colours", str(mine), "--no-browser"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        try:
            assert line.startswith("tiny · LSTM 8 × 2, tiny-2 · LSTM 8 × 2 at http://127.0.0.1:")
            address = line.split(" at ")[1].split()[0]
            runs = asked(address, "api/runs")["runs"]
            assert [run["id"] for run in runs] == ["tiny", "tiny-2"]
            grid = asked(address, "api/grid", {"run": "tiny-2", "text": "the dog"})
            assert (grid["run"], grid["palette"]) == ("tiny-2", "own")
            assert grid["words"][1]["group"] == "ANIMAL"
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) in (0, 130, -signal.SIGINT)


def test_an_index_elsewhere_is_asked_and_another_run_s_refused(
    command, indexed_elsewhere, trained_run, tmp_path, monkeypatch
):
    run, folder = indexed_elsewhere
    served = {}
    monkeypatch.setattr("rnnlens.page.serve.app.serve", lambda some, *_: served.update(some))
    assert command("view", run, "--index", folder, "--no-browser").code == 0
    assert summary(served[run.name])["corpus"]
    refused = command("view", run, "--index", tmp_path / "none", "--no-browser")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "has no index; make one: rnnlens index" in refused.err
    other = command("view", trained_run, "--index", folder, "--no-browser")
    assert (other.code, "is of another model" in other.err) == (2, True)


# SIGINT is ignored, as in a background job; SIGHUP is not, also where the tests run under nohup.
IN_BACKGROUND = [sys.executable, "-c", """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", sampled([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], signal.SIGINT)
)
def test_a_server_in_the_background_ends_as_soon_as_it_has_said_its_address(trained_run, number):
    command = [sys.executable, "-m", "rnnlens", "view", str(trained_run), "--no-browser"]
    with subprocess.Popen(
        [*IN_BACKGROUND, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            assert " at http://" in process.stdout.readline()
            process.send_signal(number)
            _, err = process.communicate(timeout=20)
        finally:
            process.kill()
        ends = (0, "") if number == signal.SIGINT else (128 + number, "rnnlens: stopped\n")
        assert (process.returncode, err) == ends


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no run at nowhere"),
        (["RUN", "nowhere"], "no run at nowhere"),
        (["RUN", "--colours", "nowhere.json"], "no colour mapping at nowhere.json"),
        (["RUN", "--port", "99999"], "--port"),
        ([], "RUN"),
    ],
)
def test_what_cannot_be_served_is_one_clear_line(command, trained_run, arguments, said):
    given = [str(trained_run) if word == "RUN" else word for word in arguments]
    answer = command("view", *given, "--no-browser")
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
