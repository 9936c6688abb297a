"""Reading a user's torch module: every kind by name, with the module left as it was."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rnnlens.adapter.adapter import Adapter

__all__ = ["Adapter"]


def __getattr__(name: str) -> Any:
    """The adapter when it is asked for: what only checks batches needs nothing of it."""
    if name == "Adapter":
        from rnnlens.adapter.adapter import Adapter

        return Adapter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
