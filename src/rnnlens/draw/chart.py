"""Charts as files."""

from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError

_DOTS = 200  # an inch


def save_chart(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib, in the format that the name ends in."""
    try:
        figure.savefig(path, dpi=_DOTS)
    except OSError as error:
        raise RnnlensError(f"cannot write {path}: {error.strerror}") from error
