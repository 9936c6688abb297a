"""A word a line: CoNLL-U, the format of Universal Dependencies, and words with labels in columns,
as CoNLL-2000 and CoNLL-2003 have them.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.task import TAG, WORDS, Task, column
from rnnlens.corpus.read.text_files import lines
from rnnlens.labels.parts_of_speech import universal

_NAMES = "id form lemma upos xpos feats head deprel deps misc".split()
FIELDS = len(_NAMES)
_HEADER = "# global.columns ="  # the header of CoNLL-U Plus
_DOCUMENT = "-DOCSTART-"


def read_conllu(path: Path, encoding: str, task: Task = WORDS) -> Iterator[Sentence]:
    """Words with their UPOS, or where that is missing the universal part of their XPOS.

    A multiword token is represented by its syntactic words; empty nodes are left out. A sentence
    without a single known tag is untagged. Labels are UPOS too, unless another field is asked for.
    """
    words: list[str] = []
    tags: list[str | None] = []
    labels: list[str] | None = [] if task.name == TAG else None
    form_at, label_at = (
        column(name, _NAMES, FIELDS, flag, str(path))
        for name, flag in (
            (task.text or "form", "--text-column"), (task.label or "upos", "--label-column")
        )
    )  # fmt: skip
    for number, line in enumerate(lines(path, encoding), 1):
        if not line.strip():
            if words:
                yield _sentence(words, tags, labels)
                words, tags, labels = [], [], None if labels is None else []
            continue
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != FIELDS:
            raise RnnlensError(
                f"{path}, line {number}: CoNLL-U needs {FIELDS} fields separated by tabs, "
                f"this line has {len(fields)}; mend the line or give --format"
            )
        index, form, upos, xpos = fields[0], fields[form_at], fields[3], fields[4]
        if index.isdecimal():
            words.append(form)
            tags.append(universal(upos) or universal(xpos))
            if labels is not None:
                labels.append(_label(fields[label_at], f"{path}, line {number}: {form!r}"))
        elif not _is_range_or_empty(index):
            raise RnnlensError(
                f"{path}, line {number}: {index!r} is no word number (1, 1-2 or 1.1); mend the line"
            )
    if words:
        yield _sentence(words, tags, labels)


def _sentence(words: list[str], tags: list[str | None], labels: list[str] | None) -> Sentence:
    parts = tuple(tag or "X" for tag in tags) if any(tags) else None
    return Sentence(tuple(words), parts, None if labels is None else tuple(labels))


def _label(field: str, where: str) -> str:
    """The label in a field; an underscore stands for nothing."""
    if field in ("", "_"):
        raise RnnlensError(f"{where} has no label; mend the line or give another --label-column")
    return field


def _is_range_or_empty(index: str) -> bool:
    first, _, last = index.replace(".", "-", 1).partition("-")
    return first.isdecimal() and last.isdecimal()


class _Table(NamedTuple):
    """Where a file has its words and labels."""

    width: int
    word: int
    label: int

    @classmethod
    def of(cls, fields: list[str], names: list[str] | None, task: Task, where: str) -> "_Table":
        """As its first line and what is asked for say."""
        width = len(fields)
        word = column(task.text or "1", names, width, "--text-column", where)
        label = column(task.label or str(width), names, width, "--label-column", where)
        if word == label:
            raise RnnlensError(
                f"{where}: column {word + 1} of {width} cannot hold both words and labels; give "
                "a file of words with labels, or other columns"
            )
        return cls(width, word, label)

    def pair(self, fields: list[str], where: str) -> tuple[str, str]:
        """The word of a line and its label."""
        if len(fields) != self.width:
            raise RnnlensError(
                f"{where}: the first word has {self.width} columns and this one {len(fields)}; "
                "mend the line or give --format"
            )
        if not fields[self.label]:
            raise RnnlensError(f"{where}: {fields[self.word]!r} has no label; mend the line")
        return fields[self.word], fields[self.label]


def read_columns(path: Path, encoding: str, task: Task) -> Iterator[Sentence]:
    """The words of each sentence with a label each; a blank line ends a sentence.

    Columns are parted by tabs or else by blanks. By default the word is in the first and the label
    in the last.
    """
    for has_words, pairs in groupby(_pairs(path, encoding, task), bool):
        if has_words:
            words, labels = zip(*(pair for pair in pairs if pair), strict=True)
            yield Sentence(words, None, labels)


def _pairs(path: Path, encoding: str, task: Task) -> Iterator[tuple[str, str] | None]:
    """Every word with its label; None between sentences."""
    names: list[str] | None = None
    table: _Table | None = None
    for number, line in enumerate(lines(path, encoding), 1):
        where = f"{path}, line {number}"
        fields = line.rstrip("\r ").split("\t") if "\t" in line else line.split()
        if line.startswith(_HEADER):
            names = line.removeprefix(_HEADER).split()
        elif not line.strip() or fields[0] == _DOCUMENT:
            yield None
        elif not (line.startswith("# ") and _is_comment(line.split(), fields, table)):
            table = table or _Table.of(fields, names, task, where)
            yield table.pair(fields, where)


def _is_comment(parts: list[str], fields: list[str], table: _Table | None) -> bool:
    """Whether a line that begins with # is none of a word: the sign is one in some corpora."""
    is_known = parts[1:2] in (["sent_id"], ["text"], ["newdoc"], ["newpar"]) or "=" in parts[2:3]
    return is_known or table is None or len(fields) != table.width
