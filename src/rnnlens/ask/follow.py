"""Follow labels: how probable they are in every state of a text, or how one set of them stands
against another.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass as question
from torch import Tensor
from torch.nn.functional import logsigmoid

from rnnlens.ask.grids import Steps, showing
from rnnlens.ask.json_types import Count, FollowedNumber
from rnnlens.ask.questions import MOST_LABELS, STRICT, Name, OfRows, Subjects, several
from rnnlens.ask.results import ByKind, Values
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message
from rnnlens.base.schema import sent, to_json
from rnnlens.draw.printable import clip, followed_title, odds_text, percent, width_of
from rnnlens.labels.sets import number_of
from rnnlens.reading.encoding import significant
from rnnlens.reading.lines import Lines
from rnnlens.reading.reading import Reading
from rnnlens.reading.rows import each_state, table_of


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
            raise RnnlensError(message("no_followed"))
        numbers = tuple([number_of(label, known) for label in some] for some in (first, second))
        if both := [label for label in first if label in second]:
            raise RnnlensError(message("followed_against", label=repr(both[0])))
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
        log_odds: Values = (ours - exact[:, self.numbers[1]].logsumexp(1)).numpy()
        return log_odds

    def _of_several(self, logits: Tensor) -> Values:
        if not self.against:
            none = logsigmoid(-logits[:, self.numbers[0]]).sum(1)
            found: Values = (-none.expm1()).numpy()
            return found
        ours, theirs = (logsigmoid(logits[:, some]).logsumexp(1) - math.log(len(some))
                        for some in self.numbers)  # fmt: skip
        log_odds: Values = (ours - theirs).numpy()
        return log_odds


@question(frozen=True, kw_only=True, config=STRICT)
class FollowQuestion(OfRows):
    """Labels to follow through some rows of a text's grid, and those that stand against them."""

    labels: tuple[Name, ...] = several(MOST_LABELS, default=...)
    against: tuple[Name, ...] = several(MOST_LABELS)


@dataclass(frozen=True, eq=False, kw_only=True)
class Followed(ByKind):
    """Labels that are followed through a grid: a number for every state.

    `followed["h2"][3]` is that of the kind `h2` after the fourth word: the probability of `labels`
    together, or where `against` names others the natural logarithm of the odds, which is positive
    where `labels` are the more probable. `values` has all, words down and kinds across; NaN where
    two texts are compared and one has no word, and of states that were not asked for.
    """

    labels: tuple[str, ...]
    against: tuple[str, ...]
    first: Count = sent("rows[0] is this row of the grid", name="from", default=0)
    values: Values = sent(
        "a number for each column; null: of a state that was not wanted",
        name="rows", type=list[list[FollowedNumber | None]], write=lambda values: values,
    )  # fmt: skip

    @property
    def title(self) -> str:
        """What is followed, in words."""
        return followed_title(self.labels, self.against)

    def to_json(self) -> dict[str, Any]:
        """What is drawn of it: probabilities to five digits, log odds to four decimals."""
        if self.against:
            rows = [
                [round(value, count("odds_decimals")) for value in row]
                for row in self.values.tolist()
            ]
        else:
            rows = [significant(row) for row in self.values]
        shown = [[] if all(map(math.isnan, row)) else [None if math.isnan(one) else one
                 for one in row] for row in rows]  # fmt: skip
        return {**to_json(self), "rows": shown}

    def _row(self, step: int, kind: str, value: float) -> Mapping[str, Any]:  # noqa: ARG002
        return {"log_odds" if self.against else "probability": value}

    def __repr__(self) -> str:
        write = odds_text if self.against else percent
        rows = [["-" if math.isnan(v) else write(v) for v in row] for row in self.values.tolist()]
        table = [list(self.kinds), *rows]
        across = [max(map(len, column)) + 2 for column in zip(*table, strict=True)]
        margin = min(18, max(map(width_of, self.words), default=0))
        lines = [self.title]
        for word, row in zip(("", *self.words), table, strict=True):
            head = clip(word, margin)
            numbers = (cell.rjust(wide) for cell, wide in zip(row, across, strict=True))
            lines.append(" " * (margin - width_of(head)) + head + "".join(numbers))
        return "\n".join(lines)


def follow_steps(subjects: Subjects, asked: FollowQuestion) -> Steps:
    """How probable labels are in rows or lines, a few at a time."""
    lines = showing(subjects.read(asked), asked.columns)
    spans = lines.spans(asked.first, asked.limit)
    for part, more in _parts(lines, asked.labels, asked.against, spans):
        yield part.to_json(), more


def follow_all(lines: Lines, labels: Sequence[str], against: Sequence[str] = ()) -> Followed:
    """What is followed, in every row or line."""
    parts = [part for part, _ in _parts(lines, labels, against, lines.spans())]
    values = np.concatenate([part.values for part in parts])
    return replace(parts[0], values=values, words=tuple(lines.words))


def _parts(
    lines: Lines,
    labels: Sequence[str],
    against: Sequence[str],
    spans: Iterator[tuple[int, int, bool]],
) -> Iterator[tuple[Followed, bool]]:
    sides = {one.subject: Sides.of(labels, against, one.answers.names) for one in lines.shown}
    ids = tuple(column.id for column in lines.columns)

    def each(reading: Reading, first: int, last: int) -> list[list[float]]:
        chosen, several = sides[reading.subject], reading.answers.several
        values = each_state(reading, first, last, lambda _, some: chosen.values(some, several))
        return table_of(reading, lines.columns, first, last, np.concatenate(values).tolist(),
                        math.nan)  # fmt: skip

    named, words = sides[lines.shown[0].subject], lines.words
    gap = [math.nan] * len(ids)
    for first, last, more in spans:
        rows = [row or gap for row in lines.by_line(first, last, each)]
        values = np.array(rows, np.float64).reshape(len(rows), len(ids))
        yield Followed(
            words=tuple(words[first:last]), kinds=ids, values=values, labels=named.labels,
            against=named.against, first=first,
        ), more  # fmt: skip
