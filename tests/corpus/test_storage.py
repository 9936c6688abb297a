"""Columns that outgrow memory: the same numbers, in files that are gone in the end."""

import errno
import tempfile
from pathlib import Path

import numpy as np
import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus import storage
from rnnlens.corpus.storage import Shelf, clear_unfinished, mapped, release, scratch, spans


@pytest.mark.parametrize("small", [0, 100, 1 << 20])
def test_a_shelf_gives_back_what_was_added(small, monkeypatch):
    monkeypatch.setattr(storage, "SMALL", small)
    with Shelf() as shelf:
        numbers, letters = shelf.column("numbers", np.int32), shelf.column("letters", np.uint8)
        shelf.column("none", np.int64)
        for k in range(9):
            numbers.add(np.arange(k, k + 10))
            letters.add(np.full(3, k))
        arrays = shelf.arrays()
        folder = shelf.folder
    assert (folder is None) == (small > 1000)
    assert folder is None or not folder.exists()
    assert arrays["numbers"].tolist() == [n for k in range(9) for n in range(k, k + 10)]
    assert arrays["letters"].tolist() == sorted([*range(9)] * 3)
    assert [array.dtype.itemsize for array in arrays.values()] == [4, 1, 8]
    assert len(arrays["none"]) == 0


def test_pages_that_are_let_go_can_be_read_again(tmp_path: Path):
    path = tmp_path / "numbers"
    np.arange(100_000).tofile(path)
    array = mapped(path, np.dtype(np.int64))
    resident = _resident()
    assert array[::100].sum() == np.arange(0, 100_000, 100).sum()
    assert _resident() > resident + 400_000
    release(array[5:], None)
    assert _resident() < resident + 200_000
    assert array[::100].sum() == np.arange(0, 100_000, 100).sum()


def _resident() -> int:
    """Bytes of mapped files that are in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssFile"):
            return int(line.split()[1]) * 1024
    pytest.skip("the system does not tell")


def test_spans_hold_every_sentence_once_and_about_a_block_of_words(monkeypatch):
    monkeypatch.setattr(storage, "BLOCK", 10)
    starts = np.cumsum([0, 3, 3, 3, 3, 25, 1, 1, 9, 10])
    assert list(spans(starts)) == [(0, 3), (3, 4), (4, 5), (5, 7), (7, 8), (8, 9)]
    assert list(spans(np.zeros(1, np.int64))) == []


def test_a_full_disk_is_one_line_and_leaves_nothing(monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "SMALL", 0)
    with Shelf() as shelf:
        column = shelf.column("numbers", np.int32)
        monkeypatch.setattr(column, "flush", full)
        with pytest.raises(RnnlensError, match=r"no space left .* \(0 MB so far\).*XDG_CACHE_HOME"):
            column.add(np.arange(9))
    assert list(scratch().glob(".unfinished*")) == []


def test_what_was_killed_is_cleared_and_what_is_being_written_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(storage, "SMALL", 0)
    left = scratch() / ".unfinished-1"
    left.mkdir()
    (left / "words").write_bytes(b"1234")
    with Shelf() as shelf:
        shelf.column("numbers", np.int32).add(np.arange(9))
        clear_unfinished(scratch())
        assert not left.exists()
        assert shelf.folder
        assert shelf.folder.exists()


def test_without_a_home_there_is_the_folder_for_temporary_files(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert scratch() == tmp_path / "temporary"
