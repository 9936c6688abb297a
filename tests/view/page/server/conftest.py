"""What tests of the server share."""

import logging
from collections.abc import Iterator

import pytest
from tests.view.search.conftest import build, corpus_text

from rnnlens.view.lens import Lens


@pytest.fixture(scope="session")
def searched(formula: Lens, tmp_path_factory: pytest.TempPathFactory) -> Lens:
    """A lens whose run has an index, with states."""
    corpus = tmp_path_factory.mktemp("searched") / "words.conllu"
    corpus.write_text(corpus_text(12))
    build(formula, corpus, "fp16")
    return formula


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
