"""CoNLL-U, the format of Universal Dependencies."""

from collections.abc import Iterator
from pathlib import Path

from rnnlens.corpus.read.source import lines
from rnnlens.corpus.sentence import Sentence
from rnnlens.corpus.tags import universal
from rnnlens.errors import RnnlensError

FIELDS = 10


def read_conllu(path: Path, encoding: str) -> Iterator[Sentence]:
    """Words with their UPOS, or where that is missing the universal part of their XPOS.

    A multiword token is represented by its syntactic words; empty nodes are left out. A sentence
    without a single known tag is untagged.
    """
    words: list[str] = []
    tags: list[str | None] = []
    for number, line in enumerate(lines(path, encoding), 1):
        if not line.strip():
            if words:
                yield _sentence(words, tags)
                words, tags = [], []
            continue
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != FIELDS:
            raise RnnlensError(
                f"{path}, line {number}: CoNLL-U needs {FIELDS} fields separated by tabs, "
                f"this line has {len(fields)}; mend the line or give --format"
            )
        index, form, upos, xpos = fields[0], fields[1], fields[3], fields[4]
        if index.isdecimal():
            words.append(form)
            tags.append(universal(upos) or universal(xpos))
        elif not _is_range_or_empty(index):
            raise RnnlensError(
                f"{path}, line {number}: {index!r} is no word number (1, 1-2 or 1.1); mend the line"
            )
    if words:
        yield _sentence(words, tags)


def _sentence(words: list[str], tags: list[str | None]) -> Sentence:
    return Sentence(tuple(words), tuple(tag or "X" for tag in tags) if any(tags) else None)


def _is_range_or_empty(index: str) -> bool:
    first, _, last = index.replace(".", "-", 1).partition("-")
    return first.isdecimal() and last.isdecimal()
