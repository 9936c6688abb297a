"""What an index computes of states, a few words at a time, against one state after the other."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import rnnlens
from rnnlens.model.kinds import PREDICTION
from rnnlens.reading.divergence import bits_between
from rnnlens.search.build import Plan
from rnnlens.search.index_files import TOP, Pair
from rnnlens.search.state_predictions import (
    Predictor,
    _negentropies_on_cpu,
    _negentropies_on_device,
)

CPU = torch.device("cpu")
PAIRS = (
    Pair("l2", "f2", 0), Pair("l2", "l2", 1), Pair("y", "h2", 0), Pair("y", "y", 1),
    Pair("h2", "y", 1), Pair("l1", "l1", -1),
)  # fmt: skip
STARTS = np.array([0, 5, 6])  # of sentences among 13 words
COUNT = 13


@pytest.fixture(scope="module")
def subject() -> Any:
    return rnnlens.load("english-news").subject


@pytest.fixture(scope="module")
def states(subject: Any) -> dict[str, torch.Tensor]:
    draws = torch.Generator().manual_seed(0)
    stack = subject.probes.stacks["output"]
    every = {k: torch.randn(COUNT, w, generator=draws)
             for k, w in zip(stack.kinds, stack.widths, strict=True)}  # fmt: skip
    return every | {PREDICTION: every["h2"]}


def logits_of(subject: Any, states: dict[str, torch.Tensor], kind: str) -> torch.Tensor:
    own = kind == PREDICTION
    found: torch.Tensor = (
        subject.model.predict(states[kind]) if own else subject.probes.logits(kind, states[kind])
    )
    return found


@pytest.mark.parametrize(("words", "together"), [(1, 1), (2, 4), (3, 6), (5, 50), (64, 64)])
def test_words_in_blocks_of_any_size(subject, states, words, together):
    palette = Plan(subject, "output").palette
    predictor = Predictor(subject.model, subject.probes, "output", palette, PAIRS, CPU)
    predictor.words, predictor.together = words, together
    wanted = np.arange(COUNT) * 1000 - 1
    found = predictor.of(states, dict.fromkeys(predictor.kinds, wanted), STARTS)
    begins, ends = np.isin(np.arange(COUNT), STARTS), np.isin(np.arange(COUNT) + 1, [5, 6, 13])
    with torch.inference_mode():
        every = {kind: logits_of(subject, states, kind) for kind in predictor.kinds}
    for kind in ("x", "l2", PREDICTION):
        x, p, made = every[kind], every[kind].softmax(1), found.encodings[kind]
        assert (made.labels == x.topk(TOP, 1).indices.numpy()).all()
        assert np.allclose(made.probabilities, p.topk(TOP, 1).values.numpy(), rtol=1e-3)
        assert made.rank[0] == 0
        assert made.came[0] == 0
        for row in range(1, COUNT):
            rank = 1 + int((x[row] > x[row, wanted[row]]).sum())
            assert abs(made.rank[row] - rank) <= 2, (kind, row)  # products round otherwise
            assert made.came[row] == pytest.approx(float(p[row, wanted[row]]), rel=1e-3)
    for pair in PAIRS:
        here = np.arange(COUNT)
        there = np.clip(here - pair.back, 0, COUNT - 1)
        bits = bits_between(every[pair.kind], every[pair.other][torch.from_numpy(there)])
        none = begins if pair.back > 0 else ends if pair.back < 0 else np.zeros(COUNT, bool)
        assert (np.isnan(found.divergences[pair]) == none).all(), pair
        assert np.allclose(found.divergences[pair][~none], bits[~none], atol=1e-4), pair


def test_labels_that_are_equally_probable_stand_in_their_order(subject, states):
    """Whatever the order is that they are computed in."""
    stack = subject.probes.stacks["output"]
    same = replace(stack, labels=torch.zeros_like(stack.labels))
    equal = replace(subject.probes, stacks={"output": same})
    palette = Plan(subject, "output").palette
    predictor = Predictor(subject.model, equal, "output", palette, (), CPU)
    assert predictor.drawn_by.numbers is not None
    nobody = np.full(COUNT, -1)
    found = predictor.of(states, dict.fromkeys(predictor.kinds, nobody), STARTS)
    assert found.encodings["l2"].labels.tolist() == [list(range(TOP))] * COUNT


def test_the_sums_of_a_gpu_are_those_of_a_cpu():
    """Run here on the CPU."""
    p = torch.rand(3, 4, 50, generator=torch.Generator().manual_seed(0))
    ends = [(p[0, 1:], p[1, :-1]), (p[0, 1:], p[2, 1:])]
    found = []
    for work in (_negentropies_on_cpu, _negentropies_on_device):
        sums = torch.empty(2, 3)
        work(ends, torch.empty(3, 50), torch.empty(3, 50), sums)
        found.append(sums)
    assert torch.allclose(found[0], found[1], rtol=1e-4)
    both = p[0, 1:] + p[1, :-1]
    assert torch.allclose(found[0][0], (both * both.log()).sum(1), rtol=1e-4)
