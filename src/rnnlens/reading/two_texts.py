r"""Two texts in one, `the keys {is|are} here`, and which of their words stand side by side.

A brace behind a backslash is one of the text: `\{is|are\}` stands in a single text.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message, pattern

_BRACES, _BRACE, _ESCAPED = pattern("braces"), pattern("brace"), pattern("escaped_brace")
_TIGHT, _ESCAPED_TIGHT = pattern("tight_braces"), pattern("escaped_tight_braces")
# What `escaped_tight_braces` is made of: the same without the backslashes that it takes away.
_WRITTEN_TIGHT = re.compile(_ESCAPED_TIGHT.pattern.replace(r"\\(\\*", r"(\\*"))
_HOW = message("braces")


class TwoTexts(NamedTuple):
    """The texts that are compared."""

    first: str
    second: str


def two_texts(text: str, known: Container[str]) -> TwoTexts | None:
    """The two texts that a text with braces stands for; None: it is one text.

    `known` are the words of a model. Of one that reads braces and bars, as models of letters and of
    program code do, only those with one bar and no blank beside them, `{is|are}`, are alternatives,
    and all others words; where it knows braces alone, those that stand by themselves are words.
    """
    if not _BRACE.search(text):
        return None
    reads = _reads_braces(known)
    sides, end = ["", ""], 0
    for match in (_TIGHT if reads else _BRACES).finditer(text):
        if not reads and _is_words(match[0], known):
            continue
        between = text[end : match.start()]
        if not reads:
            _refuse_strays(between, known)
        for k, alternative in enumerate(_alternatives(match[0])):
            sides[k] = _joined(_joined(sides[k], between), alternative)
        end = match.end()
    if not reads:
        _refuse_strays(text[end:], known)
    return TwoTexts(*(_joined(side, text[end:]) for side in sides)) if end else None


def _reads_braces(known: Container[str]) -> bool:
    """Whether braces and bars are words of a model, so that most of them are its own."""
    return "{" in known and "|" in known


def escaped(text: str, known: Container[str]) -> str:
    """A text as it is written where `two_texts` reads it, with braces that are its own."""
    if not re.search(r"[{}]", text):
        return text
    if _reads_braces(known):
        return _WRITTEN_TIGHT.sub(r"\\\1\2\\\3", text)
    return re.sub(r"[{}]", r"\\\g<0>", text)


def plain(text: str, known: Container[str]) -> str:
    """What a single text says: its braces without the backslashes before them."""
    if not _ESCAPED.search(text):
        return text
    if _reads_braces(known):
        return _ESCAPED_TIGHT.sub(r"\1\2\3", text)
    return _ESCAPED.sub(r"\1", text)


def _is_words(braces: str, known: Container[str]) -> bool:
    """Whether braces are words of the model, which stand by themselves and have no bar between."""
    apart = braces[1:2].isspace() and braces[-2:-1].isspace()
    return apart and "|" not in braces and "{" in known and "}" in known


def _alternatives(braces: str) -> tuple[str, str]:
    """What stands in braces on both sides of the bar."""
    inside = [alternative.strip() for alternative in braces[1:-1].split("|")]
    if len(inside) == 1:
        raise RnnlensError(message("no_bar", braces=_quoted(braces), how=_HOW))
    if len(inside) > 2:
        many = {"count": len(inside), "more": len(inside) - 2}
        raise RnnlensError(message("many_alternatives", braces=_quoted(braces), **many))
    if not any(inside):
        raise RnnlensError(message("empty_alternatives", braces=_quoted(braces), how=_HOW))
    return inside[0], inside[1]


def _joined(text: str, more: str) -> str:
    """One after the other, with one space where an empty alternative leaves two."""
    return text + (more.lstrip(" ") if not text or text.endswith(" ") else more)


def _refuse_strays(text: str, known: Container[str]) -> None:
    for place in _strays(text, known):
        quoted = _quoted(text[place:] if text[place] == "{" else text[: place + 1], text[place])
        wrong = "open_brace" if text[place] == "{" else "closing_brace"
        raise RnnlensError(message(wrong, text=quoted, how=_HOW))


def _strays(text: str, known: Container[str]) -> Iterator[int]:
    """Where braces stand that are no words of the model."""
    for match in _BRACE.finditer(text):
        around = text[match.start() - 1 : match.start()] + text[match.end() : match.end() + 1]
        if match[0] not in known or around.strip():
            yield match.start()


def _quoted(text: str, brace: str = "{") -> str:
    most = count("quoted_braces")
    if len(text) > most:
        text = f"{text[:most]}…" if brace == "{" else f"…{text[-most:]}"
    return repr(text)


def in_one(words: Iterable[tuple[str | None, str | None]]) -> str:
    """Two texts as one with braces, from the words that stand side by side; None is a gap."""
    pieces: list[str] = []
    for same, group in groupby(words, lambda pair: pair[0] == pair[1]):
        pairs = list(group)
        sides = [" ".join(_own(pair[k] for pair in pairs)) for k in (0, 1)]
        pieces.append(sides[0] if same else f"{{{sides[0]}|{sides[1]}}}")
    return " ".join(pieces)


def _own(words: Iterable[str | None]) -> Iterator[str]:
    """Words without gaps, whose braces are their own."""
    return (escaped(word, ()) for word in words if word is not None)


Beside = tuple[int | None, int | None]  # a word of each text; None: a gap

# Two words that differ stand side by side rather than each beside a gap.
_GAP, _OTHER = count("gap_cost"), count("other_word_cost")


def aligned(first: Sequence[str], second: Sequence[str]) -> list[Beside]:
    """Every word of both texts in order, with as many words beside the same word as there can be.

    What two texts begin and end with stands side by side; between, the cheapest of all ways.
    """
    start = _same(first, second)
    end = _same(first[start:][::-1], second[start:][::-1])
    a, b = first[start : len(first) - end], second[start : len(second) - end]
    head: list[Beside] = [(k, k) for k in range(start)]
    tail: list[Beside] = [(len(first) - k, len(second) - k) for k in range(end, 0, -1)]
    return head + _between(a, b, start) + tail


def _same(first: Sequence[str], second: Sequence[str]) -> int:
    """With how many of the same words two texts begin."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(first), len(second)))


def _between(first: Sequence[str], second: Sequence[str], start: int) -> list[Beside]:
    """The cheapest way from the first words to the last, by dynamic programming."""
    numbers = {word: k for k, word in enumerate(dict.fromkeys((*first, *second)))}
    a, b = (np.array([numbers[word] for word in some], np.int64) for some in (first, second))
    gaps = _GAP * np.arange(len(b) + 1)
    costs = np.empty((len(a) + 1, len(b) + 1), np.int64)
    costs[0] = gaps
    for i, word in enumerate(a.tolist()):
        ways = costs[i] + _GAP  # the word beside a gap
        ways[1:] = np.minimum(ways[1:], costs[i, :-1] + np.where(b == word, 0, _OTHER))
        costs[i + 1] = np.minimum.accumulate(ways - gaps) + gaps  # then gaps beside words of b
    beside: list[Beside] = []
    i, j = len(a), len(b)
    while i or j:
        here = costs[i, j]
        if i and j and here == costs[i - 1, j - 1] + (0 if a[i - 1] == b[j - 1] else _OTHER):
            i, j = i - 1, j - 1
            beside.append((start + i, start + j))
        elif i and here == costs[i - 1, j] + _GAP:
            i -= 1
            beside.append((start + i, None))
        else:
            j -= 1
            beside.append((None, start + j))
    return beside[::-1]
