"""What every command has in common: one line and a fitting exit code for whatever goes wrong."""

import json
import os
import subprocess
import sys

import pytest
import torch
from tests.sampling import sampled

from rnnlens import cli
from rnnlens.run.folder import Run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "held"), sampled([(None, "PASSIVE"), ("ACTIVE", "ACTIVE")], (None, "PASSIVE"))
)
def test_threads_sleep_while_they_wait_unless_told_otherwise(given, held):
    """OpenMP reads the policy when torch is loaded, so that it must be set before."""
    code = """
import os, sys
class Loading:
    def find_spec(self, name, *_):
        if name == "torch":
            print(os.environ["OMP_WAIT_POLICY"], flush=True)
            os._exit(0)
sys.meta_path.insert(0, Loading())
from rnnlens.cli import main
main(["--version"])
"""
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
    environment |= {"OMP_WAIT_POLICY": given} if given else {}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == held


def test_a_name_the_system_refuses_is_one_line(command):
    answer = command("eval", "x" * 300)
    assert answer.code == 2
    assert answer.err.startswith("rnnlens: ")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    "error", [MemoryError(), torch.OutOfMemoryError("CUDA"), RuntimeError("can't allocate memory")]
)
def test_running_out_of_memory_is_one_line(command, monkeypatch, error, tmp_path):
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("rnnlens.work.train_run.Corpus.read", fail)
    answer = command("train", "a.txt", "-o", tmp_path / "run")
    assert (answer.code, answer.err) == (
        2, "rnnlens: out of memory; give a smaller --batch or --width\n",
    )  # fmt: skip


def test_an_error_of_our_own_is_not_hidden(monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("rnnlens.work.train_run.pick_device", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main(["train", "a.txt", "-o", "nowhere"])


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_traceback():
    words = [sys.executable, "-m", "rnnlens", "show", "english-news", "the dog"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, "")


def test_own_colours_for_a_trained_run_are_taken(command, corpus_file, tiny, run_copy, tmp_path):
    own = {"colours": {"A": "#112233"}, "groups": {"the": "A"}}
    (tmp_path / "own.json").write_text(json.dumps(own))
    answer = command(
        "train", corpus_file, "-o", run_copy, *tiny, "--colours", tmp_path / "own.json"
    )
    assert answer.code == 0
    assert Run(run_copy).colours()["groupings"]["own"]["groups"] == {"the": "A"}


@pytest.mark.parametrize(
    "damage",
    [{"groupings": {"a": 1}}, {"groupings": [1]}, {"groupings": {}},
     {"groupings": {"a": {"colours": {"A": "#ff"}, "groups": {}}}},
     {"groupings": {"a": {"colours": {"A": "#ffffff"}, "groups": {"the": "B"}}}}],
)  # fmt: skip
def test_damaged_colours_are_one_line_in_view(command, run_copy, damage):
    (run_copy / "colours.json").write_text(json.dumps(damage))
    answer = command("view", run_copy, "--no-browser")
    assert answer.code == 2
    assert "colours.json" in answer.err
    assert answer.err.count("\n") == 1


def test_a_run_is_measured_even_where_it_cannot_be_written(command, run_copy, monkeypatch):
    def fail(_: int) -> None:
        raise OSError(13, os.strerror(13))

    monkeypatch.setattr(os, "fsync", fail)
    answer = command("eval", run_copy, "--device", "cpu")
    assert answer.code == 0
    assert "unigram" in answer.out
    assert answer.err.startswith("rnnlens: not saved: ")


def test_a_semantic_the_test_part_cannot_have_is_told(command, tmp_path, tiny):
    from tests.grammar import conllu, sentences

    (tmp_path / "c.conllu").write_text(conllu(60))
    short = "\n".join(" ".join(s.words[:2]) for s in sentences(9))
    (tmp_path / "t.txt").write_text(short)
    (tmp_path / "c.txt").write_text("\n".join(" ".join(s.words) for s in sentences(60)))
    words = [tmp_path / "c.txt", "--test", tmp_path / "t.txt", "-o", tmp_path / "run", *tiny]
    assert command("train", *words).code == 0
    fit = ["fit", tmp_path / "run", "--semantic", "output,output+3", "--epochs", "0"]
    assert command(*fit, "--device", "cpu").code == 0
    answer = command("eval", tmp_path / "run", "--device", "cpu")
    assert answer.code == 2
    assert "no test sentence is long enough" in answer.err


def test_what_was_left_by_a_command_killed_in_its_last_moment_is_cleared(
    command, corpus_file, tiny, run_copy
):
    names = {path.name for path in run_copy.iterdir()}
    for name in ("checkpoint.safetensors", ".rnnlens.lock", ".run.json.rnnlens-1a"):
        (run_copy / name).touch()
    assert "is trained already" in command("train", corpus_file, "-o", run_copy, *tiny).out
    assert {path.name for path in run_copy.iterdir()} == names
