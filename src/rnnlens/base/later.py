"""Libraries that take a second to import, and are imported when they are first used.

A module of ours that declares flags, files or names beside some arithmetic can be read by whoever
wants the declarations alone: `rnnlens --help` and `rnnlens find` import no torch.
"""

import atexit
import gc
import sys
from importlib import import_module
from typing import Any


class Later:
    """A module by its name, which is imported when something of it is first asked for.

    Types are checked as with a plain import, which stands beside it under TYPE_CHECKING.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)  # so that this is not called a second time
        return value


def import_torch() -> None:
    """Import torch without looking for garbage on the way: there is none, and what is there stays,
    so that nobody has to look through it again. That takes a tenth of the time.
    """
    if "torch" in sys.modules:
        return
    was_on = gc.isenabled()
    gc.disable()
    try:
        import_module("torch")
        gc.freeze()
        atexit.register(gc.unfreeze)  # some libraries count at the end what is left of them
    finally:
        if was_on:
            gc.enable()
