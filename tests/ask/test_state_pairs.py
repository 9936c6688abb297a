"""How far apart two states are."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.asks import ask

from rnnlens.ask.state_pairs import DivergenceQuestion, Pair, PairEnd, between
from rnnlens.base.errors import RnnlensError


def end(column="h2", row=0, text="the dog sees", semantic=None):
    return PairEnd(column=column, row=row, text=text, semantic=semantic)


def divergences(lens, pairs):
    given = tuple(Pair(a=a, b=b) for a, b in pairs)
    return ask(lens, DivergenceQuestion(pairs=given))["bits"]


def jensen_shannon(p, q):
    """In bits, written out."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    middle = (p + q) / 2
    parts = [d[d > 0] * np.log2(d[d > 0] / middle[d > 0]) for d in (p, q)]
    return float(sum(part.sum() for part in parts) / 2)


def test_by_hand():
    half, sure = torch.tensor([0.0, 0.0]).double(), torch.tensor([0.0, -1e9]).double()
    assert between(sure, sure.flip(0)) == pytest.approx(1)
    assert between(half, half) == 0
    middle = 0.8112781  # bits in one of four
    assert between(half, sure) == pytest.approx(middle - (1 + 0) / 2)


@given(arrays(np.float64, (2, 9), elements=st.floats(-20, 20)))
def test_it_is_symmetric_and_between_nothing_and_one_bit(x):
    a, b = torch.from_numpy(x)
    bits = between(a, b)
    assert 0 <= bits <= 1
    assert bits == pytest.approx(between(b, a), abs=1e-12)
    assert bits == pytest.approx(jensen_shannon(a.softmax(0), b.softmax(0)), abs=1e-12)


def test_of_states(formula):
    pairs = [
        (end("c2@-1", 1), end("c2", 0)),  # one and the same state
        (end("l2"), end("s2")),
        (end("y", 0), end("y", 2, "the dog said")),
        (end("h2", 1, semantic="input"), end("h2", 1)),
    ]
    bits = divergences(formula, pairs)
    assert bits[0] == pytest.approx(0, abs=1e-6)
    ids = formula.subject.session.vocabulary.encode(["the"])
    states = formula.subject.model.trace(torch.tensor(ids)[:, None]).states
    p, q = (
        formula.subject.probes.logits(kind, states[kind][0, 0]).double().softmax(0)
        for kind in ("l2", "s2")
    )
    assert bits[1] == pytest.approx(jensen_shannon(p, q), abs=1e-6)
    assert bits[2] > 0
    assert bits[3] > 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (end("q9"), "has no column 'q9'; it has x"),
        (end(row=3), "there is no row 3; the text has 3 words"),
        (end(semantic="output+7"), "no probes for the semantic"),
        (end(text="the {dog|dogs} see"), "is read twice, and this is asked of one text"),
    ],
)
def test_what_is_not_there_is_said(formula, wrong, said):
    with pytest.raises(RnnlensError, match=said):
        divergences(formula, [(end(), wrong)])


def test_too_many_words_are_refused(formula):
    pairs = [(end(text=f"{word} " + "the " * 1999), end()) for word in ("a", "dog", "see")]
    with pytest.raises(RnnlensError, match="6,003 words together; compare fewer"):
        divergences(formula, pairs)
