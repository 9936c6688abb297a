"""Labels by their names."""

from collections.abc import Sequence
from difflib import get_close_matches

from rnnlens.base.errors import RnnlensError


def number_of(label: str, known: Sequence[str]) -> int:
    """A label's place among all; one that is not there is refused with those most like it."""
    if not isinstance(label, str):
        raise RnnlensError(f"{label!r} is no label; give the name of one")
    if label in known:
        return known.index(label)
    near = get_close_matches(label, known, 3)
    like = f"the nearest: {', '.join(map(repr, near))}" if near else "none is like it"
    raise RnnlensError(f"no label is {label!r}; {like}")
