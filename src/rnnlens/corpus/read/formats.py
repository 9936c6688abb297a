"""Which reader reads what: by the name of a source, else by its content."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rnnlens.corpus.read.brackets import read_brackets
from rnnlens.corpus.read.conllu import FIELDS, read_conllu
from rnnlens.corpus.read.nltk import read_nltk
from rnnlens.corpus.read.source import files, head
from rnnlens.corpus.read.text import number_mark, read_raw, read_tokenised, tokenised
from rnnlens.corpus.sentence import Sentence
from rnnlens.errors import RnnlensError

Reader = Callable[[Path, str], Iterator[Sentence]]

READERS: dict[str, Reader] = {
    "text": read_tokenised,
    "raw": read_raw,
    "conllu": read_conllu,
    "brackets": read_brackets,
}
FORMATS = ("auto", *READERS)


class Recognition(NamedTuple):
    """The format of a source, `nltk` or a key of READERS, and why it is taken for that."""

    format: str
    reason: str


_ENDINGS = {"conllu": (".conllu",), "brackets": (".mrg",)}
_NLTK = "nltk:"
_TREE = re.compile(r"\s*\(\s*($|\(|[A-Z][^()\s]*\s*($|\())")  # ( (S ... or (S (NP ..., not (CNN)


def read(source: str, format: str = "auto", encoding: str = "utf-8") -> Iterator[Sentence]:
    """Every sentence of a file, a folder or `nltk:NAME`, as a stream."""
    if source.startswith(_NLTK):
        yield from read_nltk(source.removeprefix(_NLTK))
        return
    name = recognise(source, encoding).format if format == "auto" else format
    for path in _files(Path(source), name):
        yield from READERS[name](path, encoding)


def recognise(source: str, encoding: str = "utf-8") -> Recognition:
    """The format of a source, by its name and else by its content."""
    if source.startswith(_NLTK):
        return Recognition("nltk", "by its name")
    if not source:
        raise RnnlensError("the corpus has an empty name; give a file, a folder or nltk:NAME")
    path = Path(source)
    found = files(path)
    for name, endings in _ENDINGS.items():
        if any(p.name.removesuffix(".gz").endswith(endings) for p in found):
            return Recognition(name, "by its ending")
    return _by_content(_beginning(found[0], encoding))


def number_mark_of(source: str, encoding: str) -> str:
    """What stands for every number in tokenised text, if anything does."""
    return number_mark(_beginning(files(Path(source))[0], encoding))


def _beginning(path: Path, encoding: str) -> str:
    try:
        return head(path).decode(encoding, errors="ignore").removeprefix("\ufeff")
    except LookupError as error:
        raise RnnlensError(f"no encoding is called {encoding!r}; try utf-8") from error


def _by_content(text: str) -> Recognition:
    filled = [line for line in text.splitlines() if line.strip()]
    body = [line for line in filled if not line.startswith("#")]
    if body and len(body[0].split("\t")) == FIELDS:
        return Recognition("conllu", f"its lines have {FIELDS} fields")
    if body and _TREE.match(body[0]):
        return Recognition("brackets", "it begins with a tree")
    if reason := tokenised(text):
        return Recognition("text", f"a sentence a line, for {reason}")
    return Recognition("raw", "running text, for punctuation clings to words")


def _files(source: Path, name: str) -> list[Path]:
    # A treebank folder often holds a README beside the trees; a text folder's files are all text.
    found = files(source)
    endings = _ENDINGS.get(name, ())
    named = [p for p in found if p.name.removesuffix(".gz").endswith(endings)] if endings else []
    return named or found
