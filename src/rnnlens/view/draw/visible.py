"""Text that can be shown as it is: nothing hidden in it, and so wide."""

import unicodedata
from collections.abc import Callable


def printable(text: str) -> str:
    """The text with everything made visible that a terminal would obey rather than show."""
    if text and not text.strip(" "):
        return "␣" * len(text)  # a character model's most frequent label
    made = []
    for character in unicodedata.normalize("NFC", text):
        code, category = ord(character), unicodedata.category(character)
        if code in (0x200C, 0x200D) or 0xFE00 <= code <= 0xFE0F:  # joiners change widths, unevenly
            continue
        if code < 0x20 or code == 0x7F:
            made.append(chr(0x2400 + code) if code < 0x20 else "\u2421")  # ␛ for escape
        elif category in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}:
            made.append("\ufffd")
        else:
            made.append(character)
    shown = "".join(made)
    return f"\u25cc{shown}" if shown and not width_of(shown[0]) else shown


def width_of(text: str) -> int:
    """Columns that printable text takes in a terminal."""
    return sum(
        0 if unicodedata.category(c) in {"Mn", "Me"} or 0x1160 <= ord(c) <= 0x11FF
        else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )  # fmt: skip


def clip(text: str, width: int) -> str:
    """Printable text of at most `width` columns, with an ellipsis where something is left out."""
    shown = printable(text)
    if width_of(shown) <= width:
        return shown
    kept, room = [], width - 1
    for character in shown:
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
