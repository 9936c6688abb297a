"""What an index computes of states, a few words at a time, against one state after the other."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import rnnlens
from rnnlens.model.kinds import PREDICTION
from rnnlens.reading.divergence import bits_between
from rnnlens.search import state_predictions
from rnnlens.search.build import Plan
from rnnlens.search.index_files import TOP, Pair
from rnnlens.search.on_device import Drawing
from rnnlens.search.state_predictions import Predictor, _in_order

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


def as_on_a_gpu(predictor: Predictor) -> Predictor:
    """One that computes as it does on a device, though this is the CPU."""
    if predictor.drawn_by.numbers is None and predictor.stack:
        predictor.drawn_by = predictor.palette.by_group
        predictor.place = np.argsort(predictor.order)
        predictor.numbers = torch.from_numpy(predictor.order)
        predictor.stack = _in_order(predictor.stack, predictor.numbers)
    predictor.on_cpu, predictor.drawing = False, Drawing(predictor.drawn_by, CPU)
    return predictor


@pytest.mark.parametrize("words", [2, 5, 64])
@pytest.mark.parametrize("apart", [False, True])
def test_a_gpu_finds_what_a_cpu_does(subject, states, words, apart):
    """Its operations, run here on the CPU; also where each kind has label weights of its own."""
    probes = subject.probes
    if apart:
        stack = probes.stacks["output"]
        alone = replace(stack, map=stack.labels @ stack.map, labels=None)
        probes = replace(probes, stacks={"output": alone})
    palette = Plan(subject, "output").palette
    wanted = np.arange(COUNT) * 1000 - 1
    found = []
    for change in (lambda predictor: predictor, as_on_a_gpu):
        predictor = change(Predictor(subject.model, probes, "output", palette, PAIRS, CPU))
        predictor.words = predictor.together = words
        found.append(predictor.of(states, dict.fromkeys(predictor.kinds, wanted), STARTS))
    one, other = found
    for kind, drawn in one.encodings.items():
        for name in drawn.__dataclass_fields__:
            a, b = getattr(drawn, name), getattr(other.encodings[kind], name)
            assert a.shape == b.shape, (kind, name)
            assert a.dtype == b.dtype, (kind, name)
            assert np.allclose(a, b, atol=2e-4, equal_nan=True), (kind, name)
    for pair, bits in one.divergences.items():
        assert np.allclose(bits, other.divergences[pair], atol=2e-4, equal_nan=True), pair


@pytest.mark.parametrize(
    ("known", "chosen"),
    [
        ({"log2": {"ff": {"current": "X86_V4"}}}, np.log2),
        ({"log2": {"ff": {"current": "baseline(SSE SSE2)"}}}, np.log),
        ({"log2": {"ff": {"current": ""}}}, np.log),
        ({"log2": {}}, np.log),
        ({}, np.log),
    ],
)
def test_the_logarithm_to_base_2_is_taken_where_it_is_known_to_be_quick(monkeypatch, known, chosen):
    monkeypatch.setattr(state_predictions, "opt_func_info", lambda **_: known)
    assert state_predictions._logarithm.__wrapped__()[0] is chosen


@pytest.mark.parametrize("logarithm", [(np.log, 1.0), (np.log2, math.log(2))])
def test_sums_of_pairs_are_the_same_by_either_logarithm(monkeypatch, logarithm):
    monkeypatch.setattr(state_predictions, "_logarithm", lambda: logarithm)
    p = torch.rand(2, 3, 500, generator=torch.Generator().manual_seed(0)).softmax(-1)
    sums, room = torch.empty(1, 3), torch.empty(2, 3, 500)
    state_predictions._negentropies_on_cpu([(p[0], p[1])], room[0], room[1], sums)
    both = (p[0] + p[1]).double()
    assert torch.allclose(sums[0].double(), torch.xlogy(both, both).sum(1), rtol=1e-6)
