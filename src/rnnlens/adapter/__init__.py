"""Reading a user's torch module: every kind by name, with the module left as it was."""

from rnnlens.adapter.adapter import Adapter

__all__ = ["Adapter"]
