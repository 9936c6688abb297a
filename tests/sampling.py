"""What of a family of tests is tried at every change, and what before a release only."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], *sample: Any) -> list[Any]:
    """Parameters of a test: `make check` tries all of them, `make test` those of the sample."""
    given = list(values)
    assert all(one in given for one in sample), "a sample is of the parameters"
    return [one if one in sample else _released(one) for one in given]


def _released(value: Any) -> Any:
    parts = value if isinstance(value, tuple) else (value,)
    return pytest.param(*parts, marks=pytest.mark.release)
