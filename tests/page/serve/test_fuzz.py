"""A slice of the random requests of tests/fuzz/requests.py."""

import pytest
from tests.asks import grid_json
from tests.fuzz.requests import fuzz
from tests.page.serve.test_connections import served


@pytest.mark.slow
def test_random_requests_are_answered_in_time_and_nothing_breaks(formula, complaints):
    grid_json(formula, "the dog")  # the first of a process takes longest
    with served(formula) as address:
        report = fuzz(address, seed=1, count=120, seconds=20)
    assert report.problems == []
    assert complaints == []
    assert {"200", "400", "422", "405"} <= report.statuses.keys()
