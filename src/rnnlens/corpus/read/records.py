"""Corpora of records: JSON lines, Parquet, and the folders that Hugging Face `datasets` saves.

A record has its words, with their tags perhaps, or a text. Nothing is downloaded, and `datasets`
is not needed: its files are Arrow's.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence, table_rows
from rnnlens.corpus.read.plain_text import SAMPLE, cut, running, tokenised
from rnnlens.corpus.read.text_files import json_lines, largest, swollen
from rnnlens.labels.parts_of_speech import universal

_WORDS = ("words", "tokens", "form")
_TAGS = ("tags", "upos", "pos", "pos_tags")
_TEXT = ("text", "sentence", "content")
_FIRST = 500  # texts that tell how texts are split
_MEMORY = 1 << 29  # bytes that reading a table may take, beside what its texts may take

Record = tuple[str, dict[str, Any]]  # and where it stands


def read_jsonl(path: Path, encoding: str) -> Iterator[Sentence]:
    """A JSON object on each line."""
    return _sentences(json_lines(path, encoding))


def read_parquet(path: Path, swelling: int) -> Iterator[Sentence]:
    """The rows of a Parquet file."""
    return _sentences(_rows(path, "parquet", swelling))


def read_arrow(path: Path, swelling: int) -> Iterator[Sentence]:
    """The rows of an Arrow file, as `datasets` saves them: a stream."""
    return _sentences(_rows(path, "arrow", swelling))


def _rows(path: Path, format: str, swelling: int) -> Iterator[Record]:
    """The rows of a table, which a process of its own reads: what is spoilt may end that one, or
    have it take more memory than it is given.
    """
    most = largest(path, swelling)
    words = [path.resolve(), format, ",".join((*_WORDS, *_TAGS, *_TEXT)), most, _MEMORY + 4 * most]
    ended: list[Any] = []
    with subprocess.Popen(  # noqa: S603 - a program of ours; the path is an argument
        [sys.executable, "-P", table_rows.__file__, *map(str, words)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as reader:  # fmt: skip
        try:
            for number, line in enumerate(reader.stdout or (), 1):
                row = json.loads(line)
                if isinstance(row, list):
                    ended = row
                else:
                    yield f"{path}, row {number}", row
        finally:
            reader.kill()
    _check_end(path, most, ended)


def _check_end(path: Path, most: int, ended: list[Any]) -> None:
    """Raise the error that the reader of a table ended with, if any."""
    match ended:
        case [table_rows.END]:
            return
        case [table_rows.NO_LIBRARY]:
            raise RnnlensError(
                "corpora in Parquet and Arrow need pyarrow; install it: pip install "
                "'rnnlens[index]'"
            )
        case [table_rows.SWOLLEN]:
            raise swollen(path, most, "holds")
        case [table_rows.NOT_UTF8, row]:
            raise RnnlensError(f"{path}, row {row}: its text is no UTF-8; write the file anew")
        case [table_rows.DAMAGED, reason]:
            raise RnnlensError(f"cannot read {path} ({reason}); is the file whole?")
        case _:
            raise RnnlensError(
                f"cannot read {path} (what it holds ended the process that read it); is the file "
                "whole?"
            )


def _sentences(records: Iterator[Record]) -> Iterator[Sentence]:
    """The sentences of records; the first texts tell how all of them are split."""
    head = list(islice(records, _FIRST))
    texts = [text for _, record in head if (text := _text(record))]
    split = _splitter(texts)
    for where, record in chain(head, records):
        if text := _text(record):
            yield from _split(text, split, where)
        elif (words := _listed(record, _WORDS)) is not None:
            yield Sentence(words, _tags(record, len(words)))
        elif not any(name in record for name in (*_WORDS, *_TEXT)):
            there = ", ".join(map(str, record)) or "nothing"
            raise RnnlensError(
                f"{where}: a record needs {' or '.join(_WORDS[:2])} (a list of words), or "
                f"{' or '.join(_TEXT[:2])}; it has {there[:100]}"
            )


def _split(text: str, split: Callable[[str], Iterator[Sentence]], where: str) -> Iterator[Sentence]:
    """The sentences of a text; one of a million letters and more is split in pieces."""
    try:
        for piece in cut(text) if len(text) > SAMPLE else [text]:
            yield from split(piece)
    except TimeoutError as error:  # NLTK gives up on what is no language
        raise RnnlensError(
            f"{where}: its text is not split into sentences in reasonable time; is it text?"
        ) from error


def _splitter(texts: list[str]) -> Callable[[str], Iterator[Sentence]]:
    """Texts in which punctuation stands apart have a sentence a line; others are running text."""
    if texts and not tokenised("\n".join(texts)):
        return running(texts[:: 1 + sum(map(len, texts)) // SAMPLE])
    return _lines


def _lines(text: str) -> Iterator[Sentence]:
    return (Sentence(tuple(words)) for line in text.splitlines() if (words := line.split()))


def _text(record: dict[str, Any]) -> str:
    """The text of a record; empty where it has words or none."""
    if _listed(record, _WORDS) is not None:
        return ""
    return next((text for name in _TEXT if isinstance(text := record.get(name), str)), "")


def _listed(record: dict[str, Any], names: tuple[str, ...]) -> tuple[str, ...] | None:
    """The first of some fields that is a list of texts."""
    for name in names:
        values = record.get(name)
        if isinstance(values, list) and all(isinstance(value, str) for value in values):
            return tuple(values)
    return None


def _tags(record: dict[str, Any], count: int) -> tuple[str, ...] | None:
    """The universal part of speech of each word, where they are given by name."""
    tags = [universal(tag) for tag in _listed(record, _TAGS) or ()]
    return tuple(tag or "X" for tag in tags) if len(tags) == count and any(tags) else None
