"""Which files a grid can be saved as; told without torch, before anything is loaded or computed."""

from pathlib import Path

from rnnlens.base.errors import RnnlensError
from rnnlens.draw import figure
from rnnlens.draw.look import MOST_BARS, Look
from rnnlens.draw.pen import check_matplotlib

ENDINGS = (*figure.ENDINGS, ".html", ".json")
_MOST_BARS_PAGE = 5


def check(path: Path, look: Look) -> None:
    """Refuse what cannot be written, before anything is loaded or computed."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise RnnlensError(f"cannot write {path.name}; give a name ending in {', '.join(ENDINGS)}")
    check_place(path)
    if ending in figure.ENDINGS:
        check_matplotlib()
    look.check(_MOST_BARS_PAGE if ending == ".html" else MOST_BARS)
    look.check_width()


def check_place(path: Path) -> None:
    """Refuse a file that cannot be where it is to be."""
    if not path.parent.is_dir():
        raise RnnlensError(f"there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise RnnlensError(f"{path} is a folder; give the name of a file")


def check_page(path: Path) -> None:
    """Refuse a name that no page can be published as."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise RnnlensError(f"cannot write {path.name}; give a name ending in .html")
    check_place(path)
