"""Follow labels: how probable they are in every state of a text, or how one set of them stands
against another.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import logsigmoid

from rnnlens.base.errors import RnnlensError
from rnnlens.base.tables import data_frame
from rnnlens.draw.printable import clip, followed_title, odds_text, percent, width_of
from rnnlens.labels.sets import number_of
from rnnlens.reading.encoding import significant

if TYPE_CHECKING:
    import pandas as pd

    from rnnlens.reading.rows import Request
    from rnnlens.reading.source import GridSource

Values = NDArray[np.float64]
STEP = 24  # rows at once, so that others get their turn


@dataclass(frozen=True)
class Sides:
    """The labels that are followed, and those they stand against, by name and by number."""

    labels: tuple[str, ...]
    against: tuple[str, ...]
    numbers: tuple[list[int], list[int]]

    @classmethod
    def of(cls, labels: Sequence[str], against: Sequence[str], known: Sequence[str]) -> "Sides":
        """Refuse labels that there are not, and those that stand on both sides."""
        first, second = (tuple(dict.fromkeys(some)) for some in (labels, against))
        if not first:
            raise RnnlensError("no label is named to follow; name at least one")
        numbers = tuple([number_of(label, known) for label in some] for some in (first, second))
        if both := [label for label in first if label in second]:
            raise RnnlensError(
                f"{both[0]!r} is followed and stands against itself; name it on one side only"
            )
        return cls(first, second, (numbers[0], numbers[1]))

    def values(self, logits: Tensor, several: bool = False) -> Values:
        """Of states with these logits (N, V): the labels' probability together, or where others
        stand against them the natural logarithm of the odds.

        `several`: each label holds or not by itself, so that together means any of them, and the
        odds are those of their mean probabilities.
        """
        exact = logits.double()
        if several:
            return self._of_several(exact)
        ours = exact[:, self.numbers[0]].logsumexp(1)
        if not self.against:
            found: Values = (ours - exact.logsumexp(1)).exp().clamp(max=1).numpy()
            return found
        odds: Values = (ours - exact[:, self.numbers[1]].logsumexp(1)).numpy()
        return odds

    def _of_several(self, logits: Tensor) -> Values:
        """The same where labels hold or not each by itself."""
        if not self.against:
            none = logsigmoid(-logits[:, self.numbers[0]]).sum(1)
            found: Values = (-none.expm1()).numpy()
            return found
        ours, theirs = (logsigmoid(logits[:, some]).logsumexp(1) - math.log(len(some))
                        for some in self.numbers)  # fmt: skip
        odds: Values = (ours - theirs).numpy()
        return odds


def follow(lens: "GridSource", asked: "Request", sides: Sides, first: int, last: int) -> Values:
    """What is followed in the rows first..last-1 of a text, (rows, columns)."""
    columns = lens.columns_for(asked.semantic)
    places = lens.rows.places(asked, first, last)
    several = asked.answers.several
    parts = lens.rows.each(asked, first, last, lambda _, logits: sides.values(logits, several))
    at = dict(zip(places, np.concatenate(parts).tolist(), strict=True))
    return np.array(
        [[at[column.kind.id, t - column.back] for column in columns] for t in range(first, last)]
    ).reshape(last - first, len(columns))


def follow_all(lens: "GridSource", asked: "Request", sides: Sides) -> Values:
    """The same in all rows, a few at a time so that memory stays bounded."""
    words = len(asked.ids)
    parts = [follow(lens, asked, sides, start, min(start + STEP, words))
             for start in range(0, words, STEP)]  # fmt: skip
    return np.concatenate([np.empty((0, len(lens.columns_for(asked.semantic)))), *parts])


def joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One answer of several that add rows to the first."""
    return {**parts[0], "rows": [row for part in parts for row in part["rows"]]}


def rounded(values: Values, odds: bool) -> list[list[float]]:
    """As they are sent: probabilities to five digits, log odds to four decimals."""
    if odds:
        return [[round(value, 4) for value in row] for row in values.tolist()]
    return [significant(row) for row in values]


@dataclass(frozen=True)
class Followed:
    """Labels that are followed through a grid: a number for every state.

    `followed["h2"][3]` is that of the kind `h2` after the fourth word: the probability of `labels`
    together, or where `against` names others the natural logarithm of the odds, which is positive
    where `labels` are the more probable. `values` has all, words down and kinds across.
    """

    labels: tuple[str, ...]
    against: tuple[str, ...]
    words: tuple[str, ...]
    kinds: tuple[str, ...]
    values: Values  # (T, K)

    def __getitem__(self, kind: str) -> Values:
        if kind not in self.kinds:
            raise RnnlensError(f"there is no kind {kind!r}; there is {', '.join(self.kinds)}")
        column: Values = self.values[:, self.kinds.index(kind)]
        return column

    @property
    def title(self) -> str:
        """What is followed, in words."""
        return followed_title(self.labels, self.against)

    def to_json(self) -> dict[str, Any]:
        """What is drawn of it, as the server answers."""
        return {
            "labels": list(self.labels),
            "against": list(self.against),
            "from": 0,
            "rows": rounded(self.values, bool(self.against)),
        }

    def to_pandas(self) -> "pd.DataFrame":
        """A row for every state: step, word, kind, and `probability` or `log_odds`."""
        name = "log_odds" if self.against else "probability"
        return data_frame(
            {"step": step, "word": word, "kind": kind, name: float(self.values[step, k])}
            for step, word in enumerate(self.words)
            for k, kind in enumerate(self.kinds)
        )

    def __repr__(self) -> str:
        written = odds_text if self.against else percent
        table = [list(self.kinds), *(list(map(written, row)) for row in self.values.tolist())]
        across = [max(map(len, column)) + 2 for column in zip(*table, strict=True)]
        margin = min(18, max(map(width_of, self.words), default=0))
        lines = [self.title]
        for word, row in zip(("", *self.words), table, strict=True):
            head = clip(word, margin)
            numbers = (cell.rjust(wide) for cell, wide in zip(row, across, strict=True))
            lines.append(" " * (margin - width_of(head)) + head + "".join(numbers))
        return "\n".join(lines)


def listed(given: str, known: Sequence[str]) -> tuple[str, ...]:
    """Labels with commas between; a comma alone may be a label itself."""
    return (given,) if given in known else tuple(part for part in given.split(",") if part)
