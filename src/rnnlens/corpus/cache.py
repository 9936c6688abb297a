"""What was read of a corpus is kept, so that the next command need not read it again.

A corpus of more than a few hundred thousand words has a folder of its own in the user's cache
(`$XDG_CACHE_HOME/rnnlens/corpora`, by default in `~/.cache`), named for where it is and how it is
read: the columns of its `Tokens`, about six bytes a word, and a manifest that is written last. It
is taken for the corpus only while every file of the corpus has the size and the times that it had,
the code that reads corpora is the same, and all columns have their SHA-256. What no command has
used for a month is removed when another corpus is kept, and the whole folder may be deleted at any
time.
"""

import hashlib
import json
import os
import shutil
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Name, Sha, Strict, read_json, sha256, write_json
from rnnlens.corpus.read.formats import is_of_nltk
from rnnlens.corpus.read.text_files import files
from rnnlens.corpus.storage import Shelf, cache_folder, clear_unfinished, mapped
from rnnlens.corpus.tokens import COLUMNS, ReadingConfig, Tokens

# A file can change twice within one tick of its clock: what has only just changed is not kept.
SETTLED = 2.0  # seconds
_UNUSED = 30 * 24 * 3600.0  # seconds
_MANIFEST = "manifest.json"
_DTYPES = {**COLUMNS, "forms": np.uint8, "ends": np.int64}

Read = tuple[str, Tokens]  # with what the format is called


@dataclass(frozen=True)
class _Manifest(Strict):
    """What manifest.json holds."""

    sources: Sha  # of the sizes and times of all files, and of the code
    format: Name
    hash: Sha
    short: Count
    label_names: tuple[Name, ...]
    columns: dict[Name, Sha]


class Stamp(NamedTuple):
    """What is known of the files of a corpus without reading them."""

    sha: str
    changed: float  # when one of them was changed last
    size: int  # bytes

    @classmethod
    def of(cls, sources: Iterable[str]) -> "Stamp | None":
        """None where that does not tell whether a corpus is still the same."""
        facts: list[object] = [_code()]
        changed, size = 0.0, 0
        for source in sources:
            if not source or is_of_nltk(source):
                return None
            try:
                paths = files(Path(source))
                for path, about in ((path, path.stat()) for path in paths):
                    times = about.st_mtime_ns, about.st_ctime_ns
                    facts.append((str(path), about.st_size, about.st_ino, *times))
                    changed = max(changed, *(t / 1e9 for t in times))
                    size += about.st_size
            except (RnnlensError, OSError):  # which reading it will say
                return None
        return cls(_sha(facts), changed, size)


@cache
def _code() -> str:
    """Identifies what readings depend on beside their corpus: the code that reads, NLTK."""
    sha = hashlib.sha256()
    here = Path(__file__).parent
    for folder in (here, here.parent / "labels"):
        for path in sorted(folder.rglob("*.py")):
            sha.update(path.read_bytes())
    try:
        nltk = version("nltk")
    except PackageNotFoundError:  # which corpora that are split already do not need
        nltk = ""
    return f"{sha.hexdigest()} {nltk} {unicodedata.unidata_version}"


def _sha(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def cached(
    source: str, config: ReadingConfig, lowercase: bool, read: Callable[[Shelf], Read]
) -> Read:
    """What an earlier command has kept of a corpus, or what `read` puts onto a shelf."""
    sources = config.sources(source)
    began, root, stamp = time.time(), cache_folder(), Stamp.of(sources)
    if not root or not stamp:
        with Shelf() as shelf:
            return read(shelf)
    folder = _place(root, sources, config, lowercase)
    if known := _opened(folder, stamp):
        return known
    with Shelf() as shelf:
        format_, tokens = read(shelf)
        if stamp.changed < began - SETTLED and Stamp.of(sources) == stamp:
            _keep(shelf, folder, stamp, format_, tokens)
        return format_, tokens


def is_kept(source: str, config: ReadingConfig, lowercase: bool, stamp: Stamp) -> bool:
    """Whether an earlier command has kept a corpus; that it is whole is seen when it is opened."""
    root = cache_folder()
    if not root:
        return False
    try:
        folder = _place(root, config.sources(source), config, lowercase)
        return read_json(folder / _MANIFEST, _Manifest).sources == stamp.sha
    except RnnlensError:
        return False


def _place(root: Path, sources: Sequence[str], config: ReadingConfig, lowercase: bool) -> Path:
    """The folder of a corpus that is read so."""
    # Whatever decides how words are split and numbered, and nothing of what is made of them later.
    task = config.reader_task[:3]  # its name and columns
    how = config.format, config.encoding, config.swelling, config.numbers, task, lowercase
    where = [os.path.abspath(one) for one in sources], how  # noqa: PTH100 - links stay as they are
    return root / _sha(where)[:32]


def _opened(folder: Path, stamp: Stamp) -> Read | None:
    """What is kept in a folder, if it is whole and the corpus is still the same."""
    path = folder / _MANIFEST
    try:
        manifest = read_json(path, _Manifest)
        if manifest.sources != stamp.sha or manifest.columns.keys() != _DTYPES.keys():
            return None
        if any(sha256(folder / name) != sha for name, sha in manifest.columns.items()):
            return None
        arrays = {name: mapped(folder / name, np.dtype(t)) for name, t in _DTYPES.items()}
    except (RnnlensError, OSError):  # there is none, or another command is replacing it
        return None
    with suppress(OSError):
        os.utime(path)  # it is in use
    tokens = Tokens.of(arrays, manifest.short, manifest.label_names, manifest.hash)
    return manifest.format, tokens


def _keep(shelf: Shelf, folder: Path, stamp: Stamp, format: str, tokens: Tokens) -> None:
    """Have a shelf stay for the next command, if it is large enough to be worth it."""
    if shelf.folder is None:
        return
    clear_unfinished(folder.parent)
    _clear_unused(folder.parent)
    columns = {name: sha256(shelf.folder / name) for name in shelf.columns}
    manifest = _Manifest(stamp.sha, format, tokens.hash, tokens.short, tokens.label_names, columns)
    write_json(shelf.folder / _MANIFEST, asdict(manifest))
    shelf.keep(folder)


def _clear_unused(root: Path) -> None:
    """Remove what no command has used for long."""
    for path in root.glob(f"*/{_MANIFEST}"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - _UNUSED:
                shutil.rmtree(path.parent)
