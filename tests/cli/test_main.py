"""What every command has in common: one line and a fitting exit code for whatever goes wrong."""

import json
import os
import subprocess
import sys

import pytest
import torch
from tests.sampling import sampled

from rnnlens import cli
from rnnlens.run.folder import SHIPPED, Run

WITHOUT_TORCH = """
import io, sys
from contextlib import redirect_stderr, redirect_stdout
sys.modules["torch"] = None  # whoever imports it gets an ImportError
from rnnlens.cli import main

class Terminal(io.StringIO):
    def isatty(self): return True

def told(*words):
    out = Terminal()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(out):
            main(words)
    except (SystemExit, ImportError) as end:
        return type(end).__name__, out.getvalue().strip()
    return "", out.getvalue().strip()
"""


def without_torch(code: str) -> str:
    """What a process prints that cannot import torch."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_and_errors_of_usage_import_next_to_nothing():
    """Modules are counted, since seconds differ from machine to machine: 268 when this was written,
    where torch alone has a thousand.
    """
    out = without_torch("""
VERBS = "demo view train fit eval show compare index find publish".split()
for words in [["--help"], *([verb, "--help"] for verb in VERBS)]:
    assert told(*words)[0] == "SystemExit", words
for words, error in {
    "train": "required",
    "train gone.txt -o run": "no corpus at gone.txt",
    "train gone.txt -o run --width 0": "--width 0: give at least 1",
    "fit gone": "no run at gone",
    "fit gone --epochs -9": "--epochs -9: give at least",
    "eval gone": "no run at gone",
    "show gone words": "no run at gone",
    "show english-news words -o x.doc": "cannot write x.doc",
    "publish english-news -o x.doc": "cannot write x.doc",
    "compare gone english-news --corpus x": "no run at gone",
    "find english-news": "give a question",
}.items():
    end, said = told(*words.split())
    assert end == "" and error in said, (words, end, said)
HEAVY = "numpy pydantic pydantic_core pyarrow duckdb safetensors matplotlib starlette".split()
print(len(sys.modules), *(name for name in HEAVY if name in sys.modules))
""")
    assert int(out) < 350, out


def test_an_index_is_asked_without_torch():
    out = without_torch("""
assert told("find", "english-news", 'word = "we" limit 2') == ("", "")
assert told("find", "english-news", "l2 expects verb count by tag") == ("", "")
print("asked")
""")
    assert out == "asked\n"


def test_long_commands_say_what_they_do_before_torch_is_imported(tmp_path):
    (tmp_path / "a.txt").write_text("a b\n")
    out = without_torch(f"""
for words in ("train {tmp_path}/a.txt -o {tmp_path}/run", "eval english-news", "fit english-news",
              "index english-news", "compare english-news waves --corpus x"):
    at = [f"{SHIPPED}/{{w}}" if w in ("english-news", "waves") else w for w in words.split()]
    print(*told(*at))
""")
    for line, begins in zip(
        out.splitlines(),
        ["training on", "measuring", "fitting probes into", "indexing", "comparing"],
        strict=True,
    ):
        assert line.startswith(f"ModuleNotFoundError {begins} "), out


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
main(["show", "english-news", "we"])
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
@pytest.mark.parametrize(
    ("cell", "less"), [("lstm", "--batch or --width"), ("mamba", "--batch, --width or --keys")]
)
def test_running_out_of_memory_is_one_line(command, monkeypatch, error, tmp_path, cell, less):
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("rnnlens.work.train_run.Corpus.read", fail)
    (tmp_path / "a.txt").write_text("a b\n")
    answer = command("train", tmp_path / "a.txt", "-o", tmp_path / "run", "--cell", cell)
    assert (answer.code, answer.err) == (2, f"rnnlens: out of memory; give a smaller {less}\n")


def test_an_error_of_our_own_is_not_hidden(monkeypatch, tmp_path):
    corpus = tmp_path / "a.txt"
    corpus.write_text("a b\n")

    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("rnnlens.work.train_run.pick_device", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main(["train", str(corpus), "-o", "nowhere"])


@pytest.mark.release
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


@pytest.mark.slow
def test_commands_that_compute_import_nothing_that_only_looks(corpus_file, tiny, tmp_path):
    code = """
import sys
from rnnlens.cli import main
assert main(sys.argv[1:]) == 0
much = "rnnlens.lens.lens rnnlens.ask rnnlens.adapter.adapter torch._dynamo".split()
print("imported:", *(name for name in much if name in sys.modules))
"""
    run, on_cpu = str(tmp_path / "run"), ["--device", "cpu"]
    train = ["train", str(corpus_file), "-o", run, *tiny]
    for words in (train, ["fit", run, "--epochs", "1", *on_cpu], ["eval", run, *on_cpu]):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "imported:"
