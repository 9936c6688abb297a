"""Reading a user's own torch module: every kind by name, and the module left as it was found."""

from rnnlens.adapter.adapter import Adapter

__all__ = ["Adapter"]
