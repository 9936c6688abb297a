"""Models for tests."""

from rnnlens.view.session import Session
from rnnlens.view.source import GridSource


def fresh(lens: GridSource) -> Session:
    """The same model and texts, with nothing at hand yet."""
    return Session(lens.model, lens.session.text)
