"""Reading a user's own torch module: every kind by name, and the module left as it was found."""

from rnnlens.model.adapter.adapter import Adapter, Traced
from rnnlens.model.adapter.alignment import Alignment, aligned
from rnnlens.model.adapter.readout import readout

__all__ = ["Adapter", "Alignment", "Traced", "aligned", "readout"]
