"""One writer a folder: a lock that says who holds it, and that a crash leaves open."""

import errno
import fcntl
import json
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import clear_temporary

NAME = ".rnnlens.base.lock"
_LONGEST = 300  # characters of a command that are told
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # what some network file systems answer


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only one who writes to a folder, and clear what killed writers have left there.

    The kernel opens the lock when its process ends, however it ends; a file that is left behind
    locks nothing.
    """
    handle = _taken(folder)
    try:
        clear_temporary(folder)
        yield
    finally:
        (folder / NAME).unlink(missing_ok=True)
        os.close(handle)


def _taken(folder: Path) -> int:
    """An open file that holds the lock."""
    path = folder / NAME
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
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])[:_LONGEST]
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    return json.dumps(
        {"process": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}
    )


def _holder(handle: int) -> str:
    try:
        told = json.loads(os.pread(handle, 4096, 0))
        return (
            f"process {told['process']} on {told['host']} since {told['since']} ({told['command']})"
        )
    except (ValueError, KeyError, TypeError, RecursionError):  # it has only just been taken
        return "another process"
