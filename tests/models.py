"""Models for tests."""

from rnnlens.view.lens import Lens
from rnnlens.view.models import NetworkModel


def fresh(lens: Lens) -> NetworkModel:
    """The same model, that remembers nothing yet."""
    assert isinstance(lens.model, NetworkModel)
    return NetworkModel(lens.model.network, lens.model.vocabulary)
