"""Corpora of records: JSON lines, Parquet, and the folders that Hugging Face `datasets` saves.

A record has its words, with their tags perhaps, or a text. Nothing is downloaded, and `datasets`
is not needed: its files are Arrow's.
"""

from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.plain_text import SAMPLE, running, tokenised
from rnnlens.corpus.read.text_files import json_lines
from rnnlens.labels.parts_of_speech import universal

_WORDS = ("words", "tokens", "form")
_TAGS = ("tags", "upos", "pos", "pos_tags")
_TEXT = ("text", "sentence", "content")
_FIRST = 500  # texts that tell how texts are split
_ROWS = 4096  # of a table that are held at once

Record = tuple[str, dict[str, Any]]  # and where it stands


def read_jsonl(path: Path, encoding: str) -> Iterator[Sentence]:
    """A JSON object on each line."""
    return _sentences(json_lines(path, encoding))


def read_parquet(path: Path, encoding: str) -> Iterator[Sentence]:  # noqa: ARG001 - it is UTF-8
    """The rows of a Parquet file."""
    arrow = _arrow()
    try:
        file = arrow.parquet.ParquetFile(path)
        names = [name for name in file.schema_arrow.names if name in (*_WORDS, *_TAGS, *_TEXT)]
        batches = file.iter_batches(_ROWS, columns=names)
        yield from _sentences(_rows(path, batches))
    except (arrow.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def read_arrow(path: Path, encoding: str) -> Iterator[Sentence]:  # noqa: ARG001 - it is UTF-8
    """The rows of an Arrow file, as `datasets` saves them: a stream."""
    arrow = _arrow()
    try:
        with arrow.memory_map(str(path)) as source:
            try:
                batches = iter(arrow.ipc.open_stream(source))
            except arrow.ArrowInvalid:
                file = arrow.ipc.open_file(source)
                batches = (file.get_batch(k) for k in range(file.num_record_batches))
            yield from _sentences(_rows(path, batches))
    except (arrow.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _rows(path: Path, batches: Iterator[Any]) -> Iterator[Record]:
    number = 0
    for batch in batches:
        names = [name for name in batch.schema.names if name in (*_WORDS, *_TAGS, *_TEXT)]
        for part in range(0, len(batch), _ROWS):
            for row in batch.select(names).slice(part, _ROWS).to_pylist():
                number += 1
                yield f"{path}, row {number}", row


def _sentences(records: Iterator[Record]) -> Iterator[Sentence]:
    """The sentences of records; the first texts tell how all of them are split."""
    head = list(islice(records, _FIRST))
    texts = [text for _, record in head if (text := _text(record))]
    split = _splitter(texts)
    for where, record in chain(head, records):
        if text := _text(record):
            yield from split(text)
        elif (words := _listed(record, _WORDS)) is not None:
            yield Sentence(words, _tags(record, len(words)))
        elif not any(name in record for name in (*_WORDS, *_TEXT)):
            there = ", ".join(map(str, record)) or "nothing"
            raise RnnlensError(
                f"{where}: a record needs {' or '.join(_WORDS[:2])} (a list of words), or "
                f"{' or '.join(_TEXT[:2])}; it has {there[:100]}"
            )


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


def _arrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise RnnlensError(
            "corpora in Parquet and Arrow need pyarrow; install it: pip install 'rnnlens[index]'"
        ) from error
    return pa


def _damaged(path: Path, error: Exception) -> RnnlensError:
    reason = " ".join(str(error).split())[:200]
    return RnnlensError(f"cannot read {path} ({reason}); is the file whole?")
