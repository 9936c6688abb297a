"""The reader for each source: chosen by the source's name, or else by its content."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rnnlens.corpus.read.brackets import read_brackets
from rnnlens.corpus.read.conllu import FIELDS, read_conllu
from rnnlens.corpus.read.nltk import read_nltk
from rnnlens.corpus.read.records import is_record, read_arrow, read_jsonl, read_parquet
from rnnlens.corpus.read.source import check_swelling, codec, files, head
from rnnlens.corpus.read.text import number_mark, read_raw, read_tokenised, tokenised
from rnnlens.corpus.sentence import Sentence
from rnnlens.errors import RnnlensError

Reader = Callable[[Path, str], Iterator[Sentence]]

READERS: dict[str, Reader] = {
    "text": read_tokenised,
    "raw": read_raw,
    "conllu": read_conllu,
    "brackets": read_brackets,
    "jsonl": read_jsonl,
}
TABLES: dict[str, Reader] = {"parquet": read_parquet, "arrow": read_arrow}  # which are no text
FORMATS = ("auto", *READERS, *TABLES)
SWELLING = 100  # text swells to three to ten times its size


class Recognition(NamedTuple):
    """The format of a source, `nltk` or one of FORMATS, and how it is recognised."""

    format: str
    reason: str


_ENDINGS = {
    "conllu": ".conllu", "brackets": ".mrg", "jsonl": ".jsonl", "parquet": ".parquet",
    "arrow": ".arrow",
}  # fmt: skip
_NLTK = "nltk:"
_TREE = re.compile(r"\s*\(\s*($|\(|[A-Z][^()\s]*\s*($|\())")  # ( (S ... or (S (NP ..., not (CNN)


def read(
    source: str, format: str = "auto", encoding: str = "utf-8", swelling: int = SWELLING
) -> Iterator[Sentence]:
    """Every sentence of a file, a folder or `nltk:NAME`, as a stream.

    A gzipped file may be `swelling` times as large unzipped.
    """
    if source.startswith(_NLTK):
        yield from read_nltk(source.removeprefix(_NLTK))
        return
    name = recognise(source, encoding).format if format == "auto" else format
    paths = files(Path(source))
    # A treebank folder often holds a README beside the trees; a text folder's files are all text.
    for path in _with_ending(paths, name) or paths:
        check_swelling(path, swelling)
        yield from (READERS | TABLES)[name](path, encoding)


def recognise(source: str, encoding: str = "utf-8") -> Recognition:
    """The format of a source, recognised by its name or else by its content."""
    if source.startswith(_NLTK):
        return Recognition("nltk", "by its name")
    if not source:
        raise RnnlensError("the corpus has an empty name; give a file, a folder or nltk:NAME")
    paths = files(Path(source))
    for name in _ENDINGS:
        if _with_ending(paths, name):
            return Recognition(name, "by its ending")
    return _by_content(_beginning(paths[0], encoding))


def number_mark_of(source: str, encoding: str) -> str:
    """What stands for every number in tokenised text, if anything does."""
    return number_mark(_beginning(files(Path(source))[0], encoding))


def _beginning(path: Path, encoding: str) -> str:
    return head(path).decode(codec(encoding), errors="ignore").removeprefix("\ufeff")


def _by_content(text: str) -> Recognition:
    filled = [line for line in text.splitlines() if line.strip()]
    body = [line for line in filled if not line.startswith("#")]
    if body and len(body[0].split("\t")) == FIELDS:
        return Recognition("conllu", f"its lines have {FIELDS} fields")
    if body and is_record(body[0]):
        return Recognition("jsonl", "its lines are JSON objects")
    if body and _TREE.match(body[0]):
        return Recognition("brackets", "it begins with a tree")
    if reason := tokenised(text):
        return Recognition("text", f"a sentence a line, for {reason}")
    return Recognition("raw", "running text, for punctuation clings to words")


def _with_ending(paths: list[Path], format: str) -> list[Path]:
    """The files whose names have the ending of a format."""
    ending = _ENDINGS.get(format)
    return [p for p in paths if ending and p.name.removesuffix(".gz").endswith(ending)]
