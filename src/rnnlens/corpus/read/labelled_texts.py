"""Texts with one label each: tables, lines of JSON, folders and files that are named for labels."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.task import Task, column
from rnnlens.corpus.read.text_files import files, json_lines, lines

_USUAL = {"label", "labels", "class", "category", "sentiment", "text", "sentence", "review"}
_TEXT, _LABEL = "text", "label"  # what the columns are called, unless somebody says otherwise
FOLDERS = "folders"  # the format of folders or files that are named for labels
_SAMPLE = 200  # texts that tell whether words stand apart already


class _Row(NamedTuple):
    where: str  # for messages
    text: str
    label: str


def read_csv(path: Path, encoding: str, task: Task) -> Iterator[Sentence]:
    """A table with commas, some fields in quotes."""
    cells = csv.reader(f"{line}\n" for line in lines(path, encoding))
    return _sentences(_of_table(path, _parsed(path, cells), task), task)


def read_tsv(path: Path, encoding: str, task: Task) -> Iterator[Sentence]:
    """A table with tabs, in which quotes are just quotes."""
    cells = ((n, line.split("\t")) for n, line in enumerate(lines(path, encoding), 1))
    return _sentences(_of_table(path, cells, task), task)


def read_json_texts(path: Path, encoding: str, task: Task) -> Iterator[Sentence]:
    """An object a line."""
    return _sentences(_of_json(path, encoding, task), task)


def read_folders(folder: Path, encoding: str, task: Task) -> Iterator[Sentence]:
    """Files of a folder: each one text with the name of the folder within it where the file lies;
    or, where all lie in none, a text a line with the name of the file.
    """
    paths = files(folder)
    stray = set(left_out(folder, paths))
    paths = [path for path in paths if path not in stray]
    spread = paths[:: -(-len(paths) // _SAMPLE)]  # texts of all labels tell how words are split
    each = -(-_SAMPLE // len(spread))
    sample = [row for path in spread for row in islice(_of_file(path, folder, encoding), each)]
    rows = (row for path in paths for row in _of_file(path, folder, encoding))
    return _sentences(rows, task, sample)


def left_out(folder: Path, paths: Sequence[Path]) -> list[Path]:
    """The files of a folder that are no texts: beside folders, those that lie in none of them."""
    apart = [path for path in paths if path.parent == folder]
    return apart if len(apart) < len(paths) else []


def _of_file(path: Path, folder: Path, encoding: str) -> Iterator[_Row]:
    texts = lines(path, encoding)
    if path.parent != folder:
        yield _Row(str(path), " ".join(texts), path.parent.name)
        return
    label = path.name.partition(".")[0]
    yield from (_Row(str(path), line, label) for line in texts if line.strip())


def _parsed(path: Path, cells: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table with the number of the line where each ends."""
    try:
        for row in cells:
            yield cells.line_num, row
    except csv.Error as error:
        raise RnnlensError(
            f"{path}, line {cells.line_num}: it is no row of a table ({error}); mend it"
        ) from error


def _of_table(path: Path, cells: Iterator[tuple[int, list[str]]], task: Task) -> Iterator[_Row]:
    filled = ((number, row) for number, row in cells if any(cell.strip() for cell in row))
    first = next(filled, None)
    if first is None:
        return
    number, head = first
    names = _header(head, task)
    text_at, label_at = _places(names, len(head), task, f"{path}, line {number}")
    for at, row in filled if names else chain([first], filled):
        if len(row) != len(head):
            raise RnnlensError(
                f"{path}, line {at}: the first row has {len(head)} columns and this one "
                f"{len(row)}; mend it"
            )
        yield _Row(f"{path}, line {at}", row[text_at], row[label_at].strip())


def _header(head: list[str], task: Task) -> list[str] | None:
    """The names of the columns, where the first row has them."""
    names = [cell.strip() for cell in head]
    flags = [one for one in (task.text, task.label) if one]
    if len({one.isdecimal() for one in flags}) > 1:
        raise RnnlensError(
            f"--text-column {task.text!r} and --label-column {task.label!r} are a name and a "
            "number; give names of both where the first row has names, or else numbers of both"
        )
    is_named = any(not one.isdecimal() for one in flags)
    lower = {name.lower() for name in names}
    if is_named or {_TEXT, _LABEL} <= lower or (flags and lower & _USUAL):
        return names
    if lower & _USUAL:
        raise RnnlensError(
            f"the first row, {', '.join(names)[:80]}, looks like names of columns; say which has "
            "the text and which the label, by name or number: --text-column, --label-column"
        )
    return None


def _places(names: list[str] | None, width: int, task: Task, where: str) -> tuple[int, int]:
    """Where a row has its text and its label: `label<TAB>text` where nothing else is known."""
    text, label = task.text, task.label
    if names is None and not (text and label) and width != 2:
        raise RnnlensError(
            f"{where}: there are {width} columns; say which has the text and which the label, by "
            "name or number: --text-column, --label-column"
        )
    if names is None:
        label = label or ("2" if text == "1" else "1")
        text = text or ("1" if label == "2" else "2")
    at = column(text or _TEXT, names, width, "--text-column", where)
    other = column(label or _LABEL, names, width, "--label-column", where)
    if at == other:
        raise RnnlensError(f"{where}: text and label cannot be in the same column; give two")
    return at, other


def _of_json(path: Path, encoding: str, task: Task) -> Iterator[_Row]:
    sort: type | None = None
    for where, row in json_lines(path, encoding):
        text = _field(row, task.text or _TEXT, "--text-column", where)
        label = _field(row, task.label or _LABEL, "--label-column", where)
        text = " ".join(map(str, text)) if isinstance(text, list) else text
        if not isinstance(text, str):
            raise RnnlensError(
                f"{where}: the text is {type(text).__name__}; give a string of words"
            )
        if isinstance(label, dict | list | float):
            raise RnnlensError(
                f"{where}: the label is {str(label)[:40]}; give a name or a whole number"
            )
        sort = sort or type(label)
        if label is not None and type(label) is not sort:
            raise RnnlensError(
                f"{where}: the label {label!r} is {type(label).__name__}, and labels before it "
                f"are {sort.__name__}; mend one or the other"
            )
        yield _Row(where, text, "" if label is None else str(label).strip())


def _field(row: dict[str, Any], name: str, flag: str, where: str) -> Any:
    if name not in row:
        raise RnnlensError(
            f"{where}: there is no {name!r} for {flag}; there is {', '.join(row) or 'nothing'}"
        )
    return row[name]


def _sentences(rows: Iterator[_Row], task: Task, sample: Sequence[_Row] = ()) -> Iterator[Sentence]:
    """The words of every text with the text's label at each.

    The `sample`, or else the first texts, tell how words are split.
    """
    first = [] if sample else list(islice(rows, _SAMPLE))
    split = task.splitter(" ".join(row.text for row in sample or first))
    for row in chain(first, rows):
        if not row.label:
            raise RnnlensError(f"{row.where}: the text has no label; mend it or leave it out")
        words = tuple(split(row.text))
        yield Sentence(words, None, (row.label,) * len(words))
