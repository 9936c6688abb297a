"""What was read of a corpus is found again, as long as it is what the corpus holds."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnlens.corpus import cache, storage
from rnnlens.corpus import corpus as corpora
from rnnlens.corpus.corpus import CorpusConfig, EncodedCorpus, load_corpus
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.formats import read
from rnnlens.corpus.storage import scratch

LINES = [f"the {a} {b} sees {c} 7" for a in "abcd" for b in "efgh" for c in "ijkl"]


@pytest.fixture(autouse=True)
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if corpora were large and old."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(storage, "SMALL", 0)
    monkeypatch.setattr(storage, "BLOCK", 100)
    monkeypatch.setattr(cache, "SETTLED", -1.0)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that are really read."""
    sources: list[str] = []

    def noted(source: str, *how: Any) -> Iterator[Sentence]:
        sources.append(Path(source).name)
        return read(source, *how)

    monkeypatch.setattr(corpora, "read", noted)
    return sources


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(LINES))
    return path


def contents(corpus: EncodedCorpus) -> object:
    return [
        corpus.hash, corpus.vocabulary, corpus.format, corpus.unknown, corpus.tag_counts.tolist(),
        [[split.ids.tolist(), split.starts.tolist()] for split in corpus.splits.values()],
    ]  # fmt: skip


def test_a_corpus_is_read_once_and_encoded_alike_from_memory_and_disk(
    source, readings, monkeypatch
):
    first = load_corpus(str(source), CorpusConfig(min_count=1))
    again = load_corpus(str(source), CorpusConfig(min_count=1))
    other = load_corpus(str(source), CorpusConfig(min_count=9, split_seed=4, longest=3))
    assert readings == ["corpus.txt"]
    assert isinstance(first.splits["train"].ids.base, np.memmap)
    monkeypatch.setattr(storage, "SMALL", 1 << 20)
    monkeypatch.setattr(storage, "BLOCK", 1 << 20)
    monkeypatch.setenv("XDG_CACHE_HOME", str(source.parent / "another"))
    small = load_corpus(str(source), CorpusConfig(min_count=1))
    assert contents(first) == contents(again) == contents(small)
    assert contents(other) != contents(small)
    assert not list(scratch().iterdir())  # small ones are read each time
    assert len(readings) == 2


def test_labels_are_found_again(tmp_path, readings):
    path = tmp_path / "stars.tsv"
    path.write_text("".join(f"{k % 3}\ta {'bcd'[k % 3]} text\n" for k in range(60)))
    both = [load_corpus(str(path), CorpusConfig(task="classify", min_count=1)) for _ in "ab"]
    assert contents(both[0]) == contents(both[1])
    first, second = (corpus.splits["valid"].labels for corpus in both)
    assert first is not None
    assert second is not None
    assert first.tolist() == second.tolist()
    assert readings == ["stars.tsv"]


@pytest.mark.parametrize("how", ["lowercase", "numbers", "format", "encoding", "valid"])
def test_whatever_is_read_otherwise_is_read(how, source, readings):
    other: dict[str, Any] = {
        "lowercase": False,
        "numbers": False,
        "format": "text",
        "encoding": "latin-1",
    }
    load_corpus(str(source), CorpusConfig())
    load_corpus(str(source), CorpusConfig(**{how: other.get(how, str(source))}))
    assert len(readings) >= 2


@pytest.mark.parametrize("change", ["words", "times", "column", "manifest", "code", "file"])
def test_what_has_changed_is_read_anew(change, source, readings, monkeypatch):
    folder = source.parent / "texts"
    folder.mkdir()
    path = Path(source.rename(folder / "a.txt"))
    load_corpus(str(folder), CorpusConfig())
    (kept,) = scratch().iterdir()
    if change == "words":
        before = path.stat()
        path.write_text(path.read_text().replace("sees", "seen"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as cp -p does it
    elif change == "times":
        os.utime(path, (1, 1))
    elif change == "file":
        shutil.copy(path, folder / "b.txt")
    elif change == "code":
        monkeypatch.setattr(cache, "_code", lambda: "another")
    else:
        part = kept / ("words" if change == "column" else "manifest.json")
        data = bytearray(part.read_bytes())
        data[len(data) // 2] ^= 1
        part.write_bytes(data)
    corpus = load_corpus(str(folder), CorpusConfig())
    assert readings == ["texts", "texts"]
    assert ("seen" in corpus.vocabulary.labels) == (change == "words")
    load_corpus(str(folder), CorpusConfig())
    assert len(readings) == 2
    assert len(list(scratch().iterdir())) == 1  # the old one is gone


def test_what_has_only_just_changed_is_not_kept(source, readings, monkeypatch):
    monkeypatch.setattr(cache, "SETTLED", 60.0)
    for _ in "ab":
        load_corpus(str(source), CorpusConfig())
    assert len(readings) == 2
    assert not list(scratch().iterdir())


def test_what_changes_while_it_is_read_is_not_kept(source, readings, monkeypatch):
    def slow(*how: Any) -> Iterator[Sentence]:
        yield from read(*how)
        source.write_text("\n".join(LINES[:40]))

    monkeypatch.setattr(corpora, "read", slow)
    load_corpus(str(source), CorpusConfig())
    monkeypatch.setattr(corpora, "read", read)
    assert not list(scratch().iterdir())
    assert load_corpus(str(source), CorpusConfig()).hash != ""


def test_what_is_not_used_for_long_makes_room(source, tmp_path):
    other = shutil.copy(source, tmp_path / "other.txt")
    load_corpus(str(source), CorpusConfig())
    (old,) = scratch().iterdir()
    month = time.time() - 40 * 24 * 3600
    os.utime(old / "manifest.json", (month, month))
    load_corpus(str(source), CorpusConfig())  # it is in use
    load_corpus(str(other), CorpusConfig())
    assert old.exists()
    os.utime(old / "manifest.json", (month, month))
    load_corpus(str(other), CorpusConfig(lowercase=False))
    assert not old.exists()


def test_a_cache_that_cannot_be_written_is_no_obstacle(source, readings, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(source))
    assert (
        load_corpus(str(source), CorpusConfig()).hash
        == load_corpus(str(source), CorpusConfig()).hash
    )
    assert len(readings) == 2
