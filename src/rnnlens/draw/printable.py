"""Text that can be shown as it is, with nothing hidden in it and so wide; and numbers in words."""

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rnnlens.base.rules import count, number, signs

_SURE = number("certain")  # a probability that is rounded to 100%
_MOST_ODDS = count("odds")
_EIGHTHS = " ▏▎▍▌▋▊▉█"
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
    visible = shown("".join(c for c in normal if not _is_joiner(ord(c))))
    return f"\u25cc{visible}" if visible and not width_of(visible[0]) else visible


def name_of(label: str, grid: Mapping[str, Any]) -> str | None:
    """What a label is called where its own letters say little: a sign by its name, a placeholder by
    what it stands for.
    """
    placeholders: Mapping[str, str] = grid.get("placeholders", {})
    return placeholders.get(label) or signs().get(label)


def bar_length(p: float) -> float:
    """How long a bar is, of the longest: the square root, so that 2% can be seen beside 50%."""
    return math.sqrt(min(max(p, 0.0), 1.0))


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
    beginning, room = [], width - 1
    for character in whole:
        room -= width_of(character)
        if room < 0:
            break
        beginning.append(character)
    return "".join(beginning) + "…" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """Printable text of exactly `width` columns: clipped, or with blanks behind it."""
    clipped = clip(text, width)
    return clipped + " " * (width - width_of(clipped))


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


def bar(share: float, width: int) -> str:
    """A bar that fills this share of so many columns, to an eighth of one."""
    full, part = divmod(round(share * width * 8), 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(width)


def percent(p: float) -> str:
    """A probability with as many digits as tell it from others."""
    if p > _SURE:
        return "100%" if p == 1 else ">99.9%"
    return f"{p:.0%}" if p >= 0.0995 else f"{p:.1%}" if p >= 0.001 else "<0.1%"


def short_percent(p: float) -> str:
    """A probability in whole per cent, where the sign is said elsewhere."""
    if p > 0.995:
        return "100" if p == 1 else ">99"
    return f"{p * 100:.0f}" if p >= 0.005 else "<1"


def odds_text(log_odds: float) -> str:
    """Odds as people read them, 3.2:1, from their natural logarithm."""
    ratio = math.exp(min(abs(log_odds), math.log(_MOST_ODDS)))
    if ratio >= _MOST_ODDS * _SURE:
        whole = f">{_MOST_ODDS - 1}"
    else:
        whole = f"{ratio:.1f}".removesuffix(".0") if ratio < 9.95 else f"{ratio:.0f}"
    return f"{whole}:1" if log_odds >= 0 or whole == "1" else f"1:{whole}"


def followed_title(labels: Sequence[str], against: Sequence[str]) -> str:
    """What is followed through a grid: one label, several, or a set against a set."""
    ours, theirs = " + ".join(labels), " + ".join(against)
    return f"the odds of {ours} against {theirs}" if against else f"the probability of {ours}"
