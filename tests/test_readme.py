"""Every command and program the README shows, run as shown."""

import gzip
import shutil
from pathlib import Path

import pytest
from tests.grammar import conllu
from tests.shown import ROOT, blocks, commands, run

pytestmark = pytest.mark.slow
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made: Path = tmp_path_factory.mktemp("readme")
    with gzip.open(made / "news.conllu.gz", "wt", encoding="utf-8") as file:
        file.write(conllu(40))
    return made


def test_the_readme_opens_with_the_two_commands():
    assert commands(README)[:2] == ["make demo", "make test"]


@pytest.mark.release
@pytest.mark.skipif(not (ROOT / ".venv").exists(), reason="make sets up .venv")
def test_every_command_of_the_readme_works(folder):
    assert shutil.which("make")
    shown = {command: run(command, folder) for command in commands(README)}
    assert "perplexity" in shown["rnnlens eval runs/news"]
    assert "pytest" in shown["make test"]
    assert "solidarity" in shown['rnnlens show english-news "we stand in solidarity"']
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.release
def test_every_program_of_the_readme_works(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    if not (folder / "runs" / "news" / "probes.json").exists():
        run("rnnlens train news.conllu.gz -o runs/news", folder)
        run("rnnlens fit runs/news", folder)
    for program in blocks(README, "python"):
        exec(compile(program.text, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "torch.Size([4, 1, 300])" in printed
    assert "wanted_rank" in printed
    assert (folder / "figure.svg").read_bytes().startswith(b"<?xml")
