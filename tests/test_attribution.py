"""The scoreboard of readings: exact Shapley values, interchange, and words that are planted."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
import torch
from benchmarks.attribution import METHODS, WORDS, Short, ahead, keeper, planted, shapley

from rnnlens.ask.stand_ins import STAND_INS, StandIns
from rnnlens.model.traceable import StateEdit

SIDES = (1, 2)


def said(model, ids):
    """How far one label is ahead after a text, by the model's own logits."""
    logits = model.trace(torch.tensor(ids)[:, None]).logits[-1, 0].double()
    return float(logits[SIDES[0]] - logits[SIDES[1]])


def put(value, _state):
    return value


@pytest.mark.parametrize("stand_in", STAND_INS)
def test_shapley_values_are_means_over_all_orders_of_adding_words(stand_in):
    """From the definition: in every order each word is added to those before it."""
    subject, ids = keeper("lstm", 0), [5, 1, 7]
    values = shapley(subject, ids, SIDES, stand_in)
    stand_ins = StandIns(subject, ids)
    chosen = stand_ins.of(stand_in, draws=8, seed=1)
    assert chosen is not None
    drawn = stand_ins.drawn(chosen, subject.model.trace(torch.tensor(ids)[:, None]))
    readout = subject.model.classifier()
    assert readout is not None
    bias = readout.bias.double()

    def value(kept):
        if stand_in == "left_out":
            there = [ids[k] for k in sorted(kept)]
            return said(subject.model, there) if there else float(bias[1] - bias[2])
        each = [
            said(subject.model, [ids[k] if k in kept else drawn[k][draw] for k in range(3)])
            for draw in range(len(drawn[0]))
        ]
        return sum(each) / len(each)

    expected = np.zeros(3)
    for order in itertools.permutations(range(3)):
        for k, word in enumerate(order):
            added = value({*order[: k + 1]}) - value({*order[:k]})
            expected[word] += added / math.factorial(3)
    np.testing.assert_allclose(values, expected, atol=1e-5)
    assert values.sum() == pytest.approx(value({0, 1, 2}) - value(set()), abs=1e-5)


def test_interchange_puts_the_inputs_of_other_sentences_in_a_words_place():
    subject = keeper("gru", 1)
    draw = np.random.default_rng(3)
    sentences = [[WORDS[k] for k in draw.integers(1, len(WORDS), 6)] for _ in range(9)]
    short = Short(subject, sentences, 2)
    ids = short.texts[0]
    model = subject.model
    lost = short.interchanged(ids, SIDES)
    for step in (0, 3, 5):
        again = []
        for other in short.others:
            x = model.trace(torch.tensor(other)[:, None]).states["x"][step]
            edit = StateEdit("x", step, partial(put, x))
            logits = model.trace(torch.tensor(ids)[:, None], edits=[edit]).logits
            assert logits is not None
            again.append(float(logits[-1, 0, SIDES[0]] - logits[-1, 0, SIDES[1]]))
        assert lost[step] == pytest.approx(said(model, ids) - np.mean(again), abs=1e-5)
    assert ahead(model, torch.tensor(ids)[:, None], SIDES)[0] == pytest.approx(said(model, ids))
    same = short.same_word()
    assert all(same[name][name] == 1 for name in STAND_INS)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_the_word_that_was_planted_is_named_by_what_is_stored_and_by_reading_again(cell):
    right = planted(cell, 8)
    assert list(right) == list(METHODS)
    for name in ("stored", "path", *STAND_INS):
        assert np.mean(right[name]) == 1, name
