"""Text that can be shown as it is: nothing hidden in it, and so wide."""

import unicodedata
from collections.abc import Callable

_HIDDEN = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}  # categories of what is not to be seen


def shown(text: str) -> str:
    """The text with everything made visible that a terminal would obey rather than show."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_sign, text))


def _sign(character: str) -> str:
    """A character that can be seen: itself, or one in its place."""
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return chr(0x2400 + code) if code < 0x20 else "\u2421"  # ␛ for escape
    return "\ufffd" if unicodedata.category(character) in _HIDDEN else character


def printable(text: str) -> str:
    """A label or a word as it is shown, so wide as `width_of` says."""
    if text and not text.strip(" "):
        return "␣" * len(text)  # a character model's most frequent label
    normal = unicodedata.normalize("NFC", text)
    made = shown("".join(c for c in normal if not _is_joiner(ord(c))))
    return f"\u25cc{made}" if made and not width_of(made[0]) else made


def _is_joiner(code: int) -> bool:
    """Whether a character changes the width of others, in ways terminals do not agree about."""
    return code in (0x200C, 0x200D) or 0xFE00 <= code <= 0xFE0F


def width_of(text: str) -> int:
    """Columns that printable text takes in a terminal."""
    return sum(
        0 if unicodedata.category(c) in {"Mn", "Me"} or 0x1160 <= ord(c) <= 0x11FF
        else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )  # fmt: skip


def clip(text: str, width: int) -> str:
    """Printable text of at most `width` columns, with an ellipsis where something is left out."""
    whole = printable(text)
    if width_of(whole) <= width:
        return whole
    kept, room = [], width - 1
    for character in whole:
        room -= width_of(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + "…" if width > 0 else ""


def tail(name: str, fits: Callable[[str], bool]) -> str:
    """As much of the end of a dotted name as fits, behind an ellipsis: `…layers.0`.

    Names of submodules begin alike and end differently. Their parts stay whole where one fits.
    """
    if fits(name):
        return name
    parts = name.split(".")
    ends = [".".join(parts[k:]) for k in range(1, len(parts))]
    ends += [parts[-1][k:] for k in range(1, len(parts[-1]))]
    return next((f"…{end}" for end in ends if fits(f"…{end}")), "…")
