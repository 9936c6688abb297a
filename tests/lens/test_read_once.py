"""A text is split and encoded once, however many of its states are asked."""

from typing import Any

import pytest
from tests.letters import LanguageModel, batches

import rnnlens
from rnnlens.adapter.stored import StoredModule
from rnnlens.lens.lens import Lens
from rnnlens.model.text import TextSide
from rnnlens.reading.session import Session

WORDS = 200


class Counter:
    """Counts the calls of a method that still does its work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type[Any], name: str) -> None:
        self.calls, work = 0, getattr(owner, name)

        def counted(*given: Any, **named: Any) -> Any:
            self.calls += 1
            return work(*given, **named)

        monkeypatch.setattr(owner, name, counted)


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> tuple[Counter, Counter]:
    """How often words are split, and encoded."""
    return Counter(monkeypatch, Session, "words"), Counter(monkeypatch, TextSide, "encode")


def text_of(lens: Lens) -> str:
    known = [label for label in lens.labels if label.isalpha()]
    return " ".join(known[k % len(known)] for k in range(WORDS))


def test_the_top_labels_of_200_states_take_one_reading(formula, counters):
    words, encoded = counters
    grid = formula(text_of(formula))
    tops = grid["h2"].top(3)
    assert [len(top) for top in tops] == [3] * WORDS
    assert (words.calls, encoded.calls) == (1, 1)


def test_every_other_question_takes_that_reading_too(formula, counters):
    words, encoded = counters
    grid = formula(text_of(formula))
    grid.follow("dog", against="dogs")
    grid.turns()
    grid["l2"].divergence(grid["h2"])
    grid["h2"][3].written_by("dog")
    grid["c2"][WORDS - 1].vector()
    assert (words.calls, encoded.calls) == (1, 1)


def test_a_comparison_takes_a_reading_of_each(formula, formulas, counters):
    words, encoded = counters
    both = formula.compare(formulas["gru"], text_of(formula))
    assert both["h2"].shape == (WORDS,)
    assert (words.calls, encoded.calls) == (2, 2)


def test_a_users_module_is_looked_at_once_before_it_reads(monkeypatch):
    names = [f"w{k}" for k in range(6)]
    lens = rnnlens.fit(LanguageModel(), batches(), names, epochs=1)
    looked = Counter(monkeypatch, StoredModule, "check")
    lens("w1 w2 w3")
    assert looked.calls == 1
