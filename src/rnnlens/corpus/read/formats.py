"""Which reader reads what: by the name of a source, else by its content."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from rnnlens.corpus.read.brackets import read_brackets
from rnnlens.corpus.read.conllu import FIELDS, read_conllu
from rnnlens.corpus.read.nltk import read_nltk
from rnnlens.corpus.read.source import files, head
from rnnlens.corpus.read.text import looks_tokenised, read_raw, read_tokenised
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

_ENDINGS = {"conllu": (".conllu",), "brackets": (".mrg",)}
_NLTK = "nltk:"
_TREE = re.compile(r"\s*\(\s*($|\(|[A-Z][^()\s]*\s*($|\())")  # ( (S ... or (S (NP ..., not (CNN)


def read(source: str, format: str = "auto", encoding: str = "utf-8") -> Iterator[Sentence]:
    """Every sentence of a file, a folder or `nltk:NAME`, as a stream."""
    if source.startswith(_NLTK):
        yield from read_nltk(source.removeprefix(_NLTK))
        return
    name = recognise(source, encoding) if format == "auto" else format
    for path in _files(Path(source), name):
        yield from READERS[name](path, encoding)


def recognise(source: str, encoding: str = "utf-8") -> str:
    """The format of a source: `nltk`, or a key of READERS."""
    if source.startswith(_NLTK):
        return "nltk"
    if not source:
        raise RnnlensError("the corpus has an empty name; give a file, a folder or nltk:NAME")
    path = Path(source)
    found = files(path)
    for name, endings in _ENDINGS.items():
        if any(p.name.removesuffix(".gz").endswith(endings) for p in found):
            return name
    return _by_content(found[0], encoding)


def _by_content(path: Path, encoding: str) -> str:
    try:
        text = head(path).decode(encoding, errors="ignore").removeprefix("\ufeff")
    except LookupError as error:
        raise RnnlensError(f"no encoding is called {encoding!r}; try utf-8") from error
    filled = [line for line in text.splitlines() if line.strip()]
    body = [line for line in filled if not line.startswith("#")]
    if body and len(body[0].split("\t")) == FIELDS:
        return "conllu"
    if body and _TREE.match(body[0]):
        return "brackets"
    return "text" if looks_tokenised(text) else "raw"


def _files(source: Path, name: str) -> list[Path]:
    # A treebank folder often holds a README beside the trees; a text folder's files are all text.
    found = files(source)
    endings = _ENDINGS.get(name, ())
    named = [p for p in found if p.name.removesuffix(".gz").endswith(endings)] if endings else []
    return named or found
