"""Files are written whole or not at all, and damage is told in one line."""

import errno
import hashlib
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlens.errors import RnnlensError
from rnnlens.files import (
    read_json,
    read_tensors,
    sha256,
    write_bytes,
    write_json,
    write_tensors,
)

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


@given(json_values)
@settings(max_examples=30, deadline=None)
def test_json_comes_back_as_it_was(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "value.json"
    write_json(path, value)
    assert read_json(path) == value


def test_json_is_utf_8_that_people_can_read(tmp_path):
    write_json(tmp_path / "a.json", {"wörter": ["σ"]})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n "wörter": [\n  "σ"\n ]\n}\n'


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_json_lacks_are_not_written(tmp_path, value):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"perplexity": value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xff", b"{'a': 1}"])
def test_damaged_json_is_named(tmp_path, data):
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(RnnlensError, match=r"a\.json is damaged"):
        read_json(path)


@pytest.mark.parametrize("read", [read_json, read_tensors])
def test_a_missing_file_is_named_with_its_folder(tmp_path, read):
    with pytest.raises(RnnlensError, match=f"is missing; is {tmp_path} a run folder"):
        read(tmp_path / "absent")


@pytest.mark.parametrize("read", [read_json, read_tensors])
def test_a_folder_in_place_of_a_file_is_an_error(tmp_path, read):
    with pytest.raises(RnnlensError, match="is damaged"):
        read(tmp_path)


@pytest.mark.parametrize("metadata", [None, {"identity": "é", "progress": {"epoch": 1}}])
def test_tensors_and_metadata_come_back_as_they_were(tmp_path, metadata):
    tensors = {
        "a": torch.arange(6, dtype=torch.float64).view(2, 3).T,
        "b": torch.tensor(3),
        "c": torch.zeros(0, 2, requires_grad=True),
    }
    write_tensors(tmp_path / "t", tensors, metadata)
    found, header = read_tensors(tmp_path / "t")
    assert header == metadata
    assert set(found) == set(tensors)
    for name, values in tensors.items():
        assert torch.equal(found[name], values)
        assert found[name].dtype == values.dtype


def test_the_hash_is_that_of_the_file(tmp_path):
    path = tmp_path / "t"
    digest = write_tensors(path, {"a": torch.ones(2)})
    assert digest == sha256(path) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("keep", [0, 4, 20, -1])
def test_truncated_tensors_are_named(tmp_path: Path, keep: int):
    path = tmp_path / "t"
    write_tensors(path, {"a": torch.ones(20)})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(RnnlensError, match="t is damaged"):
        read_tensors(path)


def test_what_a_killed_write_left_is_cleared_by_the_next(tmp_path):
    (tmp_path / ".a.json.rnnlens-x1y2").write_bytes(b"half")
    (tmp_path / ".b.json.rnnlens-x1y2").write_bytes(b"of another")
    write_json(tmp_path / "a.json", 1)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.json.rnnlens-x1y2", "a.json"]


def test_files_of_others_are_left_alone(tmp_path):
    theirs = [".a.json.swp", ".a.json.bak", ".other.json.rnnlens-x"]
    for name in theirs:
        (tmp_path / name).write_bytes(b"theirs")
    write_json(tmp_path / "a.json", 1)
    write_json(tmp_path / "*.json", 1)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*theirs, "a.json", "*.json"])
