"""A recorder writes what it is given, goes on where it was killed, and refuses what is odd."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests import recorded

import rnnlens
from rnnlens.states.kept import opened


def test_what_is_recorded_is_read_again(tmp_path):
    some = recorded.arrays()
    kept = opened(recorded.recorded(tmp_path, some, stretch=2000))  # several files
    assert len(list(tmp_path.glob("part-*.safetensors"))) > 3
    assert kept.starts.tolist() == [0, *np.cumsum(some["lengths"])]
    np.testing.assert_array_equal(kept.kinds["h1"].rows(0, kept.rows), some["h1"])
    assert [kept.word(k) for k in range(kept.rows)] == [recorded.WORDS[k] for k in some["words"]]
    np.testing.assert_array_equal(kept.targets["size"].values, some["targets.size"])
    np.testing.assert_array_equal(kept.targets["traits"].values, some["targets.traits"])
    assert kept.targets["short"].names == ("no", "yes")


def test_words_are_texts_and_arrays_may_be_written_to_again(tmp_path):
    room = np.zeros((3, 4), np.float16)
    with rnnlens.record(tmp_path) as to:
        for k in range(4):
            room[:] = k
            to.add({"h": room}, "the same words", f"label {k % 2}", y=np.eye(3, 2) + k)
    kept = opened(tmp_path)
    assert kept.kinds["h"].rows(0, 12)[:, 0].tolist() == np.repeat(range(4), 3).tolist()
    assert kept.words_of(2) == ("the", "same", "words")
    assert kept.targets["output"].names == ("label 0", "label 1")
    assert kept.y is not None
    assert kept.y.rows(3, 4).tolist() == [[2, 1]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (({}, None), "has no states"),
        (({"h": np.zeros(3)}, None), "give floats"),
        (({"h": np.zeros((3, 2), int)}, None), "give floats"),
        (({"h": np.zeros((3, 2)), "g": np.zeros((4, 2))}, None), "g has 4 rows"),
        (({"h": np.zeros((3, 2))}, ["a", "b"]), r"words of sequence 1 has the shape \(2,\)"),
        (({"h": np.zeros((3, 3))}, ["a", "b", "c"]), r"is unlike those before it in h"),
        (({"g": np.zeros((3, 2))}, ["a", "b", "c"]), r"is unlike those before it in g"),
        (({"h": np.zeros((3, 2))}, [1.0, 2.0, 3.0]), r"is unlike those before it in words"),
    ],
)
def test_a_sequence_that_does_not_fit_is_refused_and_the_rest_stays(tmp_path, given, said):
    with rnnlens.record(tmp_path) as to:
        to.add({"h": np.ones((3, 2))}, ["a", "b", "c"])
        with pytest.raises(rnnlens.RnnlensError, match=said):
            to.add(*given)
        to.add({"h": np.ones((2, 2))}, ["a", "b"])
    assert opened(tmp_path).rows == 5


def test_folders_of_others_and_two_writers_are_refused(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mine.txt").touch()
    with pytest.raises(rnnlens.RnnlensError, match="holds files that were not recorded"):
        rnnlens.record(tmp_path / "a")
    being = pytest.raises(rnnlens.RnnlensError, match="is being written by")
    with rnnlens.record(tmp_path / "b"), being:
        rnnlens.record(tmp_path / "b")
    with pytest.raises(rnnlens.RnnlensError, match="stretch=0"):
        rnnlens.record(tmp_path / "c", stretch=0)


_LOOP = """
import sys, numpy as np, rnnlens
with rnnlens.record(sys.argv[1], stretch=40_000) as to:
    for k in range(to.count, 3000):
        to.add({"h": np.full((5, 8), k / 7)}, [str(k)] * 5)
        if k % 100 == 0:
            print(k, flush=True)
"""


@pytest.mark.slow
def test_a_recording_that_is_killed_goes_on(tmp_path):
    folder = tmp_path / "states"
    command = [sys.executable, "-c", _LOOP, str(folder)]
    for after in (700, 1900):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) >= after:
                    os.kill(process.pid, signal.SIGKILL)
                    break
        kept = opened(folder)
        assert 0 < kept.rows <= 5 * 3000
        assert kept.kinds["h"].rows(kept.rows - 1, kept.rows)[0, 0] == np.float32(
            (len(kept) - 1) / 7
        )
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    kept = opened(folder)
    whole = np.repeat(np.arange(3000) / 7, 5).astype(np.float32)
    np.testing.assert_array_equal(kept.kinds["h"].rows(0, kept.rows)[:, 3], whole)
    assert [kept.word(5 * k) for k in range(0, 3000, 500)] == [str(k) for k in range(0, 3000, 500)]
    assert not list(Path(folder).glob(".*"))  # no lock, and nothing half written
