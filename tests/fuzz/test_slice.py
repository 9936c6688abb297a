"""A short slice of `make fuzz`, and that it notices what it looks for."""

import os
import random
import time

import pytest
from tests.fuzz import harness, mutations
from tests.fuzz.checkpoints import Checkpoints
from tests.fuzz.corpora import Corpora
from tests.fuzz.indexes import Indexes
from tests.fuzz.published import Published
from tests.fuzz.runs import Runs
from tests.fuzz.states import PlainStates, States
from tests.fuzz.suites import Suites
from tests.sampling import sampled


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "count"),
    sampled(
        [
            (Runs, 40),
            (Checkpoints, 12),
            (Corpora, 30),
            (Indexes, 12),
            (PlainStates, 60),
            (States, 20),
            (Suites, 60),
        ],
        (Checkpoints, 12),
        (Suites, 60),
        (PlainStates, 60),
    ),
)
def test_a_slice_of_all_mutations_is_refused_or_harmless(tmp_path, subject, count):
    case, outcomes = subject(tmp_path), []
    for number in range(count):
        outcome, detail = harness.outcome_of(case, "slice", number, tmp_path / "cases")
        assert outcome in ("refused", "same", "other"), f"case {number}: {outcome} {detail}"
        outcomes.append(outcome)
    assert {"refused", "same"} <= set(outcomes)


@pytest.mark.release
def test_what_goes_wrong_is_counted(monkeypatch):
    monkeypatch.setattr(harness, "SECONDS", 0.2)
    monkeypatch.setattr(harness, "LONGEST", 4.0)
    monkeypatch.setattr(harness, "MEMORY", 64 << 20)
    outcomes = ["same", "traceback", "hang", "crash", "different", "memory", "refused"]
    numbers = [random.Random(f"s/{k}").random() for k in range(len(outcomes))]

    def case(chance, folder):
        outcome = outcomes[numbers.index(chance.random())]
        if outcome == "traceback":
            raise ValueError("a problem")
        if outcome == "hang":
            time.sleep(60)
        if outcome == "crash":
            os._exit(3)
        if outcome == "memory":
            held = b"x" * (256 << 20)
            time.sleep(3)
            del held
        return outcome

    tally = harness.run(case, len(outcomes), "s")
    assert dict(tally.counts) == dict.fromkeys(outcomes, 1)
    assert "ValueError: a problem" in "".join(tally.failures)


@pytest.mark.slow
def test_a_slice_of_mutated_published_files_says_so_or_is_right(tmp_path, browser):
    case, outcomes = Published(tmp_path), []
    case.browser = os.getpid(), browser
    for number in range(4):
        outcome, detail = harness.outcome_of(case, "slice", number, tmp_path / "cases")
        assert outcome in ("refused", "same"), f"case {number}: {outcome} {detail}"
        outcomes.append(outcome)
    assert "refused" in outcomes


def test_copies_of_a_list_stay_small():
    for seed in range(60):
        value = [["a" * 50_000]]
        mutations.spoil_value(value, random.Random(seed))
        assert len(str(value)) < 2 * mutations.MOST
