"""Cells agree with torch's own recurrences and with the paper's equations."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn, sigmoid, tanh

import rnnlens
from rnnlens.model.cell import Layer, Weights
from rnnlens.model.cells import CELLS
from rnnlens.model.cells.classic import TORCHS, weights_of

REFERENCES: dict[str, Callable[..., nn.RNNBase]] = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


class Case(NamedTuple):
    """A cell, torch's own with the same weights, and something to read."""

    name: str
    layer: Layer
    reference: nn.RNNBase
    x: Tensor  # (T, B, I)


def case(name: str, inputs: int, width: int, time: int, batch: int, seed: int) -> Case:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        reference = REFERENCES[name](inputs, width).double()
        x = torch.randn(time, batch, inputs, dtype=torch.float64)
        for p in reference.parameters():
            nn.init.normal_(p)
    layer = Layer(CELLS[name], inputs, width).double()
    with torch.no_grad():
        for name, weight in weights_of(reference)[0].items():
            layer.weights()[name].copy_(weight)
    return Case(name, layer, reference, x)


size = st.integers(1, 6)
cases = st.builds(
    case, st.sampled_from(sorted(REFERENCES)), size, size, size, size, st.integers(0, 2**31)
)
lstms = st.builds(case, st.just("lstm"), size, size, size, size, st.integers(0, 2**31))
grus = st.builds(case, st.just("gru"), size, size, size, size, st.integers(0, 2**31))
quick = settings(deadline=None)


def traced(it: Case) -> dict[str, Tensor]:
    with torch.no_grad():
        return it.layer.cell.states(it.x, it.layer.start(it.x.shape[1]), it.layer.weights())


def stepwise(it: Case) -> dict[str, Tensor]:
    return it.layer.cell._stepwise(it.x, it.layer.start(it.x.shape[1]), it.layer.weights(), {})


def outputs(it: Case, weights: Weights | None = None) -> Tensor:
    start = it.layer.start(it.x.shape[1])
    return it.layer.cell.outputs(it.x, start, weights or it.layer.weights())


def before(values: Tensor) -> Tensor:
    """(T, B, H) one step earlier; zeros before the first word."""
    return torch.cat([torch.zeros_like(values[:1]), values[:-1]])


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


@given(cases)
@quick
def test_trace_equals_torch(it):
    expected, last = it.reference(it.x)
    states = traced(it)
    close(states["h"], expected)
    if it.name == "lstm":
        close(states["c"][-1], last[1][0])


@given(cases)
@quick
def test_the_equations_step_by_step_are_what_is_computed_quickly(it):
    expected = stepwise(it)
    states = traced(it)
    assert list(states) == list(expected)
    for kind, values in states.items():
        close(values, expected[kind])


@pytest.mark.slow
@given(cases, st.integers(0, 5))
@quick
def test_an_edit_that_changes_nothing_changes_nothing(it, step):
    start = it.layer.start(it.x.shape[1])
    edits = {step: lambda letter, value: value}
    with torch.no_grad():
        states = it.layer.cell.states(it.x, start, it.layer.weights(), edits)
    for kind, values in traced(it).items():
        close(states[kind], values)


@given(cases)
@quick
def test_sequence_equals_torch(it):
    close(outputs(it), it.reference(it.x)[0])


@given(cases, st.integers(0, 2**31))
@quick
def test_sequence_uses_the_recurrent_weights_it_is_handed(it, seed):
    generator = torch.Generator().manual_seed(seed)

    def drop(weight: Tensor) -> Tensor:
        return weight * torch.rand(weight.shape, generator=generator, dtype=torch.float64).gt(0.5)

    thinned = it.layer.weights(drop)
    with torch.no_grad():
        it.reference.weight_hh_l0.copy_(thinned["w_h"])
    close(outputs(it, thinned), it.reference(it.x)[0])


@given(cases)
@quick
def test_trace_and_sequence_have_the_same_gradients(it):
    parameters = list(it.layer.parameters())
    start = it.layer.start(it.x.shape[1])
    states = it.layer.cell.states(it.x, start, it.layer.weights())
    by_step = torch.autograd.grad(states["h"].square().sum(), parameters)
    fused = outputs(it).square().sum()
    for a, b in zip(by_step, torch.autograd.grad(fused, parameters), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@given(lstms)
@quick
def test_lstm_states_satisfy_the_papers_equations(it):
    s = traced(it)
    blocks = [w.chunk(4) for w in it.layer.weights().values()]
    for kind, row, squash in (
        ("i", 0, sigmoid),
        ("f", 1, sigmoid),
        ("g", 2, tanh),
        ("o", 3, sigmoid),
    ):
        w_x, w_h, b_x, b_h = (block[row] for block in blocks)
        close(s[kind], squash(it.x @ w_x.T + b_x + before(s["h"]) @ w_h.T + b_h))
    close(s["l"], s["f"] * before(s["c"]))
    close(s["s"], s["i"] * s["g"])
    close(s["c"], s["l"] + s["s"])
    close(s["h"], s["o"] * tanh(s["c"]))


@given(grus)
@quick
def test_gru_states_satisfy_their_equations(it):
    w, s = it.layer.weights(), traced(it)
    x_r, x_z, x_n = (it.x @ w["w_x"].T + w["b_x"]).chunk(3, -1)
    h_r, h_z, h_n = (before(s["h"]) @ w["w_h"].T + w["b_h"]).chunk(3, -1)
    close(s["r"], sigmoid(x_r + h_r))
    close(s["z"], sigmoid(x_z + h_z))
    close(s["n"], tanh(x_n + s["r"] * h_n))
    close(s["k"], s["z"] * before(s["h"]))
    close(s["w"], (1 - s["z"]) * s["n"])
    close(s["h"], s["k"] + s["w"])


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_a_trace_holds_exactly_the_declared_kinds_in_order(name):
    it = case(name, inputs=3, width=4, time=5, batch=2, seed=0)
    states = traced(it)
    assert list(states) == [kind.id for kind in it.layer.cell.kinds]
    assert {tuple(values.shape) for values in states.values()} == {(5, 2, 4)}
    assert set(it.layer.cell.carried) <= set(states)


MODULES: dict[str, Callable[..., nn.RNNBase]] = {
    "LSTM": nn.LSTM,
    "GRU": nn.GRU,
    "RNN_TANH": nn.RNN,
    "RNN_RELU": lambda *sizes, **flags: nn.RNN(*sizes, **flags, nonlinearity="relu"),
}


@given(st.sampled_from(sorted(MODULES)), size, size, size, size, st.booleans(), st.booleans())
@settings(max_examples=2 * settings().max_examples, deadline=None)
@torch.no_grad()
def test_quick_fused_and_stepwise_ways_agree(mode, inputs, width, steps, batch, bias, project):
    with torch.random.fork_rng():
        torch.manual_seed(inputs * 5 + width)
        flags = {"proj_size": width - 1} if mode == "LSTM" and project else {}
        module = MODULES[mode](inputs, width, bias=bias, **flags).double()
        x = torch.randn(steps, batch, inputs, dtype=torch.float64)
        start = {
            "h": torch.randn(batch, module.proj_size or width, dtype=torch.float64),
            "c": torch.randn(batch, width, dtype=torch.float64),
        }
    (weights,), cell = weights_of(module), TORCHS[mode]
    ways = [cell._states(x, start, weights, {}, fused) for fused in (False, True)]
    ways.append(cell._stepwise(x, start, weights, {}))
    assert list(ways[0]) == list(ways[1]) == [kind.id for kind in cell.kinds]
    for way in ways[1:]:
        for kind, values in ways[0].items():
            torch.testing.assert_close(values, way[kind], rtol=0, atol=1e-12)
    given = (start["h"][None], start["c"][None]) if mode == "LSTM" else start["h"][None]
    torch.testing.assert_close(ways[0]["h"], module(x, given)[0], rtol=0, atol=1e-12)


def test_the_page_has_the_equations_of_the_cells_that_say_so():
    """A published file is made of cells that are in its engine, by name."""
    engine = Path(rnnlens.__file__).parent / "page" / "web" / "engine"
    source = (engine / "cells.js").read_text(encoding="utf-8")
    names = re.findall(r"(\w+)(?::|,| })", source.partition("export const CELLS = {")[2])
    blocks = (engine / "recurrences.js").read_text(encoding="utf-8")
    blocks = blocks.partition("export const RECURRENCES = {")[2]
    names += re.findall(r"^  (\w+): {$", blocks, re.MULTILINE)
    declared = {cell.name for cell in (*CELLS.values(), *TORCHS.values()) if cell.in_browser}
    assert set(names) - {"elman", "rectified"} == declared
