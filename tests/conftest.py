"""What tests share: a tiny corpus, a run trained on it, and the command line."""

import contextlib
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import settings
from tests import grammar

from rnnlens.cli import main
from rnnlens.corpus.batches import Split
from rnnlens.corpus.corpus import Corpus, CorpusConfig, EncodedCorpus, encode
from rnnlens.corpus.tokens import collect

pytest_plugins = ["tests.fixtures"]
SLOW_FIXTURES = {"browser", "site", "kept"}  # a browser, the documentation, a run by the command

# The same examples every time, so that a change is judged by what it changes. Others are searched
# for by `make test ARGS="--hypothesis-profile explore"`.
settings.register_profile("steady", derandomize=True, max_examples=40)
settings.register_profile("quick", derandomize=True, max_examples=10)
settings.register_profile("explore", derandomize=False, max_examples=400)
settings.load_profile("steady")


class Answer(NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever needs a slow fixture is slow."""
    for item in items:
        if isinstance(item, pytest.Function) and SLOW_FIXTURES.intersection(item.fixturenames):
            item.add_marker("slow")


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
def tiny() -> list[str]:
    """Flags of a training that takes a moment."""
    return "--width 8 --batch 16 --epochs 2 --min-count 1 --device cpu".split()


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "grammar.conllu"
    path.write_text(grammar.conllu(101), encoding="utf-8")
    return path


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
def trained_run(
    corpus_file: Path, tiny: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A finished run, to be read only."""
    path = tmp_path_factory.mktemp("runs") / "tiny"
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["train", str(corpus_file), "-o", str(path), *tiny]) == 0
    return path


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
