"""A view as links hold it, after the #: what net/address.js writes and reads, read by Python, so
that a link in a file can be checked before anybody clicks it.
"""

import re
from functools import cache
from typing import Any, get_type_hints
from urllib.parse import unquote_to_bytes

from pydantic import TypeAdapter, ValidationError

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import pattern
from rnnlens.page.saved_page import View

_EDIT = pattern("edit")
_PLACE = re.compile(r"(.+):([0-9]{1,6})", flags=re.DOTALL)
_PIN = re.compile(r"(.+:[0-9]+)@(.+)", flags=re.DOTALL)
_PUSH = re.compile(r"(@(?:[12]:)?\d+) ")  # where a push begins, + is no space
_NUMBER = re.compile(r"[0-9]{1,10}")
_HALF = re.compile(r"%(?![0-9a-fA-F]{2})")
_LISTED = {  # keys that stand for a part of a field
    "follow": ("follow", "labels"), "against": ("follow", "against"),
    "explain": ("contrast", "labels"), "than": ("contrast", "against"),
}  # fmt: skip
_NAMED = {"text", "find"}  # texts, which may be empty


def decoded(link: str) -> dict[str, Any]:
    """The fields of a `View` that a link names. What means nothing is refused."""
    view: dict[str, Any] = {}
    for part in filter(None, link.removeprefix("#").split("&")):
        key, _, raw = part.partition("=")
        if not _take(view, key, raw):
            said = f"{key}={_unquoted(raw)}"
            raise RnnlensError(
                f"the link says {said!r}, which means nothing here; copy a link from the page"
            )
    return view


def _unquoted(text: str) -> str:
    spaced = text.replace("+", " ")
    try:
        return spaced if _HALF.search(spaced) else unquote_to_bytes(spaced).decode()
    except UnicodeDecodeError:
        return spaced  # a link cut in the middle of a character


def _take(view: dict[str, Any], key: str, raw: str) -> bool:
    """Put a part of a link into a view; False where it is not understood."""
    value, understood = _unquoted(raw), True
    if key == "at":
        view["focus"] = _place(raw)
        understood = view["focus"] is not None
    elif key == "pin":
        found = _pin(raw)
        view.setdefault("pins", []).append(found)
        understood = found is not None
    elif key == "edit":
        edit = _PUSH.sub(r"\1+", value, count=1)
        view.setdefault("edits", []).append(edit)
        form = _EDIT.fullmatch(edit)
        understood = form is not None and int(form[4]) > 0
    elif key == "kinds":
        view["kinds"] = value if value in ("all", "outputs") else _list(raw)
    elif key in _LISTED and _LISTED[key][0] in _fields():
        field, side = _LISTED[key]
        view.setdefault(field, {"labels": [], "against": []})[side] = _list(raw)
        understood = bool(view[field][side])
    else:
        understood = _take_plain(view, key, value)
    return understood


def _take_plain(view: dict[str, Any], key: str, value: str) -> bool:
    """A field that a link calls by its own name: a word of several, a number, yes, or a text."""
    if key not in _fields() or (not value and key not in _NAMED):
        return False
    number = int(value) if _NUMBER.fullmatch(value) else None
    for meant in (value, number, value == "1" or None):
        try:
            found = _fields()[key].validate_python(meant, strict=True)
        except ValidationError:
            continue
        view[key] = found
        return found is not None
    return False


@cache
def _fields() -> dict[str, TypeAdapter[Any]]:
    """What each field of a view may be."""
    hints = get_type_hints(View, include_extras=True)
    return {name: TypeAdapter(hint) for name, hint in hints.items()}


def _list(raw: str) -> list[str]:
    return [_unquoted(item) for item in raw.split(",") if item]


def _place(raw: str) -> dict[str, Any] | None:
    found = _PLACE.fullmatch(raw)
    if found is None or int(found[2]) < 1:
        return None
    return {"column": _unquoted(found[1]), "row": int(found[2]) - 1}


def _pin(raw: str) -> dict[str, Any] | None:
    where, *rest = raw.split("/")
    named = _PIN.fullmatch(where)
    found = _place(named[1] if named else where)
    if found is None:
        return None
    return {
        **found,
        "run": _unquoted(named[2]) if named else None,
        "semantic": _unquoted(rest[0]) if rest and rest[0] else None,
        "text": _unquoted("/".join(rest[1:])) if len(rest) > 1 else None,
    }
