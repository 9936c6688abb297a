"""The unigram baseline: what can be said of a label by its frequency in training alone."""

from torch import Tensor


def log_prior(counts: Tensor) -> Tensor:
    """The log frequencies (V,) of labels, each counted once more than it occurs."""
    smoothed = counts.double() + 1
    return (smoothed / smoothed.sum()).log()
