"""Whatever is wrong, a user reads one line that says so, and nothing is left behind."""

import errno
import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import grammar, runfiles

from rnnlens.base.files import sha256
from rnnlens.base.tensors import write_tensors

CONLLU = grammar.conllu(60)
COLOURS = '{"colours": {"PET": "%s"}, "groups": {"dog": "%s"}}'


def told(answer: Any) -> str:
    """The one line on stderr, where there is one and the exit code is 2."""
    assert answer.code == 2
    (line,) = answer.err.splitlines()
    assert line.startswith("rnnlens: ")
    return str(line)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("missing.txt", None, "no corpus at"),
        ("empty.txt", b"", "holds no sentence"),
        ("empty.conllu", b"", "holds no sentence"),
        ("blank.txt", b"\n \n\t\n", "holds no sentence"),
        ("binary.txt", bytes(range(256)) * 20, "is a binary file"),
        ("wide.txt", "the dog\n".encode("utf-16"), "begins as utf-16 does; give --encoding utf-16"),
        (
            "wider.txt",
            "the dog\n".encode("utf-32"),
            "as utf-32 does; give --encoding utf-32",
        ),
        ("binary.conllu", b"\x7fELF\0\0\0\1" * 20, "is a binary file"),
        ("latin.txt", "un café noir .\n".encode("latin-1") * 60, "is not utf-8"),
        ("broken.conllu", (CONLLU + "\n1\tthe\n").encode(), f"line {CONLLU.count(chr(10)) + 2}: "),
        ("odd.conllu", CONLLU.replace("1\t", "one\t", 1).encode(), "line 1: 'one' is no word"),
        ("open.mrg", b"( (S (DT the) (NN dog)) )\n( (S (DT a) (NN cat))\n", "line 2 never closes"),
        ("closed.mrg", b"( (S (DT the) (NN dog)) ) )\n", "line 1: a bracket closes"),
        ("short.txt", b"one\ntwo\nthree\n" * 30, "only 90 sentences of a single word"),
        ("same.txt", b"a a a\n" * 60, "a vocabulary of 1 word(s) besides UNK"),
        ("few.txt", b"the dog sees the cat\n", "leaves none for the train part"),
        ("half.txt.gz", gzip.compress(CONLLU.encode())[:200], "is the file whole"),
    ],
)
def test_corpora_that_cannot_be_read(command, tiny, tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    line = told(command("train", tmp_path / name, "-o", tmp_path / "run", *tiny))
    assert message in line
    assert name in line or name == "few.txt"
    assert not (tmp_path / "run").exists()


def test_an_empty_folder_as_corpus(command, tiny, tmp_path):
    (tmp_path / "corpus").mkdir()
    line = told(command("train", tmp_path / "corpus", "-o", tmp_path / "run", *tiny))
    assert "holds no file" in line
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--width 0", "width 0"),
        ("--width -1", "width -1"),
        ("--width 1000000000", "width 1000000000"),
        ("--width 60000", "this machine has"),
        ("--width wide", "--width: invalid int value: 'wide'"),
        ("--layers 0", "--layers 0"),
        ("--layers 1000", "--layers 1000: give at least 1 and at most 64"),
        ("--embedding -1", "embedding -1"),
        ("--embedding 100000", "--embedding 100000"),
        ("--cell transformer", "no cell is called 'transformer'; choose lstm, gru, rnn"),
        ("--epochs 0", "--epochs 0"),
        ("--epochs 1.5", "--epochs: invalid int value"),
        ("--batch 0", "--batch 0"),
        ("--batch 100000000000", "--batch 100000000000"),
        ("--patience 0", "--patience 0"),
        ("--learning-rate nan", "--learning-rate nan"),
        ("--learning-rate -1", "--learning-rate -1.0"),
        ("--learning-rate 0", "--learning-rate 0.0"),
        ("--learning-rate inf", "--learning-rate inf"),
        ("--weight-decay -1", "--weight-decay -1.0"),
        ("--clip 0", "--clip 0.0"),
        ("--warmup 1", "--warmup 1.0"),
        ("--average 2", "--average 2.0"),
        ("--dropout-words 1.5", "--dropout-words 1.5"),
        ("--dropout-weight -0.1", "--dropout-weight -0.1"),
        ("--dropout-hidden nan", "--dropout-hidden nan"),
        ("--seed -1", "--seed -1"),
        ("--seed 99999999999999999999", "--seed 99999999999999999999"),
        ("--split-seed -1", "--split-seed -1"),
        ("--min-count 0", "--min-count 0"),
        ("--min-count 1000000", "lower --min-count (now 1000000)"),
        ("--longest 2", "--longest 2"),
        ("--valid-share 0", "shares of 0.0 and 0.1"),
        ("--valid-share 0.5 --test-share 0.5", "shares of 0.5 and 0.5"),
        ("--test-share nan", "shares of 0.1 and nan"),
        ("--format docx", "no format is called 'docx'; choose auto"),
        ("--format brackets", "is this a treebank? give --format"),
        ("--encoding klingon", "no encoding is called 'klingon'"),
        ("--encoding hex", "no encoding is called 'hex'"),
        ("--valid nowhere.txt", "no corpus at nowhere.txt"),
        ("--test nowhere.txt", "no corpus at nowhere.txt"),
        ("--device gpu", "no device is called 'gpu'"),
        ("--device meta", "does not run on 'meta'"),
        ("--colours nowhere.json", "no colour mapping at nowhere.json"),
        ("--depth 3", "unrecognized arguments: --depth 3"),
    ],
)
def test_flags_that_cannot_work(command, corpus_file, tiny, tmp_path, flags, message):
    out = tmp_path / "run"
    assert message in told(command("train", corpus_file, "-o", out, *tiny, *flags.split()))
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "required: COMMAND"),
        (["paint"], "invalid choice: 'paint'"),
        (["train"], "required: CORPUS, -o/--output"),
        (["eval"], "required: RUN"),
    ],
)
def test_commands_that_lack_something_point_to_the_help(command, words, message):
    line = told(command(*words))
    assert message in line
    assert line.endswith("--help")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ("[]", "is no colour mapping"),
        ('{"colours": {}}', "is no colour mapping"),
        ('{"colours": [], "groups": {}}', "is no colour mapping"),
        (COLOURS % ("red", "PET"), "the colour of PET is 'red'; write it as #rrggbb"),
        (COLOURS % ("#ff0000", "WILD"), "'dog' is in group 'WILD', which has no colour"),
    ],
)
def test_own_colours_that_cannot_be_read(command, corpus_file, tiny, tmp_path, text, message):
    own, out = tmp_path / "own.json", tmp_path / "run"
    own.write_text(text)
    assert message in told(command("train", corpus_file, "-o", out, *tiny, "--colours", own))
    assert not out.exists()


def test_a_folder_with_foreign_files_is_not_written_to(command, corpus_file, tiny, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    answer = command("train", corpus_file, "-o", tmp_path, *tiny)
    assert "holds files that are no run" in told(answer)
    assert not answer.out  # before the corpus is read
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_place_of_the_run_folder(command, corpus_file, tiny, tmp_path):
    (tmp_path / "file").write_text("mine")
    line = told(command("train", corpus_file, "-o", tmp_path / "file", *tiny))
    assert "cannot make the folder" in line
    assert "a run folder?" in told(command("eval", tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"


def edit(name: str, **entries: object) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        runfiles.edit(run / name, **entries)

    return change


def put(name: str, data: bytes) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        (run / name).write_bytes(data)

    return change


def truncate(run: Path) -> None:
    os.truncate(run / "model.safetensors", (run / "model.safetensors").stat().st_size - 100)


def poison(run: Path) -> None:
    path = run / "model.safetensors"
    weights = runfiles.tensors_in(path)
    weights["bias"][0] = float("nan")
    write_tensors(path, weights)
    edit("model.json", sha256=sha256(path))(run)
    edit("run.json", weights=sha256(path))(run)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (put("run.json", b"{"), "run.json is damaged"),
        (put("run.json", b'{"format": 1}'), "run.json is damaged"),
        (edit("run.json", format=0, version="0.0.1"), "made by rnnlens 0.0.1 in a format"),
        (edit("run.json", corpus="brown"), "run.json is damaged"),
        (edit("run.json", corpus={}), "names no corpus"),
        (edit("run.json", status="training"), "has not finished"),
        (put("model.json", b"\x00\xff"), "model.json is damaged"),
        (put("model.json", b"[]"), "model.json is damaged"),
        (edit("model.json", width=16), "does not fit model.json"),
        (edit("model.json", cell="gru"), "does not fit model.json"),
        (put("model.safetensors", b""), "model.safetensors is damaged"),
        (put("model.safetensors", b"PK" * 400), "model.safetensors is damaged"),
        (truncate, "model.safetensors is damaged"),
        (poison, "weights that are not numbers"),
        (put("vocabulary.json", b"{}"), "vocabulary.json is damaged"),
        (put("vocabulary.json", b'{"labels": ['), "vocabulary.json is damaged"),
        (lambda run: (run / "model.safetensors").unlink(), "model.safetensors is missing"),
        (lambda run: (run / "vocabulary.json").unlink(), "vocabulary.json is missing"),
    ],
)
def test_runs_that_are_damaged(command, run_copy, spoil, message):
    spoil(run_copy)
    (run_copy / "evaluation.json").unlink()
    assert message in told(command("eval", run_copy, "--device", "cpu"))
    assert not (run_copy / "evaluation.json").exists()


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_folder_that_is_no_run(command, tmp_path, name):
    assert str(tmp_path) in told(command("eval", tmp_path / name))


def test_a_record_of_another_format_stops_training_too(command, corpus_file, tiny, run_copy):
    edit("run.json", format=2)(run_copy)
    line = told(command("train", corpus_file, "-o", run_copy, *tiny))
    assert "train it anew or use that version" in line


# The loss is looked at before each save, and else now and then: the machine's load decides when.
@pytest.mark.parametrize(("seconds", "step"), [(0, "2"), (60, "[2-6]")])
def test_a_loss_that_is_no_number(command, corpus_file, tiny, tmp_path, seconds, step):
    out = tmp_path / "run"
    flags = [*tiny, "--learning-rate", "1e30", "--checkpoint-seconds", seconds]
    line = told(command("train", corpus_file, "-o", out, *flags))
    told_at = rf"the loss is nan in epoch 1, step {step}; what was saved before, if"
    assert re.search(told_at, line)
    assert "try a lower --learning-rate" in line
    assert not (out / "model.safetensors").exists()
    assert (out / "checkpoint.safetensors").exists() == (seconds == 0)
    # Where nothing is lost by it, another training may have the folder.
    answer = command("train", corpus_file, "-o", out, *tiny, "--min-count", 2)
    assert answer.code == (2 if seconds == 0 else 0)
    assert ("holds another run" in answer.err) == (seconds == 0)


@pytest.mark.slow
@pytest.mark.parametrize("room", range(7))
def test_no_space_left_and_then_some(
    command, corpus_file, tiny, trained_run, tmp_path, monkeypatch, room
):
    """The disk fills up at the first, second, ... file; with space again all goes on."""
    fsync, left = os.fsync, iter(range(room))

    def full(handle: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    out = tmp_path / "run"
    line = told(command("train", corpus_file, "-o", out, *tiny))
    assert "no space left to write" in line
    assert not [p for p in out.iterdir() if p.name.startswith(".")]
    monkeypatch.setattr(os, "fsync", fsync)
    assert command("train", corpus_file, "-o", out, *tiny).code == 0
    assert sha256(out / "model.safetensors") == sha256(trained_run / "model.safetensors")
