"""The reader for each source: chosen by the source's name, or else by its content."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.brackets import read_brackets
from rnnlens.corpus.read.conll import FIELDS, read_columns, read_conllu
from rnnlens.corpus.read.labelled_texts import (
    FOLDERS,
    left_out,
    read_csv,
    read_folders,
    read_json_texts,
    read_tsv,
)
from rnnlens.corpus.read.nltk import read_nltk
from rnnlens.corpus.read.plain_text import number_mark, read_raw, read_tokenised, tokenised
from rnnlens.corpus.read.records import read_arrow, read_jsonl, read_parquet
from rnnlens.corpus.read.task import CLASSIFY, NEXT, TAG, TASKS, WORDS, Task
from rnnlens.corpus.read.text_files import check_swelling, codec, files, head, json_object

Reader = Callable[[Path, str, Task], Iterator[Sentence]]

READERS: dict[str, Reader] = {
    "text": lambda path, encoding, _: read_tokenised(path, encoding),
    "raw": lambda path, encoding, _: read_raw(path, encoding),
    "conllu": read_conllu,
    "brackets": read_brackets,
    "columns": read_columns,
    "tsv": read_tsv,
    "csv": read_csv,
    "jsonl": lambda path, encoding, task: (
        read_json_texts(path, encoding, task)
        if task.name == CLASSIFY
        else read_jsonl(path, encoding)
    ),
    FOLDERS: read_folders,
}
TABLES: dict[str, Callable[[Path, int], Iterator[Sentence]]] = {  # which are no text
    "parquet": read_parquet,
    "arrow": read_arrow,
}
FORMATS = {  # of each task
    NEXT: ("auto", "text", "raw", "conllu", "brackets", "jsonl", *TABLES),
    TAG: ("auto", "conllu", "brackets", "columns"),
    CLASSIFY: ("auto", "tsv", "csv", "jsonl", FOLDERS),
}
SWELLING = 100  # text swells to three to ten times its size


class Recognition(NamedTuple):
    """The format of a source, `nltk` or one of FORMATS, and how it is recognised."""

    format: str
    reason: str


_ENDINGS = {
    "conllu": ".conllu", "brackets": ".mrg", "jsonl": ".jsonl", "parquet": ".parquet",
    "arrow": ".arrow", "tsv": ".tsv", "csv": ".csv",
}  # fmt: skip
_NLTK = "nltk:"
_TREE = re.compile(r"\s*\(\s*($|\(|[A-Z][^()\s]*\s*($|\())")  # ( (S ... or (S (NP ..., not (CNN)


def check_format(format: str, task: str) -> None:
    """Refuse a task that there is not, or a format that is not of the task."""
    if task not in TASKS:
        raise RnnlensError(f"no task is called {task!r}; choose {', '.join(TASKS)}")
    formats = ", ".join(FORMATS[task])
    if format != "auto" and format not in READERS | TABLES:
        raise RnnlensError(f"no format is called {format!r}; choose {formats}")
    if format not in FORMATS[task]:
        raise RnnlensError(f"--format {format} is not for --task {task}; choose {formats}")


def is_of_nltk(source: str) -> bool:
    """Whether a source is the name of a corpus of NLTK, and no path."""
    return source.startswith(_NLTK)


def read(
    source: str,
    format: str = "auto",
    encoding: str = "utf-8",
    swelling: int = SWELLING,
    task: Task = WORDS,
) -> Iterator[Sentence]:
    """Every sentence of a file, a folder or `nltk:NAME`, as a stream, with the labels asked for.

    A gzipped file may be `swelling` times as large unzipped, and so may the texts of a table.
    """
    if is_of_nltk(source):
        yield from read_nltk(source.removeprefix(_NLTK), task)
        return
    name = recognise(source, encoding, task.name).format if format == "auto" else format
    paths = files(Path(source))
    # A treebank folder often holds a README beside the trees; a text folder's files are all text.
    for path in _with_ending(paths, name) or paths:
        check_swelling(path, swelling)
        if name in TABLES:
            yield from TABLES[name](path, swelling)
        elif name != FOLDERS:
            yield from READERS[name](path, encoding, task)
    if name == FOLDERS:
        yield from read_folders(Path(source), encoding, task)


def recognise(source: str, encoding: str = "utf-8", task: str = NEXT) -> Recognition:
    """The format of a source, recognised by its name or else by its content."""
    if is_of_nltk(source):
        return Recognition("nltk", "by its name")
    if not source:
        raise RnnlensError("the corpus has an empty name; give a file, a folder or nltk:NAME")
    paths = files(Path(source))
    if task == CLASSIFY and Path(source).is_dir():
        tables = [path.name for path in paths if {".csv", ".tsv", ".jsonl"} & {*path.suffixes}]
        if tables:
            raise RnnlensError(
                f"{source} is a folder with tables such as {tables[0]}; give a file, and others by "
                "--valid and --test"
            )
        names = [path.name for path in left_out(Path(source), paths)]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        note = f"; left out, beside its folders: {names[0]}{more}" if names else ""
        return Recognition(FOLDERS, f"by its being a folder{note}")
    for name in _ENDINGS:
        if name in FORMATS[task] and _with_ending(paths, name):
            return Recognition(name, "by its ending")
    beginning = _beginning(paths[0], encoding)
    return _of_texts(source, beginning) if task == CLASSIFY else _by_content(beginning, task)


def number_mark_of(source: str, encoding: str) -> str:
    """What stands for every number in tokenised text, if anything does."""
    return number_mark(_beginning(files(Path(source))[0], encoding))


def _beginning(path: Path, encoding: str) -> str:
    return head(path).decode(codec(encoding), errors="ignore").removeprefix("\ufeff")


def _of_texts(source: str, text: str) -> Recognition:
    first = next((line for line in text.splitlines() if line.strip()), "")
    if first.lstrip().startswith("{"):
        return Recognition("jsonl", "it begins with an object")
    if "\t" in first:
        return Recognition("tsv", "its first line has a tab")
    if "," in first:
        return Recognition("csv", "its first line has a comma")
    raise RnnlensError(
        f"{source} has no columns of labels and texts; give label<TAB>text, CSV, lines of JSON, or "
        "a folder whose folders or files are named for labels"
    )


def _by_content(text: str, task: str) -> Recognition:
    filled = [line for line in text.splitlines() if line.strip()]
    body = [line for line in filled if not line.startswith("#")]
    if body and len(body[0].split("\t")) == FIELDS:
        return Recognition("conllu", f"its lines have {FIELDS} fields")
    if task == NEXT and body and json_object(body[0]):
        return Recognition("jsonl", "its lines are JSON objects")
    if body and _TREE.match(body[0]):
        return Recognition("brackets", "it begins with a tree")
    if task == TAG:
        return Recognition("columns", "a word a line")
    if reason := tokenised(text):
        return Recognition("text", f"a sentence a line, for {reason}")
    return Recognition("raw", "running text, for punctuation clings to words")


def _with_ending(paths: list[Path], format: str) -> list[Path]:
    """The files whose names have the ending of a format."""
    ending = _ENDINGS.get(format)
    return [p for p in paths if ending and p.name.removesuffix(".gz").endswith(ending)]
