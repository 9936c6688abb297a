"""What tests of the server share."""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.search.conftest import build, corpus_text

from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.run.folder import Run


@pytest.fixture(scope="session")
def searched(formula: Lens, tmp_path_factory: pytest.TempPathFactory) -> Lens:
    """The same lens of a run that has an index, with states."""
    assert formula.subject.run
    folder = tmp_path_factory.mktemp("searched")
    (folder / "words.conllu").write_text(corpus_text(12))
    lens = opened(Run(Path(shutil.copytree(formula.subject.run.path, folder / "formula"))))
    build(lens, folder / "words.conllu", "fp16")
    return lens


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """What the server logs meanwhile."""
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(f"{record.getMessage()} {record.exc_info}")

    listener = Listener()
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    for logger in loggers:
        logger.addHandler(listener)
    yield said
    for logger in loggers:
        logger.removeHandler(listener)
