"""Models for tests."""

from rnnlens.lens.lens import Lens
from rnnlens.reading.session import Session


def fresh(lens: Lens) -> Session:
    """The same model and texts, with nothing at hand yet."""
    return Session(lens.subject.model, lens.subject.session.text)
