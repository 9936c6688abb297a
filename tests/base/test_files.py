"""Files are written whole, checked when they are read, and a folder has one writer."""

import errno
import fcntl
import math
import os
import signal
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import (
    LOCK,
    Count,
    Name,
    Strict,
    add_line,
    locked,
    read_json,
    sha256,
    write_bytes,
    write_json,
)
from rnnlens.base.tensors import read_sealed, read_tensors

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip


def fail(number: int) -> Callable[..., None]:
    def call(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return call


def test_bytes_replace_what_was_there_and_leave_nothing_else(tmp_path):
    write_bytes(tmp_path / "a", b"old")
    write_bytes(tmp_path / "a", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"new"


def test_written_files_can_be_read_by_everybody(tmp_path):
    write_bytes(tmp_path / "a", b"")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, r"no space left to write .*a \(2.0 MB\); free some and run the same"),
        (errno.EDQUOT, "no space left"),
        (errno.EROFS, "cannot write .*a: Read-only file system; choose a folder"),
    ],
)
def test_a_failed_write_keeps_the_old_file_and_leaves_no_scrap(
    tmp_path, monkeypatch, number, message
):
    write_bytes(tmp_path / "a", b"old")
    monkeypatch.setattr(os, "fsync", fail(number))
    with pytest.raises(RnnlensError, match=message):
        write_bytes(tmp_path / "a", b"x" * 2_000_000)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_ctrl_c_while_writing_leaves_no_scrap(tmp_path, monkeypatch):
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "a", b"data")
    assert list(tmp_path.iterdir()) == []


def test_writing_into_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(RnnlensError, match=r"cannot write .*: No such file"):
        write_bytes(tmp_path / "missing" / "a", b"")


@pytest.mark.slow
@given(st.dictionaries(st.text(), json_values))
@settings(max_examples=30, deadline=None)
def test_json_comes_back_as_it_was(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "value.json"
    write_json(path, value)
    assert read_json(path, object) == value


def test_json_is_utf_8_that_people_can_read(tmp_path):
    write_json(tmp_path / "a.json", {"wörter": ["σ"]})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert text.startswith('{\n "wörter": [\n  "σ"\n ],\n "checksum": "')


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_json_lacks_are_not_written(tmp_path, value):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"perplexity": value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xff", b"{'a': 1}"])
def test_damaged_json_is_named(tmp_path, data):
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(RnnlensError, match=r"a\.json is damaged \([IJ]"):
        read_json(path, object)


@pytest.mark.parametrize("read", [read_json, read_tensors, read_sealed])
def test_a_missing_file_is_named_with_its_folder(tmp_path, read):
    with pytest.raises(RnnlensError, match=f"is missing; is {tmp_path} a run folder"):
        read(tmp_path / "absent", object)


@pytest.mark.parametrize("read", [read_json, read_tensors, read_sealed])
def test_whatever_is_no_regular_file_is_an_error_and_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "link"):
        with pytest.raises(RnnlensError, match=r"is damaged \(it is no regular file"):
            read(path, object)
        with pytest.raises(RnnlensError, match=r"is damaged \(it is no regular file"):
            sha256(path)


def test_a_file_that_is_too_large_to_be_one_is_not_read(tmp_path):
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(1 << 32)
    with pytest.raises(RnnlensError, match="has 4,294,967,296 bytes, more than"):
        read_json(tmp_path / "a.json", object)


def test_json_that_was_changed_is_noticed_and_may_be_changed_by_hand(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"labels": ["the", "dog"]})
    path.write_text(path.read_text().replace("dog", "dig"))
    with pytest.raises(RnnlensError, match=r"checksum differs.*by hand, take its last entry"):
        read_json(path, object)
    path.write_text('{"labels": ["the", "dig"]}')
    assert read_json(path, object) == {"labels": ["the", "dig"]}


@dataclass(frozen=True)
class Described(Strict):
    count: Count
    name: Name = ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "count: Field required"),
        ('{"count": "3"}', "count: Input should be a valid integer"),
        ('{"count": true}', "count: Input should be a valid integer"),
        ('{"count": -1}', "greater than or equal to 0"),
        ('{"count": 3, "size": 3}', "size: Unexpected"),
        ('{"count": 3, "name": "' + "a" * 20_000 + '"}', "at most 10000 characters"),
        ("[" * 100_000, "recursion limit exceeded"),
        ('{"count": ' + "9" * 5000 + "}", "number out of range"),
    ],
)
def test_what_is_not_as_described_is_refused(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(RnnlensError, match=message):
        read_json(tmp_path / "a.json", Described)


def test_a_new_file_has_the_rights_that_the_umask_leaves(tmp_path):
    before = os.umask(0o077)
    try:
        write_bytes(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_the_folder_is_flushed_after_the_file(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_mode))
    write_bytes(tmp_path / "a", b"data")
    assert [stat.S_ISDIR(mode) for mode in flushed] == [False, True]


def test_a_file_that_somebody_is_writing_is_no_leftover(tmp_path):
    theirs = tmp_path / ".a.rnnlens-x1y2"
    with theirs.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write_bytes(tmp_path / "a", b"mine")
        assert theirs.exists()
    write_bytes(tmp_path / "a", b"mine")
    assert not theirs.exists()


def test_lines_are_added_to_a_file_and_to_no_other(tmp_path):
    add_line(tmp_path / "log", "one")
    add_line(tmp_path / "log", "zwölf")
    assert (tmp_path / "log").read_text(encoding="utf-8") == "one\nzwölf\n"
    (tmp_path / "secret").touch()
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo"):
        with pytest.raises(RnnlensError, match=f"cannot write to .*{name}"):
            add_line(tmp_path / name, "mine")
    assert (tmp_path / "secret").read_text() == ""


def test_what_a_killed_write_left_is_cleared_by_the_next(tmp_path):
    (tmp_path / ".a.json.rnnlens-x1y2").write_bytes(b"half")
    (tmp_path / ".b.json.rnnlens-x1y2").write_bytes(b"of another")
    write_json(tmp_path / "a.json", {})
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.json.rnnlens-x1y2", "a.json"]


def test_files_of_others_are_left_alone(tmp_path):
    theirs = [".a.json.swp", ".a.json.bak", ".other.json.rnnlens-x"]
    for name in theirs:
        (tmp_path / name).write_bytes(b"theirs")
    write_json(tmp_path / "a.json", {})
    write_json(tmp_path / "*.json", {})
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*theirs, "a.json", "*.json"])


def test_a_file_system_that_flushes_no_folders_is_written_to(tmp_path, monkeypatch):
    flush = os.fsync

    def refuse(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        flush(handle)

    monkeypatch.setattr(os, "fsync", refuse)
    write_bytes(tmp_path / "file", b"data")
    assert (tmp_path / "file").read_bytes() == b"data"


def test_json_that_was_laid_out_anew_says_what_to_do_by_hand(tmp_path):
    path = tmp_path / "file.json"
    write_json(path, {"name": "a"})
    path.write_text(path.read_text().replace("\n", "\n\n"))

    @dataclass(frozen=True)
    class File(Strict):
        name: Name

    with pytest.raises(RnnlensError, match="take its last entry, checksum, out"):
        read_json(path, File)


def test_what_one_may_not_read_is_not_called_damaged(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    write_json(path, {"name": "a"})
    monkeypatch.setattr("pathlib.Path.read_bytes", fail(errno.EACCES))
    with pytest.raises(RnnlensError, match=r"cannot be read \(permission denied\)"):
        read_json(path, dict)


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
    assert (tmp_path / LOCK).exists()
    (tmp_path / ".model.json.rnnlens-12").touch()
    with locked(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK]
    assert list(tmp_path.iterdir()) == []


def test_a_lock_in_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(RnnlensError, match="cannot write to"), locked(tmp_path / "missing"):
        pass
    (tmp_path / LOCK).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RnnlensError, match="cannot write to"), locked(tmp_path):
        pass
    assert not (tmp_path / "elsewhere").exists()
