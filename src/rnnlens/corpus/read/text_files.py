"""Text files, plain or gzipped, read line by line with errors a person can act on."""

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rnnlens.base.errors import RnnlensError

_GZIP_MAGIC = b"\x1f\x8b"
_MARKS = {  # of byte order; that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_DEFLATE = 1032  # times that anything can swell
_SMALL = 64 << 20  # bytes that may be made of any file
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a character that JSON writes in two
_NOT_OF_FILES = ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape")


def files(source: Path) -> list[Path]:
    """The files of a source: itself, or every file of a folder in order of name."""
    try:
        if not source.exists():
            raise RnnlensError(f"no corpus at {source}; give a file, a folder or nltk:NAME")
        if source.is_file():
            return [source]
        if not source.is_dir():
            raise RnnlensError(f"{source} is no regular file; save what it gives to a file first")
        paths = sorted(p for p in source.rglob("*") if p.is_file() and not p.name.startswith("."))
    except OSError as error:
        raise _unreadable(source, error) from error
    if not paths:
        raise RnnlensError(f"the folder {source} holds no file; give another corpus")
    return paths


def head(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, unzipped."""
    try:
        with _open(path) as file:
            return file.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a text file without their ends, a byte-order mark dropped."""
    wide = codec(encoding).startswith(("utf-16", "utf-32"))
    if not wide and b"\0" in (begin := head(path)):
        for mark, name in _MARKS.items():
            if begin.startswith(mark):
                raise RnnlensError(f"{path} begins as {name} does; give --encoding {name}")
        raise RnnlensError(f"{path} is a binary file, not text; give a text corpus")
    number = 0
    try:
        with _open(path) as raw, io.TextIOWrapper(raw, encoding=encoding, newline=None) as text:
            for number, line in enumerate(text, 1):
                yield (line.removeprefix("\ufeff") if number == 1 else line).rstrip("\n")
    except UnicodeError as error:
        hint = "another --encoding" if "8" not in encoding else "--encoding latin-1 or cp1252"
        raise RnnlensError(
            f"{path} is not {encoding} (after line {number}: {error}); try {hint}"
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def json_lines(path: Path, encoding: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file that has one on each line, each with where it stands."""
    for number, line in enumerate(lines(path, encoding), 1):
        if line.strip():
            where = f"{path}, line {number}"
            if (record := json_object(line)) is None:
                raise RnnlensError(
                    f"{where}: {line.strip()[:40]!r} is no JSON object; mend the line or give "
                    "--format"
                )
            if _HALF.search(line) and not _is_whole(record):
                raise RnnlensError(
                    f"{where}: it has half of a character, such as \\ud83d without the other; mend "
                    "the line"
                )
            yield where, record


def _is_whole(value: object) -> bool:
    """Whether all texts of a JSON value are text: no half of a character that takes two."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def json_object(line: str) -> dict[str, Any] | None:
    """The JSON object that a line holds; None where it holds none."""
    try:
        value = json.loads(line) if line.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def codec(encoding: str) -> str:
    """The name that Python prefers for an encoding of text, which may have several."""
    try:
        "".encode(encoding)  # refuses codecs such as hex, which are not of text
        name = codecs.lookup(encoding).name
    except (LookupError, UnicodeError, ValueError) as error:
        raise RnnlensError(f"no encoding is called {encoding!r}; try utf-8") from error
    if name in _NOT_OF_FILES:
        raise RnnlensError(f"{encoding!r} is no encoding of text files; try utf-8")
    return name


def check_swelling(path: Path, most: int) -> None:
    """Refuse a gzipped file that is more than `most` times as large unzipped, and not small."""
    limit = largest(path, most)
    if path.stat().st_size * _DEFLATE <= limit:
        return
    try:
        with _open(path) as file:
            if not isinstance(file, io.BufferedReader) or not isinstance(file.raw, gzip.GzipFile):
                return
            unzipped = 0
            while block := file.read(1 << 20):
                unzipped += len(block)
                if unzipped > limit:
                    raise swollen(path, limit, "unzips to")
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def largest(path: Path, swelling: int) -> int:
    """The bytes that may be made of a file: `swelling` times its own, or some megabytes."""
    return max(_SMALL, swelling * path.stat().st_size)


def swollen(path: Path, limit: int, how: str) -> RnnlensError:
    """The error of a file that more is made of than may be."""
    times = limit // max(1, path.stat().st_size)
    return RnnlensError(
        f"{path} {how} more than {limit / 1e6:,.0f} MB, {times:,} times its size, as hardly any "
        "text does; if it is to be read all the same, give --swelling"
    )


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        zipped = file.read(2) == _GZIP_MAGIC
    return io.BufferedReader(gzip.GzipFile(path)) if zipped else path.open("rb")


def _unreadable(path: Path, error: Exception) -> RnnlensError:
    reason = getattr(error, "strerror", None) or error
    return RnnlensError(f"cannot read {path} ({reason}); is the file whole and yours to read?")
