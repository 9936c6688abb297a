"""The cells that there are: every file of this folder brings some, so that one more is one file."""

from importlib import import_module
from pkgutil import iter_modules

from rnnlens.model.cell import CELLS

__all__ = ["CELLS"]

for _file in iter_modules(__path__, f"{__name__}."):
    import_module(_file.name)
