"""What the pages of docs/ show, run as shown; and what they say a command prints, compared."""

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
from tests.grammar import conllu
from tests.sampling import sampled
from tests.shown import ROOT, SERVERS, blocks, run

from rnnlens.cli import main, parser
from rnnlens.cli.evaluate_command import tables
from rnnlens.corpus.read.formats import FORMATS, TABLES, read, recognise
from rnnlens.corpus.read.task import Task
from rnnlens.run.folder import run_at
from rnnlens.work.train_options import TrainOptions

DOCS = ROOT / "docs"
ELSEWHERE = ("gallery.md",)  # tests/test_gallery.py
RUN = ("sh", "console", "python")
PAGES = [
    path
    for path in sorted(DOCS.glob("*.md"))
    if path.name not in ELSEWHERE and blocks(path.read_text(encoding="utf-8"), *RUN)
]
LONG = (
    "compare.md", "corpus.md", "corpus-search.md", "laboratory.md", "own-model.md", "tasks.md",
)  # fmt: skip
SHORT = [path for path in PAGES if path.name not in LONG]
CORPUS = (DOCS / "corpus.md").read_text(encoding="utf-8")
TASKS = (DOCS / "tasks.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """What a reader has: a corpus and, of corpus.md, a file of colours."""
    with gzip.open(tmp_path / "news.conllu.gz", "wt", encoding="utf-8") as file:
        file.write(conllu(40))
    (tmp_path / "mine.json").write_text(blocks(CORPUS, "json")[0].text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def sessions(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    parts = re.split(r"^\$ (.+)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("page", sampled(PAGES, *SHORT), ids=lambda path: path.name)
def test_what_a_page_shows_works(page, folder, capsys):
    space: dict[str, object] = {}
    for language, text in blocks(page.read_text(encoding="utf-8"), *RUN):
        if named := re.match(r"# (\w+\.py)\n", text):
            (folder / named[1]).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, page.name, "exec"), space)
        elif language == "console":
            for command, printed in sessions(text):
                capsys.readouterr()
                main(shlex.split(command)[1:])
                seen = capsys.readouterr()
                assert seen.out + seen.err == printed, command
        else:
            for command in text.splitlines():
                if command.startswith(SERVERS):
                    run(command, folder)
                else:
                    assert main(shlex.split(command)[1:]) == 0, capsys.readouterr().err


def test_pages_are_found():
    shown = {"quick-start.md", "corpus.md", "notebook.md", "own-model.md"}
    assert {path.name for path in PAGES} >= shown


@pytest.mark.parametrize("name", [n for n in FORMATS["next"][1:] if n not in TABLES])
def test_the_sample_of_each_format_is_of_that_format(name, tmp_path):
    section = CORPUS.split(f": `{name}`\n")[1]
    path = tmp_path / "sample"
    path.write_text(blocks(section, "text")[0].text, encoding="utf-8")
    assert recognise(str(path)).format == name
    sentences = list(read(str(path)))
    assert sentences
    assert all(len(sentence.words) > 2 for sentence in sentences)
    assert all(bool(s.tags) is (name in ("conllu", "brackets")) for s in sentences)


@pytest.mark.parametrize(
    ("name", "task"), [(n, t) for t in ("tag", "classify") for n in FORMATS[t][1:]]
)
def test_the_sample_of_each_format_with_labels_is_of_that_format(name, task, tmp_path):
    if f": `{name}`\n" not in TASKS or name == "folders":
        return  # a format of texts too, or one of folders
    path = tmp_path / "sample"
    path.write_text(blocks(TASKS.split(f": `{name}`\n")[1], "text")[0].text, encoding="utf-8")
    assert recognise(str(path), task=task).format == name
    found = list(read(str(path), task=Task(task)))
    assert all(s.labels and len(s.labels) == len(s.words) > 3 for s in found)
    assert len({label for s in found for label in s.labels or ()}) > 1


def test_the_table_of_recipes_is_that_of_the_commands():
    rows = {line.split("|")[1].strip(): line for line in TASKS.splitlines() if line[:1] == "|"}
    for place, task in ((3, "tag"), (4, "classify")):
        flags = ["train", "corpus", "-o", "run", "--task", task]
        training = TrainOptions.of(vars(parser().parse_args(flags))).training
        names = {
            "epochs, batch, learning rate": ("epochs", "batch", "learning_rate"),
            "dropout of input, between layers, of output": (
                "dropout_input", "dropout_hidden", "dropout_output"
            ),
            "of words, of recurrent weights": ("dropout_words", "dropout_weight"),
            "`--unknown`": ("unknown",),
        }  # fmt: skip
        for row, fields in names.items():
            said = ", ".join(f"{getattr(training, name):g}" for name in fields)
            assert rows[row].split("|")[place].strip() == said


def test_the_tables_are_the_bundled_models():
    found = json.loads((run_at("english-news").path / "evaluation.json").read_text("utf-8"))
    real = {line for table in tables(found) for line in table.splitlines()}
    shown = blocks(CORPUS.split("## Measure\n")[1], "text")[:3]
    assert all(set(block.text.splitlines()) <= real for block in shown)


def test_what_is_read_beside_what_is_used_is_the_bundled_model_s():
    found = json.loads((run_at("english-news").path / "evaluation.json").read_text("utf-8"))
    probes = [probe for probe in found["probes"] if probe["semantic"] == "output"]
    section = (DOCS / "why.md").read_text("utf-8").split("## Read beside used\n")[1]
    lines = (line.strip("|").split("|") for line in section.splitlines() if line[:1] == "|")
    rows = {name.strip(): [one.strip() for one in told] for name, *told in lines}
    assert rows["kind"] == [probe["kind"] for probe in probes]
    names = {
        "used": "used", "gain, nats": "read", "towards another label": "shuffled",
        "swap": "interchange", "swap, another state": "interchange_shuffled",
        "erased, nats": "erased", "random directions": "erased_random",
    }  # fmt: skip
    for row, name in names.items():
        told = [f"{probe['used'][name]:z.2f}" for probe in probes]
        assert rows[row] == [re.sub(r"^(-?)0\.", r"\1.", one) for one in told]
