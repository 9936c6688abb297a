"""`rnnlens fit --model` and its runs, with models, flags and files that cannot work."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.project import fit
from tests.runfiles import contents

from rnnlens.base.files import write_json
from rnnlens.base.tensors import write_tensors
from rnnlens.run.run_files import ExamplesHeader

FACTORIES = [
    ("usermodels", "names no model; write package.module:factory"),
    ("nowhere.at.all:model", "cannot import nowhere.at.all"),
    ("usermodels:missing", "usermodels.py) has no missing"),
    ("usermodels:WORDS", "gave list; give a module"),
    ("usermodels:nothing", "gave NoneType; give a module"),
    ("usermodels:broken", "usermodels:broken failed: ValueError: the weights are not there ("),
    ("usermodels:stuck", "the forward of Stuck failed: RuntimeError: shapes do not fit ("),
    ("usermodels:carried", "missing a required argument: 'hidden'); give feed=, a function"),
    ("usermodels:no_module", "a str is no torch module"),
    ("usermodels:odd_kinds", "kinds= names 3"),
    ("usermodels:odd_order", "batch_first= is 'yes'"),
    ("usermodels:gone", "SystemExit: 3"),
    ("usermodels:nan", "are NaN or infinite"),
    ("usermodels:few", "the module has no word"),
    ("usermodels:unnamed", "does not name the labels"),
    ("usermodels:bad_words", "words= of usermodels:bad_words failed: KeyError"),
]


@pytest.mark.parametrize(("model", "message"), FACTORIES)
def test_bad_models_are_told_in_one_line(command, here, tmp_path, model, message):
    words = ["fit", "--model", model, "--path", ".", "--corpus", "plain.txt"]
    told = command(*words, "-o", tmp_path / "run")
    assert told.code == 2
    assert message in told.err
    assert told.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "usermodels:language"], "takes: rnnlens fit --model"),
        (["--model", "m:f", "--corpus", "c", "-o", "r", "run"], "takes: rnnlens fit --model"),
        ([], "give a run folder to fit, a module of your own with --model, or --recorded"),
        (["kept", "-o", "elsewhere"], "--output goes with --model"),
        (["kept", "--longest", "20"], "--longest goes with --model"),
        (["--model", "m:f", "--corpus", "c", "-o", "r", "--longest", "1"], "at least 3"),
    ],
)
def test_flags_that_do_not_go_together(command, here, kept, words, message):
    told = command("fit", *words)
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert message in told.err


def test_another_run_is_not_written_over(command, here, kept, tmp_path, trained_run):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for factory, flags, message in (
        ("other", (), "gives other weights than those"),
        ("language", ("--longest", "9"), "made with --longest 200, not --longest 9"),
    ):
        told = fit(command, factory, run, *flags)
        assert told.code == 2
        assert message in told.err
    told = fit(command, "language", run, corpus="tagged.conllu")
    assert "is not the corpus that" in told.err
    assert "was trained" in fit(command, "language", trained_run).err
    assert "module of your own" in command("train", "plain.txt", "-o", run).err
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def damaged(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(run: Path) -> None:
        value = contents(run / name)
        change(value)
        write_json(run / name, value)

    return edit


def halved(run: Path) -> None:
    path = run / "examples.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def strange(run: Path) -> None:
    header = ExamplesHeader((("the", ("the",), (0,)),))
    write_tensors(run / "examples.safetensors", {"0/x": torch.zeros(1)}, header)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damaged("model.json", lambda m: m.pop("factory")), "model.json is damaged"),
        (damaged("model.json", lambda m: m["kinds"][0].pop("id")), "model.json is damaged"),
        (damaged("model.json", lambda m: m.update(labels=3)), "has 3 labels and its vocabulary"),
        (damaged("vocabulary.json", lambda m: m["counts"].pop()), "vocabulary.json is damaged"),
        (damaged("vocabulary.json", lambda m: m.update(inputs=3)), "vocabulary.json is damaged"),
        (damaged("run.json", lambda m: m.update(status="training")), "has not finished"),
        (halved, "examples.safetensors is damaged"),
        (strange, "examples.safetensors is damaged"),
    ],
)
def test_damaged_runs_are_told_in_one_line(command, here, kept, tmp_path, spoil, message):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    spoil(run)
    told = command("show", run, "the dogs see a bird", "--trust", "--path", ".")
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert message in told.err


@pytest.mark.release
def test_processes_that_are_given_different_weights_are_refused(here, tmp_path):
    words = ["fit", "--model", "usermodels:of_each_process", "--path", ".", "--corpus", "plain.txt"]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         "-m", "rnnlens", *words, "-o", str(tmp_path / "run")],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "gives other weights in each process" in done.stderr
    assert not (tmp_path / "run" / "probes.json").exists()
