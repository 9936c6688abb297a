"""See what every hidden state of a recurrent network predicts.

>>> import rnnlens
>>> lens = rnnlens.load("english-news")  # the bundled model, or a run folder
>>> grid = lens("we stand in solidarity")
>>> grid["h2"][3]
<h2 after 'solidarity': with 91%, and 3%, . 2%>
"""

from typing import TYPE_CHECKING, Any

from rnnlens.version import __version__ as __version__

if TYPE_CHECKING:
    from pathlib import Path

    from rnnlens.adapter import Adapter
    from rnnlens.adapter.user_model import UserModel
    from rnnlens.base.errors import RnnlensError
    from rnnlens.lens.compare import compare
    from rnnlens.lens.fit import fit
    from rnnlens.lens.grid import Grid
    from rnnlens.lens.lens import Lens
    from rnnlens.lens.state import State, States
    from rnnlens.reading.edits import Edit

__all__ = [
    "Adapter",
    "Edit",
    "Grid",
    "Lens",
    "RnnlensError",
    "State",
    "States",
    "UserModel",
    "compare",
    "fit",
    "load",
]

_MODULES = {
    "Grid": "rnnlens.lens.grid", "State": "rnnlens.lens.state", "States": "rnnlens.lens.state",
    "Edit": "rnnlens.reading.edits",
    "Lens": "rnnlens.lens.lens", "RnnlensError": "rnnlens.base.errors", "fit": "rnnlens.lens.fit",
    "Adapter": "rnnlens.adapter", "UserModel": "rnnlens.adapter.user_model",
    "compare": "rnnlens.lens.compare",
}  # fmt: skip


def load(
    run: "str | Path", colours: "str | Path | None" = None, model: Any = None, trust: bool = False
) -> "Lens":
    """The lens of a run folder, or of `english-news`, which comes with the package.

    `colours` is a JSON file with a grouping of your own, which then is the first of the palettes:
    `{"colours": {"ANIMAL": "#009e73"}, "groups": {"dog": "ANIMAL"}}`. A run of a module of your own
    needs the module's code for new texts: give `model`, which is the module, a `UserModel`, or
    `"package.module:factory"`. With `trust`, the code that the run itself names is imported and
    called then; do that only where you trust whoever made the run.
    """
    from pathlib import Path

    from rnnlens.lens.open import opened
    from rnnlens.run.folder import run_at

    folder = run_at(str(run))
    if trust:
        folder.allow_code()
    return opened(folder, None if colours is None else Path(colours), model=model)


def __getattr__(name: str) -> Any:
    """Classes are imported when they are asked for, so that `import rnnlens` takes no time."""
    if name not in _MODULES:
        raise AttributeError(f"module 'rnnlens' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
