"""Random draws that are the same everywhere: a function of the seed and of what is drawn, by whole
numbers of 32 bits, which the published page has too.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.rules import number

_STEP = np.uint32(0x9E3779B9)  # from one of several to the next
_WHOLE = 2**32


def uniform(seed: int, samples: int, step: int, count: int) -> NDArray[np.float64]:
    """Numbers between 0 and 1, (samples, count), for a step of each sample."""
    begin = _mixed(np.array([seed], np.uint32))
    begin = _mixed(begin ^ np.arange(samples, dtype=np.uint32))
    begin = _mixed(begin ^ np.uint32(step))
    steps = np.arange(count, dtype=np.uint32) * _STEP
    drawn: NDArray[np.float64] = (_mixed(begin[:, None] + steps) + 0.5) / _WHOLE
    return drawn


def weighted(weights: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """For numbers between 0 and 1 the place in `weights` that each falls on, as often as that
    weighs.
    """
    upto = np.cumsum(weights)
    found: NDArray[np.int64] = np.searchsorted(upto, shares * upto[-1], side="right")
    return found


def half_width(spread: float, draws: int) -> float:
    """How far to either side of the mean of some draws a 95% interval reaches: Student's, whose
    quantile is that of the normal distribution and three terms of its expansion (Cornish and
    Fisher), which from seven degrees of freedom on is exact to a thousandth.
    """
    z, n = number("quantile"), draws - 1
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    quantile = math.fsum(term / n**k for k, term in enumerate(terms))
    return quantile * spread / math.sqrt(draws)


def _mixed(x: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Whole numbers of 32 bits as others that look random (Wellons' lowbias32)."""
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))
