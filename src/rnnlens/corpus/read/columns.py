"""A word a line with its labels in columns, as CoNLL-2000 and CoNLL-2003 have it."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.labels import Asked, column
from rnnlens.corpus.read.source import lines
from rnnlens.corpus.sentence import Sentence

_NAMES = "# global.columns ="  # the header of CoNLL-U Plus
_DOCUMENT = "-DOCSTART-"


class _Table(NamedTuple):
    """Where a file has its words and labels."""

    width: int
    word: int
    label: int

    @classmethod
    def of(cls, fields: list[str], names: list[str] | None, asked: Asked, where: str) -> "_Table":
        """As its first line and what is asked for say."""
        width = len(fields)
        word = column(asked.text or "1", names, width, "--text-column", where)
        label = column(asked.label or str(width), names, width, "--label-column", where)
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


def read_columns(path: Path, encoding: str, asked: Asked) -> Iterator[Sentence]:
    """The words of each sentence with a label each; a blank line ends a sentence.

    Columns are parted by tabs or else by blanks. By default the word is in the first and the label
    in the last.
    """
    for has_words, pairs in groupby(_pairs(path, encoding, asked), bool):
        if has_words:
            words, labels = zip(*(pair for pair in pairs if pair), strict=True)
            yield Sentence(words, None, labels)


def _pairs(path: Path, encoding: str, asked: Asked) -> Iterator[tuple[str, str] | None]:
    """Every word with its label; None between sentences."""
    names: list[str] | None = None
    table: _Table | None = None
    for number, line in enumerate(lines(path, encoding), 1):
        where = f"{path}, line {number}"
        fields = line.rstrip("\r ").split("\t") if "\t" in line else line.split()
        if line.startswith(_NAMES):
            names = line.removeprefix(_NAMES).split()
        elif not line.strip() or fields[0] == _DOCUMENT:
            yield None
        elif not (line.startswith("# ") and _is_comment(line.split(), fields, table)):
            table = table or _Table.of(fields, names, asked, where)
            yield table.pair(fields, where)


def _is_comment(parts: list[str], fields: list[str], table: _Table | None) -> bool:
    """Whether a line that begins with # is none of a word: the sign is one in some corpora."""
    told = parts[1:2] in (["sent_id"], ["text"], ["newdoc"], ["newpar"]) or "=" in parts[2:3]
    return told or table is None or len(fields) != table.width
