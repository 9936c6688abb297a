"""What tests of the server share."""

import logging
from collections.abc import Iterator

import pytest


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
