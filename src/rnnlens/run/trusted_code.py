"""Whether the code that a run names may be imported: only where somebody has said so."""

import os
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_bytes

OURS = ("rnnlens.waves:forecaster",)  # code that comes with rnnlens itself
_allowed: set[str] = set()  # in this process


def _key(weights: str, factory: str) -> str:
    """What trust is given to: weights of this SHA-256 together with the code of this name."""
    return f"{weights} {factory}"


def _file() -> Path:
    """Where trust is remembered."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "rnnlens" / "trusted"


def allow(weights: str, factory: str, *, always: bool = False) -> None:
    """Let the code of a run be imported, in this process or always."""
    key = _key(weights, factory)
    _allowed.add(key)
    if always and key not in (lines := _remembered()):
        try:
            path = _file()
            path.parent.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError) as error:
            raise RnnlensError(
                f"cannot remember trust ({error}); give --trust each time"
            ) from error
        write_bytes(path, "".join(f"{line}\n" for line in [*lines, key]).encode())


def is_allowed(weights: str, factory: str) -> bool:
    """Whether somebody has said so, or the code is no stranger's."""
    key = _key(weights, factory)
    return factory in OURS or key in _allowed or key in _remembered()


def _remembered() -> list[str]:
    try:
        return _file().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError, RuntimeError):  # the last: there is no home folder
        return []


def question(run: Path, factory: str) -> str:
    """What would be imported, from where, and how to allow it."""
    package, _, name = factory.partition(":")
    return (
        f"this needs the code that {run} names, which is not run unasked: it would import "
        f"{package} ({_place(package)}) and call {name}; if you trust whoever made the run, give "
        "the command --trust (--trust-always remembers it), in Python rnnlens.load(run, trust=True)"
    )


def _place(package: str) -> str:
    """Where a package would be imported from; nothing is imported to find that out."""
    top = package.partition(".")[0]
    try:
        spec = find_spec(top)
    except (ValueError, ImportError):
        spec = None
    if spec is None:
        return "not found: say where it is with --path FOLDER"
    places = [spec.origin, *(spec.submodule_search_locations or ())]
    return f"from {next((place for place in places if place), 'built in')}"


def search(folders: Iterable[Path]) -> None:
    """Let modules be imported from folders too; installed ones take precedence."""
    for folder in folders:
        if not folder.is_dir():
            raise RnnlensError(f"--path {folder} is no folder; give the one that holds the code")
        if (place := str(folder.resolve())) not in sys.path:
            sys.path.append(place)
