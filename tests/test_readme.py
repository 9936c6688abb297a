"""Every command and program the README shows, run as shown."""

import gzip
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.grammar import conllu

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVERS = ("make demo", "rnnlens view")
RECURSIVE = "make test"  # it runs this very test


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    return [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made: Path = tmp_path_factory.mktemp("readme")
    with gzip.open(made / "news.conllu.gz", "wt", encoding="utf-8") as file:
        file.write(conllu(40))
    return made


def run(command: str, folder: Path) -> str:
    words = shlex.split(command)
    where = ROOT if words[0] == "make" else folder
    if command == RECURSIVE:
        words.insert(1, "--dry-run")
    if command == "make demo":
        words.append("ARGS=--no-browser")
    if command.startswith("rnnlens view"):
        words.append("--no-browser")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    process = subprocess.Popen(
        words, cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    seen = []
    with process.stdout:
        for line in process.stdout:
            seen.append(line)
            if " at http://" in line:
                os.killpg(process.pid, signal.SIGINT)
                break
        else:
            assert process.wait() == 0, "".join(seen)
    process.wait(timeout=30)
    if command.startswith(SERVERS):
        assert " at http://" in "".join(seen), "".join(seen)
    return "".join(seen)


def test_the_readme_opens_with_the_two_commands():
    assert [c for c in commands() if c][:2] == ["make demo", "make test"]


@pytest.mark.skipif(not (ROOT / ".venv").exists(), reason="make sets up .venv")
def test_every_command_of_the_readme_works(folder):
    assert shutil.which("make")
    shown = {command: run(command, folder) for command in commands() if command}
    assert "perplexity" in shown["rnnlens eval runs/news"]
    assert "pytest" in shown["make test"]
    assert "solidarity" in shown['rnnlens show english-news "we stand in solidarity"']
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_every_program_of_the_readme_works(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    if not (folder / "runs" / "news" / "probes.json").exists():
        run("rnnlens train news.conllu.gz -o runs/news", folder)
        run("rnnlens fit runs/news", folder)
    for program in blocks("python"):
        exec(compile(program, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "torch.Size([4, 1, 300])" in printed
    assert "wanted_rank" in printed
    assert (folder / "figure.svg").read_bytes().startswith(b"<?xml")
