"""A corpus is read beside the import of torch, and found kept; what goes wrong is told as ever."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from rnnlens.corpus import ahead

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="is done on Linux alone")

_BEGIN = """
import os, sys, time
from functools import partial
from rnnlens.base.errors import RnnlensError
from rnnlens.corpus import ahead, cache
from rnnlens.corpus import corpus as corpora
from rnnlens.corpus.corpus_config import ReadingConfig

ahead.cores = lambda: 2
read, path, here = corpora.read, sys.argv[1], os.getpid()

def noted(source, *how):
    print("here" if os.getpid() == here else "beside", file=open(path + ".readers", "a"))
    return read(source, *how)

corpora.read = noted
how = {"source": path, "config": ReadingConfig(), "lowercase": True}
job = partial(corpora.read_tokens, **how)

def begin(read=corpora.read_tokens):
    ahead.read_ahead(read, **{**how, "source": path})
"""


def outcome(path: Path, script: str) -> list[str]:
    """What a script prints that has neither torch nor a corpus yet, and who read the corpus."""
    script = _BEGIN + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", script, path],
        env={**os.environ, "XDG_CACHE_HOME": str(path.parent / "cache")},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert not done.stderr
    readers = path.with_name(path.name + ".readers")
    return [
        *done.stdout.split("\n")[:-1],
        *(readers.read_text().split() if readers.exists() else ()),
    ]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A corpus that is worth it, and was written a minute ago."""
    path = tmp_path / "corpus.txt"
    path.write_text("the old dog sees the minister\n" * (ahead.WORTH_IT // 24))
    return aged(path)


def aged(path: Path) -> Path:
    before = path.stat().st_mtime - 60
    os.utime(path, (before, before))
    return path


# The time when a file was last changed in any way cannot be set back.
_READ = "cache.SETTLED = ahead.SETTLED = -1.0; begin()\n"


def test_what_is_read_beside_is_found(source):
    assert outcome(source, _READ + "print(len(job()[1].words))") == ["262140", "beside"]


def test_what_is_kept_is_not_read_beside(source):
    again = "ahead.wait()\nbegin(); print(ahead._under_way)"
    assert outcome(source, _READ + again) == ["[]", "beside"]
    assert outcome(source, _READ + "print(len(job()[1].words))") == ["262140", "beside"]


def test_where_no_process_more_is_allowed_it_is_read_here(source):
    none = """
    def refused():
        raise BlockingIOError(11, "Resource temporarily unavailable")
    os.fork = refused
    """
    assert outcome(source, textwrap.dedent(none) + _READ + "job()") == ["here"]


def test_one_that_begins_after_the_other_has_ended_does_not_read(source):
    orphan = "ahead._alone(lambda: noted(path), os.getpid())"  # which is not its parent
    assert outcome(source, orphan) == []
    child = "ahead._alone(lambda: noted(path), os.getppid())"
    assert outcome(source, child) == ["here"]


def test_training_reads_beside_the_import_of_torch(source):
    train = """
    import rnnlens.cli.train_command as command
    from rnnlens.cli import main
    def noted(what):
        print(bool(ahead._under_way), "torch" in sys.modules)
        sys.exit(0)
    cache.SETTLED = ahead.SETTLED = -1.0
    command.begin = noted
    main(["train", path, "-o", path + ".run"])
    """
    assert outcome(source, train)[0] == "True False"


def test_what_is_wrong_is_told_by_who_waits(source):
    source.write_bytes(source.read_bytes() + b"\xff\n")
    tell = "try:\n    job()\nexcept RnnlensError as error:\n    print(error)"
    line, *readers = outcome(source, _READ + tell)
    assert "utf-8" in line
    assert readers == ["beside", "here"]


@pytest.mark.parametrize(
    "before",
    [
        "ahead.WORTH_IT = 1 << 30",
        "os.environ['XDG_CACHE_HOME'] = '/dev/null'",
        "os.environ['RANK'] = '1'",
        "ahead.cores = lambda: 1",
        "path = path + '.absent'",
        "path = 'nltk:brown'",
        "sys.modules['torch'] = sys",
    ],
)
def test_nothing_is_read_beside_where_it_would_not_help(source, before):
    assert outcome(source, f"{before}\n{_READ}print(ahead._under_way)") == ["[]"]


def test_what_has_just_changed_is_read_once(source):
    assert outcome(source, "cache.SETTLED = ahead.SETTLED = 600.0; begin(); job()") == ["here"]


def test_a_process_that_ends_takes_the_reader_along(source):
    script = """
    def slow(*_, **__):
        open(path + ".pid", "w").write(str(os.getpid()))
        time.sleep(60)
    cache.SETTLED = ahead.SETTLED = -1.0
    begin(slow)
    while not os.path.exists(path + ".pid") or not open(path + ".pid").read():
        time.sleep(0.01)
    os._exit(0)  # as if killed
    """
    assert outcome(source, script) == []
    reader = Path("/proc", source.with_name("corpus.txt.pid").read_text(), "cmdline")
    for _ in range(100):
        if not (reader.exists() and reader.read_bytes()):  # gone, or waiting to be buried
            return
        time.sleep(0.05)
    pytest.fail("it reads on for nobody")
