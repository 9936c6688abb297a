"""How sure a number is that was measured on sentences: 95% intervals by resampling these.

The words of a sentence are not independent of each other, so sentences are drawn, with replacement,
as many as there are, and the number is computed anew of every such draw. Of few sentences the
quantiles are taken further out, as far as a t-distribution is wider than a normal one: a plain
bootstrap is too narrow there (T. Hesterberg, The American Statistician 69, 2015).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95  # of the intervals
LEAST = 20  # sentences, of which an interval can be told
DRAWS = 1000
UNITS = 2048  # that are resampled at most: more sentences are put together at random
_AT_ONCE = 2**22  # numbers of draws held
# The t-distribution's quantiles of 95% intervals, by degrees of freedom from 1.
_FEW = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060)


@dataclass(frozen=True)
class Interval:
    """Between which numbers the true one lies, by 95% intervals."""

    low: float  #: Its lower end.
    high: float  #: Its upper end.


def exponential(numbers: Floats | float) -> Floats:
    """The exponential; infinite, without a word of it, of what is too large for one."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(numbers), np.float64)


class Resamples:
    """Draws of so many sentences, always the same for one seed: whatever is computed of the same
    draws can be compared draw by draw.
    """

    def __init__(self, sentences: int, seed: int = 0, draws: int = DRAWS) -> None:
        self.sentences, self.seed, self.draws = sentences, seed, draws

    @property
    def enough(self) -> bool:
        """Whether there are enough sentences to tell an interval."""
        return self.sentences >= LEAST

    @cached_property
    def _unit_of(self) -> NDArray[np.int64]:
        """Which of the units that are drawn each sentence is in; most often it is one itself."""
        every = np.arange(self.sentences)
        if self.sentences <= UNITS:
            return every
        return np.random.default_rng((self.seed, 2)).permutation(every) % UNITS

    def _times(self) -> Iterable[Floats]:
        """How often each unit is in each draw, some draws at once."""
        units = min(self.sentences, UNITS)
        is_small = self.draws * units <= _AT_ONCE
        return (_kept if is_small else _drawn)(units, self.seed, self.draws)

    def sums(self, values: ArrayLike) -> Floats:
        """The sum over the sentences of each draw, (draws, ...), of what each has, (S, ...)."""
        given = np.asarray(values, np.float64)
        if len(given) != self.sentences:
            raise ValueError(f"{len(given)} values are given for {self.sentences} sentences")
        flat = given.reshape(self.sentences, -1)
        if self.sentences > UNITS:
            units = np.zeros((UNITS, flat.shape[1]))
            np.add.at(units, self._unit_of, flat)
            flat = units
        found = np.concatenate([times @ flat for times in self._times()])
        return found.reshape(self.draws, *given.shape[1:])

    def ratios(self, values: ArrayLike, weights: ArrayLike) -> Floats:
        """The sum of values (S,) over that of weights (S,), draw by draw; NaN where that is 0."""
        pair = np.stack([np.asarray(values, np.float64), np.asarray(weights, np.float64)], 1)
        above, below = self.sums(pair).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(below != 0, above / below, np.nan)

    def interval(self, found: ArrayLike) -> Interval | None:
        """What holds 95% of a number that was computed of each draw, (draws,).

        None where sentences are too few, where the number cannot be computed of most draws, or
        where it is infinite in some.
        """
        numbers = np.asarray(found, np.float64)
        there = numbers[~np.isnan(numbers)]
        if not self.enough or len(there) < LEVEL * self.draws or np.isinf(there).any():
            return None
        beyond = _beyond(self.sentences)
        low, high = np.quantile(there, (beyond, 1 - beyond))
        return Interval(float(low), float(high))


def _drawn(units: int, seed: int, draws: int) -> Iterator[Floats]:
    """How often each of the units is in each of the draws, some draws at once."""
    draw = np.random.default_rng((seed, 1))
    at_once = max(1, _AT_ONCE // max(1, units))
    for first in range(0, draws, at_once):
        rows = min(at_once, draws - first)
        drawn = draw.integers(0, units, (rows, units)) + units * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * units)
        yield times.reshape(rows, units).astype(np.float64)


@lru_cache(2)  # the parts of a large corpus have the same
def _kept(units: int, seed: int, draws: int) -> Sequence[Floats]:
    """What `_drawn` gives, kept."""
    return tuple(_drawn(units, seed, draws))


def interval(values: ArrayLike, weights: ArrayLike | None = None, seed: int = 0) -> Interval | None:
    """The interval of a mean: of the sum of what sentences have, (S,), over the sum of what they
    weigh, (S,), such as their words; without weights each counts once. None: too few sentences.
    """
    given = np.asarray(values, np.float64)
    resamples = Resamples(len(given), seed)
    if not resamples.enough:
        return None
    return resamples.interval(
        resamples.ratios(given, np.ones(len(given)) if weights is None else weights)
    )


def all_or_none(count: int, share: float) -> Interval:
    """The interval of a share of `count` that is 0 or 1, where resampling finds always the same
    (E. B. Wilson, Journal of the American Statistical Association 22, 1927).
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    width = z**2 / (count + z**2)
    return Interval(1 - width, 1.0) if share else Interval(0.0, width)


def is_apart(values: ArrayLike) -> bool:
    """Whether the 95% interval of the mean of some numbers, two or more, leaves zero out."""
    given = np.asarray(values, np.float64)
    spread = float(given.std(ddof=1)) / math.sqrt(len(given))
    return abs(float(given.mean())) > _student(len(given) - 1) * spread


def below(first: ArrayLike, second: ArrayLike) -> float:
    """In which share of the same draws one number lies below another; equal ones count half."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    return float(np.mean((a < b) + 0.5 * (a == b)))


def too_few(sentences: int) -> str:
    """Why there is no interval, in one line."""
    return f"{sentences} sentences are too few to say how sure a number is; give {LEAST} or more"


def _beyond(count: int) -> float:
    """Which share lies beyond either end, for intervals over so many sentences."""
    free = count - 1
    return NormalDist().cdf(-_student(free) * math.sqrt(count / free))


def _student(free: int) -> float:
    """The t-distribution's quantile of 95% intervals."""
    if free <= len(_FEW):
        return _FEW[free - 1]
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    # Cornish and Fisher's, right to 0.004 from 9 degrees on.
    return z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
