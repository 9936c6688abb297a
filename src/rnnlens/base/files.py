"""Files that are written whole or not at all, and checked whenever they are read; and one writer a
folder.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shlex
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeGuard, TypeVar

from annotated_types import Ge, Le, MaxLen, Predicate

from rnnlens.base.endings import put_away
from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint

LARGEST_JSON = 1 << 28  # bytes; the vocabulary of a million words has 30 million
REMEDY = "restore it or make the run anew"
_TEMPORARY = ".rnnlens-"  # no other program names its files so
# The last entry of a JSON file is the SHA-256 of all that stands before it.
_SEAL = re.compile(rb',?\n "checksum": "([0-9a-f]{64})"\n}\n\Z')
_SEAL_SIZE = 100
_BLOCK = 4 << 20  # bytes that are hashed at once, in milliseconds
_READABLE = 100_000  # characters: what has more is written without blanks
_BY_HAND = "where you changed it by hand, take its last entry, checksum, out"
LOCK = ".rnnlens.lock"
_LONGEST_COMMAND = 300  # characters that the holder of a lock is named with
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # what some network file systems answer
_UNFLUSHABLE = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)  # said by file systems without that

Sort = TypeVar("Sort")
_adapters: dict[Any, Any] = {}


class Strict:
    """The base of dataclasses that describe a JSON file: nothing is converted, left out or added.

    `read_json` checks a file against the types of their fields.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "strict": True, "extra": "forbid", "allow_inf_nan": False,
        "revalidate_instances": "always",
    }  # fmt: skip


Name = Annotated[str, MaxLen(10_000)]  # of a label, a kind, a group
_SHA = re.compile("[0-9a-f]{64}")
Sha = Annotated[str, Predicate(_SHA.fullmatch)]
Count = Annotated[int, Ge(0), Le(2**62)]
Scalar = bool | int | float | Name  # a setting
Settings = Annotated[dict[Name, Scalar], MaxLen(100)]


def is_sha(value: object) -> TypeGuard[str]:
    """Whether a value from a file is a SHA-256 as files have it."""
    return isinstance(value, str) and _SHA.fullmatch(value) is not None


def write_bytes(path: Path, data: bytes) -> None:
    """Write a temporary neighbour, flush it to disk, and move it into place."""
    write_pieces(path, [data])


def write_pieces(
    path: Path, pieces: Sequence[bytes | memoryview], before_move: Callable[[], object] = bool
) -> None:
    """Write as `write_bytes` does what lies in several pieces, without joining them.

    `before_move` is called once it is on the disk, and may refuse that it is moved into place.
    """
    name = path.with_name(f".{path.name}{_TEMPORARY}{secrets.token_hex(4)}")
    try:
        clear_temporary(path.parent, path.name)
        # As for any new file, the user's umask says who may read it.
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        with put_away(name.unlink), os.fdopen(handle, "wb") as file:
            with suppress(OSError):  # some network file systems have no locks
                fcntl.flock(file, fcntl.LOCK_EX)  # it is no leftover
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            before_move()
            name.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        size = sum(memoryview(piece).nbytes for piece in pieces)
        raise RnnlensError(_write_problem(path, size, error)) from error
    finally:
        name.unlink(missing_ok=True)


def clear_temporary(folder: Path, name: str = "") -> None:
    """Remove what writes that were killed have left, of one file or of all."""
    for leftover in folder.glob(f".{escape(name) or '*'}{_TEMPORARY}*"):
        try:
            handle = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # it has just been moved into place
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink(missing_ok=True)
        except OSError:  # somebody is writing it
            pass
        finally:
            os.close(handle)


def add_line(path: Path, line: str) -> None:
    """Add a line to a text file, which may be no link to another."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, flags, 0o666)
        with os.fdopen(handle, "a", encoding="utf-8") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")  # noqa: TRY301
            file.write(line + "\n")
    except OSError as error:
        raise RnnlensError(f"cannot write to {path}: {error.strerror}; mend that") from error


def is_present(path: Path) -> bool:
    """Whether anything has this name, be it a link to nowhere."""
    return os.path.lexists(path)


def remove(path: Path) -> None:
    """Remove a file, if there is one, for good."""
    path.unlink(missing_ok=True)
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Have the disk know the names in a folder: a power cut then brings no old ones back."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # one may be allowed to write there, and not to look
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNFLUSHABLE:
            raise
    finally:
        os.close(handle)


def _write_problem(path: Path, size: int, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        need = f"{size / 1e6:.1f} MB"
        return f"no space left to write {path} ({need}); free some and run the same command again"
    return f"cannot write {path}: {error.strerror}; choose a folder you can write to"


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write an object as JSON with its checksum, readable where it is not large. NaN and infinity
    are refused.
    """
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    if len(text) > _READABLE:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    body = text.removesuffix("}").removesuffix("\n").encode()
    comma = "," if value else ""
    seal = f'{comma}\n "checksum": "{hashlib.sha256(body).hexdigest()}"\n}}\n'
    write_bytes(path, body + seal.encode())


def read_json(path: Path, sort: type[Sort], remedy: str = REMEDY) -> Sort:
    """Read a JSON file that holds what `sort` describes; `remedy` says what to do if it does not.

    A checksum is compared where there is one: older versions wrote none.
    """
    size = regular_size(path, remedy)
    if size > LARGEST_JSON:
        raise RnnlensError(f"{path} has {size:,} bytes, more than {LARGEST_JSON:,}; {remedy}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise damaged(path, error, remedy) from error
    if seal := _SEAL.search(data, max(0, len(data) - _SEAL_SIZE)):
        body = data[: seal.start()]
        if hashlib.sha256(body).hexdigest().encode() != seal[1]:
            raise damaged(path, "its checksum differs", f"{remedy}; {_BY_HAND}")
        data = body + b"\n}\n"
    return parsed(data, sort, path, remedy)


def parsed(data: str | bytes, sort: type[Sort], path: Path, remedy: str = REMEDY) -> Sort:
    """JSON that was read from `path`, checked to be what `sort` describes."""
    from pydantic import ValidationError

    try:
        value: Sort = _adapter(sort).validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        if where == "checksum":  # the file is laid out otherwise than we write it
            remedy = f"{remedy}; {_BY_HAND}"
        said = f"{where[:80]}: {first['msg'][:160]}".removeprefix(": ")  # of the file as a whole
        raise damaged(path, said, remedy) from error
    return value


def checked(value: Sort) -> Sort:
    """A value that was made in Python, once its fields are what `read_json` lets pass; otherwise a
    ValueError.
    """
    from pydantic import ValidationError

    try:
        same: Sort = _adapter(type(value)).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where[:80]}: {first['msg'][:160]}") from error
    return same


def _adapter(sort: Any) -> Any:
    """What pydantic makes of a sort, which takes a moment, as its import does."""
    if sort not in _adapters:
        from pydantic import TypeAdapter

        _adapters[sort] = TypeAdapter(sort)
    return _adapters[sort]


def regular_size(path: Path, remedy: str) -> int:
    """The size of a regular file; anything else may never end."""
    try:
        about = path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RnnlensError(f"{path} is missing; is {path.parent} a run folder?") from error
    except OSError as error:
        raise damaged(path, error, remedy) from error
    if not stat.S_ISREG(about.st_mode):
        raise damaged(path, "it is no regular file", remedy)
    return about.st_size


def damaged(path: Path, reason: object, remedy: str) -> RnnlensError:
    """The error that names a file, what is wrong with it and what to do."""
    if isinstance(reason, PermissionError):
        return RnnlensError(f"{path} cannot be read (permission denied); have its owner allow it")
    if isinstance(reason, OSError):
        reason = reason.strerror or reason
    return RnnlensError(f"{path} is damaged ({str(reason)[:300]}); {remedy}")


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes; what is no regular file is refused, since it may never end."""
    if path.exists():
        regular_size(path, REMEDY)
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checkpoint()  # a large file takes seconds
            sha.update(block)
    return sha.hexdigest()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only one who writes to a folder, and clear what killed writers have left there.

    The kernel opens the lock when its process ends, however it ends; a file that is left behind
    locks nothing.
    """
    handle, path = _taken(folder), folder / LOCK
    try:
        with put_away(path.unlink):
            clear_temporary(folder)
            yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def clear_left(folder: Path) -> None:
    """Remove what killed writers have left in a folder that nobody writes to now."""
    if is_present(folder / LOCK):
        with suppress(RnnlensError), locked(folder):  # RnnlensError: somebody does
            return
    clear_temporary(folder)


def _taken(folder: Path) -> int:
    """An open file that holds the lock."""
    path = folder / LOCK
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError as error:
            remedy = (
                f"delete {path}" if os.path.lexists(path) else "choose a folder you can write to"
            )
            raise RnnlensError(f"cannot write to {folder}: {error.strerror}; {remedy}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                holder = _holder(handle)
                os.close(handle)
                raise RnnlensError(
                    f"{folder} is being written by {holder}; wait until it ends, or choose another "
                    "folder"
                ) from error
        if _is_there(handle, path):  # else its last holder has just removed it
            os.ftruncate(handle, 0)
            os.write(handle, _myself().encode())
            return handle
        os.close(handle)


def _is_there(handle: int, path: Path) -> bool:
    """Whether an open file is still the one that the path names."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _myself() -> str:
    """Who holds the lock, for those who meet it."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])[:_LONGEST_COMMAND]
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    return json.dumps(
        {"process": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}
    )


def _holder(handle: int) -> str:
    try:
        holder = json.loads(os.pread(handle, 4096, 0))
        where = f"process {holder['process']} on {holder['host']}"
        return f"{where} since {holder['since']} ({holder['command']})"
    except (ValueError, KeyError, TypeError, RecursionError):  # it has only just been taken
        return "another process"
