"""One writer a folder, who says who it is."""

import os
import signal
from pathlib import Path

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.base.lock import NAME, locked


def held_by_another(folder: Path) -> int:
    """A process that holds the lock until it is killed."""
    read, write = os.pipe()
    process = os.fork()
    if not process:
        with locked(folder):
            os.write(write, b"!")
            signal.pause()
        os._exit(0)
    os.read(read, 1)
    os.close(read)
    os.close(write)
    return process


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def test_a_second_writer_reads_who_the_first_is(tmp_path):
    process = held_by_another(tmp_path)
    try:
        message = rf"is being written by process {process} on .* since 20.*; wait until it ends"
        with pytest.raises(RnnlensError, match=message), locked(tmp_path):
            pass
    finally:
        kill(process)


def test_a_writer_that_was_killed_locks_nothing(tmp_path):
    kill(held_by_another(tmp_path))
    assert (tmp_path / NAME).exists()
    (tmp_path / ".model.json.rnnlens-12").touch()
    with locked(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert list(tmp_path.iterdir()) == []


def test_a_lock_in_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(RnnlensError, match="cannot write to"), locked(tmp_path / "missing"):
        pass
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RnnlensError, match="cannot write to"), locked(tmp_path):
        pass
    assert not (tmp_path / "elsewhere").exists()
