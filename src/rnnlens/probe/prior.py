"""The unigram baseline: what can be said of a label by its frequency in training alone."""

from torch import Tensor


def log_prior(counts: Tensor) -> Tensor:
    """Log frequencies (V,) of labels that were met so often, each counted once more."""
    smoothed = counts.double() + 1
    return (smoothed / smoothed.sum()).log()
