"""What was measured of every kind at every word before the critical one, by paradigm."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Floats, Resamples, all_or_none, is_apart
from rnnlens.base.schema import rounded, sent, to_json
from rnnlens.base.tables import data_frame
from rnnlens.lab.result import Result

if TYPE_CHECKING:
    import pandas as pd

ALIKE = 0.01  # nats: contexts that differ by less in the mean do not separate
NO_SHARE = (
    "where there is a dash the pairs do not separate: the model's preferences after both contexts "
    "are not told apart, and of no difference there is no share (contrasts)"
)
_number = rounded(4)


@dataclass(frozen=True)
class KindValue:
    """A number of one kind at one word of a paradigm's items."""

    paradigm: str
    kind: str
    before: int  #: Words from this one to the critical one; 1: the last before it.
    items: int  #: Of which it was measured.
    #: None: a share of a difference that is not told apart from zero is no number.
    value: float | None = sent(write=_number)
    low: float | None = sent(write=_number)  #: The lower end of its interval.
    high: float | None = sent(write=_number)  #: The upper end.
    control: float | None = sent(write=_number)  #: The same where nothing should be found.


@dataclass(frozen=True)
class ByParadigm(Result):
    """A number for every paradigm, kind and word before the critical one.

    `found.array("one attractor")` has its numbers with words down, the last before the critical one
    at the end, and kinds across; `found.last()` has paradigms down, at that last word.
    """

    rows_in: ClassVar[str] = "values"

    name: str  #: What the numbers are.
    kinds: tuple[str, ...]
    values: tuple[KindValue, ...]
    #: Of each paradigm the words before the critical one, the most frequent where several are.
    words: Mapping[str, tuple[str, ...]]
    usual: float = 0.0  #: What the number is where nothing is found.
    notes: tuple[str, ...] = ()

    @cached_property
    def paradigms(self) -> tuple[str, ...]:
        """The names of the paradigms, in their order."""
        return tuple(dict.fromkeys(one.paradigm for one in self.values))

    @cached_property
    def cells(self) -> dict[tuple[str, str, int], KindValue]:
        """By paradigm, kind and words before the critical one."""
        return {(one.paradigm, one.kind, one.before): one for one in self.values}

    def at(self, paradigm: str, kind: str, before: int = 1) -> KindValue:
        """The number of one kind, so many words before the critical one."""
        if (paradigm, kind, before) not in self.cells:
            raise RnnlensError(
                f"nothing was measured of {kind} in {paradigm!r}, {before} words before; there is "
                f"{', '.join(self.paradigms)}, and {', '.join(self.kinds)}"
            )
        return self.cells[paradigm, kind, before]

    def array(self, paradigm: str) -> Floats:
        """The numbers of a paradigm, words down and kinds across; NaN where there is none."""
        steps = max((one.before for one in self.values if one.paradigm == paradigm), default=0)
        found = np.full((steps, len(self.kinds)), np.nan)
        for one in self.values:
            if one.paradigm == paradigm and one.value is not None:
                found[steps - one.before, self.kinds.index(one.kind)] = one.value
        return found

    def last(self) -> Floats:
        """The numbers at the last word before the critical one, paradigms down, kinds across."""
        return np.array([self.array(paradigm)[-1] for paradigm in self.paradigms])

    def to_pandas(self) -> "pd.DataFrame":
        """A row for each number; needs pandas."""
        return data_frame(to_json(one) for one in self.values)


def by_paradigm(
    name: str,
    kinds: Sequence[str],
    measured: Mapping[str, tuple[Floats, Floats]],
    words: Mapping[str, tuple[str, ...]],
    usual: float,
    controls: Mapping[str, tuple[Floats, Floats]] | None = None,
    notes: Sequence[str] = (),
) -> ByParadigm:
    """Sums of a numerator over those of a denominator, item by item, (S, D, K) each, and
    intervals.

    NaN: the item has no such word. `controls` are further numerators and denominators. Where the
    denominators are not told apart from zero there is no share, and a note says so.
    """
    rows, alike = list[KindValue](), list[str]()
    for paradigm, (above, below) in measured.items():
        there = ~np.isnan(above) & ~np.isnan(below)
        value, low, high = _shares(above, below, there)
        control = np.full(value.shape, np.nan)
        if controls and paradigm in controls:
            control = _shares(*controls[paradigm], ~np.isnan(controls[paradigm][0]))[0]
        counts = there.sum(0)
        for before, k in np.argwhere(counts > 0):
            place = int(before), int(k)
            numbers = [table[place] for table in (value, low, high, control)]
            if not np.isfinite(numbers[0]):
                numbers = [np.nan] * len(numbers)
            shown = (float(one) if np.isfinite(one) else None for one in numbers)
            rows.append(KindValue(paradigm, kinds[k], int(before) + 1, int(counts[place]), *shown))
        if not np.isfinite(value[counts > 0]).all():
            alike.append(f"{paradigm} ({int(counts.max()):,})")
    told = [f"{NO_SHARE}: {', '.join(alike)}"] if alike else []
    return ByParadigm(name, tuple(kinds), tuple(rows), words, usual, (*notes, *told))


def names_of_words(
    contexts: Iterable[tuple[str, Sequence[int]]], name: Callable[[int], str], most: int
) -> dict[str, tuple[str, ...]]:
    """Of contexts by paradigm, what stands at each place counted from the end: the word, or, with
    an ellipsis, the most frequent one.
    """
    counts: dict[str, list[Counter[int]]] = defaultdict(list)
    for paradigm, ids in contexts:
        there = counts[paradigm]
        for place, word in enumerate(list(ids)[::-1][:most]):
            if place == len(there):
                there.append(Counter())
            there[place][word] += 1
    return {
        paradigm: tuple(
            name(some.most_common(1)[0][0]) + ("…" if len(some) > 1 else "") for some in there[::-1]
        )
        for paradigm, there in counts.items()
    }


def separates(differences: Floats) -> bool:
    """Whether a share of the differences between contexts, in nats, means something: their mean is
    none that chance alone has made. Of a single pair its own difference is all there is.
    """
    if not len(differences) or abs(float(differences.mean())) < ALIKE:
        return False
    return len(differences) == 1 or is_apart(differences)


def _shares(
    above: Floats, below: Floats, there: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats]:
    """Of every cell (D, K) the sum over items of one over that of the other, and an interval."""
    pair = np.stack([np.where(there, above, 0), np.where(there, below, 0)], -1)  # (S, D, K, 2)
    sums = pair.sum(0)
    is_share = bool((below[there] == 1).all())
    apart = np.ones(sums.shape[:-1], bool)
    if not is_share:
        for place in np.ndindex(apart.shape):
            apart[place] = separates(below[:, *place][there[:, *place]])
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(apart, sums[..., 0] / sums[..., 1], np.nan)
    low, high = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    resamples = Resamples(len(pair))
    if resamples.enough:
        drawn = resamples.sums(pair)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(drawn[..., 1] != 0, drawn[..., 0] / drawn[..., 1], np.nan)
        for place in np.ndindex(value.shape):
            if np.isfinite(value[place]) and (sure := resamples.interval(ratios[:, *place])):
                if is_share and value[place] in (0, 1):
                    sure = all_or_none(int(sums[*place, 1]), float(value[place]))
                low[place], high[place] = sure.low, sure.high
    return value, low, high
