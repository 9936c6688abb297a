"""Which word of one text stands beside which word of another."""

from collections.abc import Sequence

import numpy as np

Beside = tuple[int | None, int | None]  # a word of each text; None: a gap

_GAP, _OTHER = 5, 9  # two words that differ stand side by side rather than each beside a gap


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
