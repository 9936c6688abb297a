"""Models for tests."""

from rnnlens.view.models import NetworkModel

from rnnlens.view.lens import Lens


def fresh(lens: Lens) -> NetworkModel:
    """The same model, that remembers nothing yet."""
    assert isinstance(lens.model, NetworkModel)
    return NetworkModel(lens.model, lens.session.vocabulary)
