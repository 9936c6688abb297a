"""Links to the page: what its address bar holds after the address of the page itself."""

from collections.abc import Sequence
from urllib.parse import quote

_UNESCAPED = "!*'(),:;@$/?"  # what an address holds as it is, beside letters and digits


def link(
    text: str,
    kind: str,
    row: int,
    *,
    run: str = "",
    beside: str = "",
    semantic: str = "",
    palette: str = "",
    kinds: Sequence[str] = (),
    pins: Sequence[tuple[str, int]] = (),
) -> str:
    """What opens the grid of a text at a state, whose row is counted from 0.

    `run`, `semantic` and `palette` are named where the page would begin with others; `beside` is a
    second run, `kinds` those that are shown, and `pins` other states, as kind and row.
    """
    fields = [
        ("run", _quoted(run)),
        ("beside", _quoted(beside)),
        ("text", _quoted(text)),
        ("semantic", _quoted(semantic)),
        ("palette", _quoted(palette)),
        ("kinds", ",".join(map(_item, kinds))),
        *(("pin", _state(*pin)) for pin in pins),
        ("at", _state(kind, row)),
    ]
    return "#" + "&".join(f"{name}={value}" for name, value in fields if value or name == "text")


def _quoted(value: str) -> str:
    plain = value.encode("utf-8", "replace").decode()
    return quote(plain, safe=_UNESCAPED).replace("%20", "+")


def _item(kind: str) -> str:
    """A name in a list, whose own commas are not the list's."""
    return _quoted(kind).replace(",", "%2C")


def _state(kind: str, row: int) -> str:
    return f"{_item(kind)}:{row + 1}"
