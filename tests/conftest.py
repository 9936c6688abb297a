"""What tests share: a tiny corpus, a run trained on it, and the command line."""

import contextlib
import fcntl
import io
import os
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import settings
from tests import grammar

from rnnlens.cli import main
from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, encode
from rnnlens.corpus.split import Split
from rnnlens.corpus.tokens import collect

pytest_plugins = ["tests.fixtures"]
SLOW_FIXTURES = {"browser", "kept"}  # a browser, a run by the command
RELEASE_FIXTURES = {"site"}  # the documentation

# The same examples every time, so that a change is judged by what it changes. Others are searched
# for by `make check ARGS="--hypothesis-profile explore"`.
settings.register_profile("steady", derandomize=True, max_examples=40, deadline=None)
settings.register_profile("change", derandomize=True, max_examples=20, deadline=None)
settings.register_profile("quick", derandomize=True, max_examples=10, deadline=None)
settings.register_profile("explore", derandomize=False, max_examples=400, deadline=None)
settings.load_profile("steady")


class Answer(NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a slow fixture, and put the files that take longest first.

    Workers take whole files: the last ones should be short, so that all workers end together.
    """
    seconds: dict[Path, float] = defaultdict(float)
    for item in items:
        needed = set(item.fixturenames if isinstance(item, pytest.Function) else ())
        for mark, fixtures in (("slow", SLOW_FIXTURES), ("release", RELEASE_FIXTURES)):
            if needed & fixtures:
                item.add_marker(mark)
        seconds[item.path] += 20 if "lab" in needed else _about(item)
    items.sort(key=lambda item: -seconds[item.path])


def _about(item: pytest.Item) -> float:
    """Seconds that a test takes, very roughly."""
    return next(
        (s for mark, s in (("release", 5), ("slow", 2)) if item.get_closest_marker(mark)), 0.05
    )


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def trusted(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The code of no run is trusted, and the user's own configuration and cache are left alone."""
    folder = tmp_path_factory.getbasetemp() / "configuration"
    shutil.rmtree(folder, ignore_errors=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.with_name("cache")))
    monkeypatch.setattr("rnnlens.run.trusted_code._allowed", set())
    return folder / "rnnlens" / "trusted"


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A folder that is filled by the first worker who needs it, for all of them to read."""
    own = tmp_path_factory.getbasetemp()
    root = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"

    def folder(name: str, fill: Callable[[Path], object]) -> Path:
        made, done = root / name, root / f"{name}.done"
        root.mkdir(exist_ok=True)
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(made, ignore_errors=True)
                made.mkdir()
                fill(made)
                done.touch()
        return made

    return folder


@pytest.fixture(scope="session")
def tiny() -> list[str]:
    """Flags of a training that takes a moment."""
    return "--width 8 --batch 16 --epochs 2 --min-count 1 --device cpu".split()


@pytest.fixture(scope="session")
def corpus_file(shared: Callable[..., Path]) -> Path:
    def fill(folder: Path) -> None:
        (folder / "grammar.conllu").write_text(grammar.conllu(101), encoding="utf-8")

    return shared("corpus", fill) / "grammar.conllu"


@pytest.fixture(scope="session")
def corpus() -> EncodedCorpus:
    """Enough sentences to learn the grammar from."""
    config = CorpusConfig(min_count=1)
    tokens = collect([grammar.sentences(300)], config.lowercase)
    return encode(Corpus.of("grammar", "generated", tokens, config), config)


@pytest.fixture(scope="session")
def random_split() -> Callable[..., Split]:
    """Sentences of two to seven random labels."""

    def make(sentences: int = 40, labels: int = 12, seed: int = 0) -> Split:
        random = np.random.default_rng(seed)
        starts = np.concatenate([[0], np.cumsum(random.integers(2, 8, sentences))])
        return Split(random.integers(0, labels, starts[-1]), starts)

    return make


@pytest.fixture(scope="session")
def trained_run(corpus_file: Path, tiny: list[str], shared: Callable[..., Path]) -> Path:
    """A finished run, to be read only."""

    def fill(folder: Path) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["train", str(corpus_file), "-o", str(folder / "tiny"), *tiny]) == 0

    return shared("runs", fill) / "tiny"


@pytest.fixture
def run_copy(trained_run: Path, tmp_path: Path) -> Path:
    """A finished run, to be spoilt."""
    return Path(shutil.copytree(trained_run, tmp_path / "copy"))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """`rnnlens`, in this process."""

    def call(*words: object) -> Answer:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Answer(code, *capsys.readouterr())

    return call
