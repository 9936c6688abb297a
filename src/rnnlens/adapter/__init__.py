"""Reading a user's own torch module: every kind by name, and the module left as it was found."""

from rnnlens.adapter.adapter import Adapter, Trace
from rnnlens.adapter.axes.alignment import Alignment, aligned
from rnnlens.adapter.readout import readout

__all__ = ["Adapter", "Alignment", "Trace", "aligned", "readout"]
