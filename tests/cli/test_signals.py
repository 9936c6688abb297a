"""Ctrl-C, SIGTERM and a closed terminal end any command in one line, whatever it is doing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sampling import sampled

from rnnlens.cli import _VERBS
from rnnlens.run.folder import SHIPPED

# A module whose import is interrupted, and which makes another error of that, as some do.
INTERRUPTED = """\
import os, signal, time
try:
    os.kill(os.getpid(), int(os.environ.get("SIGNAL", signal.SIGINT)))
    time.sleep(5)
except BaseException as error:
    raise ImportError("lost") from error
"""
COMMAND = [sys.executable, "-m", "rnnlens", "show", "english-news", "the dog"]
# Of every verb: what it is given, and a library that it imports after most others.
LATE = {
    "view": (["english-news", "--no-browser"], "uvicorn"),
    "demo": (["--no-browser"], "uvicorn"),
    "train": ([__file__, "-o", "out"], "safetensors"),
    "fit": ([str(SHIPPED / "brackets")], "pydantic"),
    "eval": ([str(SHIPPED / "brackets")], "pydantic"),
    "show": (["english-news", "the dog"], "pydantic"),
    "compare": (["english-news", "brackets", "--corpus", __file__], "pydantic"),
    "index": (["brackets"], "pyarrow"),
    "find": (["english-news", "count by word"], "duckdb"),
    "publish": (["english-news", "-o", "out.html"], "pydantic"),
    "lab": (["english-news", "agreement"], "pydantic"),
}
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def heard():
    """Ctrl-C is not ignored, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["argparse", "torch"])
def test_imports_can_be_interrupted(tmp_path, module):
    """The first that is imported, and the one that takes longest."""
    (tmp_path / f"{module}.py").write_text(INTERRUPTED)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        COMMAND, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "rnnlens: stopped\n")


def test_every_verb_is_tried():
    there = {"eval" if verb == "evaluate" else verb for verb in _VERBS}
    assert LATE.keys() == {*there, "demo"}


@pytest.mark.slow
@pytest.mark.parametrize("number", sampled(NUMBERS, signal.SIGHUP))
@pytest.mark.parametrize("verb", sampled(LATE, "publish"))
def test_every_signal_means_the_same_for_every_verb(tmp_path, verb, number):
    words, module = LATE[verb]
    (tmp_path / f"{module}.py").write_text(INTERRUPTED)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    ended = subprocess.run(
        [sys.executable, "-m", "rnnlens", verb, *words], cwd=tmp_path, capture_output=True,
        env={**os.environ, "PYTHONPATH": path, "SIGNAL": str(int(number))}, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    signal.signal(signal.SIGHUP, before)
    assert (ended.returncode, ended.stderr) == (128 + number, "rnnlens: stopped\n")


HOLDING = """
import sys, time
from pathlib import Path
from rnnlens.corpus.storage import Shelf
from rnnlens.run.folder import Run
import numpy as np

def main():
    with Run(Path("run")).writing(), Shelf() as shelf:
        shelf.column("x", np.int64).add(np.zeros(1 << 20, np.int64))
        print("ready", flush=True)
        time.sleep(60)

sys.modules["rnnlens.cli"] = type(sys)("rnnlens.cli")
sys.modules["rnnlens.cli"].main = main
from rnnlens.__main__ import run
run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_leaves_nothing_stray(tmp_path, number):
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", HOLDING]
    with subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        assert len(_hidden(tmp_path)) == 2
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (128 + number, "rnnlens: stopped\n")
    assert _hidden(tmp_path) == []


def _hidden(folder):
    return sorted(path.name for path in folder.rglob(".*"))


@pytest.mark.slow
def test_a_real_start_can_be_interrupted_also_twice():
    with subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True) as process:
        maps = Path(f"/proc/{process.pid}/maps")
        while "libtorch" not in maps.read_text():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "rnnlens: stopped\n")
