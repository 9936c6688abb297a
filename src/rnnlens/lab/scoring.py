"""How much the words of a suite surprise a model, as far as its predictions ask, and which of these
hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats
from rnnlens.lab.encoded import EncodedItem
from rnnlens.lab.prefixes import Reader

_BITS = 1 / np.log(2)
_METRICS: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "mean": lambda bits: sum(bits) / len(bits) if bits else 0.0,
    "max": lambda bits: max(bits, default=0.0),
    "min": lambda bits: min(bits, default=0.0),
}


@dataclass(frozen=True)
class Scored:
    """What a model makes of some items."""

    right: Floats  # (N,) 1 where the prediction holds, else 0
    margins: Floats  # (N,) bits by which it does, where it is one comparison; NaN elsewhere


def scored(
    reader: Reader, items: Sequence[EncodedItem], advance: Callable[[int], object] = int
) -> Scored:
    """Which predictions hold; `advance` is told how many words more have been read."""
    bits = surprisals(reader, items, advance)
    right, margins = np.zeros(len(items)), np.full(len(items), np.nan)
    for k, item in enumerate(items):
        metric = _METRICS[item.item.metric]

        def surprisal(region: int, condition: str, item: EncodedItem = item) -> float:
            sentence = item.sentences[condition]
            words = bits[sentence.ids]
            return metric([words[p] for p in sentence.region(region) if not np.isnan(words[p])])  # noqa: B023

        right[k] = item.formula.holds(surprisal)
        if len(parts := item.formula.comparisons) == 1 and len(item.formula.regions) == 2:
            less, more = parts[0][:2], parts[0][2:]
            margins[k] = surprisal(*more) - surprisal(*less)
    return Scored(right, margins)


def surprisals(
    reader: Reader, items: Sequence[EncodedItem], advance: Callable[[int], object] = int
) -> dict[tuple[int, ...], Floats]:
    """By sentence, how many bits each word is surprising, where somebody asks; else NaN, as for a
    first word that nothing predicts.
    """
    needed: dict[tuple[int, ...], set[int]] = {}
    for item in items:
        for region, condition in item.formula.regions:
            sentence = item.sentences[condition]
            needed.setdefault(sentence.ids, set()).update(sentence.region(region))
    # What nobody asks for behind the last place that is asked for is not read.
    last = 1 if reader.ahead else 0
    sentences = [ids for ids in needed if max(needed[ids], default=0) >= last]
    begins = [ids[: max(needed[ids]) + 1 - last] for ids in sentences]
    found = {ids: np.full(len(ids), np.nan) for ids in needed}
    places = np.zeros((len(sentences), 1 + max(map(len, sentences), default=0)), bool)
    for row, ids in zip(places, sentences, strict=True):
        row[list(needed[ids])] = True
    for first, level in reader.levels(begins):
        place = level.depth if reader.ahead else level.depth - 1
        some = np.flatnonzero(places[first : first + len(level.node_of), place])
        some = some[level.node_of[some] >= 0]
        words = np.array([sentences[first + k][place] for k in some], np.int64)
        log_p = reader.log_probabilities(level.y, level.node_of[some], words)
        if not np.isfinite(log_p).all():
            raise RnnlensError("the model gives no probabilities that are numbers; restore it")
        for k, value in zip(some, log_p, strict=True):
            found[sentences[first + k]][place] = -value * _BITS
        advance(int((level.node_of >= 0).sum()))
    return found
