"""Models for tests."""

from rnnlens.reading.session import Session
from rnnlens.reading.source import GridSource


def fresh(lens: GridSource) -> Session:
    """The same model and texts, with nothing at hand yet."""
    return Session(lens.model, lens.session.text)
