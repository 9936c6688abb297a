"""Ctrl-C ends the command in one line, whatever it is doing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# A module whose import is interrupted, and which makes another error of that, as some do.
INTERRUPTED = """\
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except BaseException as error:
    raise ImportError("lost") from error
"""
COMMAND = [sys.executable, "-m", "rnnlens", "show", "nowhere", "the dog"]


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
