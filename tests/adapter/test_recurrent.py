"""Both ways of computing a recurrence give the same kinds, and kinds know their sources."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from rnnlens.adapter.recurrent import FAMILIES, Weights, equation_of

MODULES: dict[str, Callable[..., nn.RNNBase]] = {
    "LSTM": nn.LSTM,
    "GRU": nn.GRU,
    "RNN_TANH": nn.RNN,
    "RNN_RELU": lambda *sizes, **flags: nn.RNN(*sizes, **flags, nonlinearity="relu"),
}
size = st.integers(1, 5)


@given(st.sampled_from(sorted(MODULES)), size, size, size, size, st.booleans(), st.booleans())
@settings(max_examples=80, deadline=None)
@torch.no_grad()
def test_step_by_step_and_fused_agree(mode, inputs, width, steps, batch, bias, project):
    with torch.random.fork_rng():
        torch.manual_seed(inputs * 5 + width)
        flags = {"proj_size": width - 1} if mode == "LSTM" and project else {}
        module = MODULES[mode](inputs, width, bias=bias, **flags).double()
        x = torch.randn(steps, batch, inputs, dtype=torch.float64)
        start = {
            "h": torch.randn(batch, module.proj_size or width, dtype=torch.float64),
            "c": torch.randn(batch, width, dtype=torch.float64),
        }
    tensors = list(module.all_weights[0])
    projection = tensors.pop() if flags.get("proj_size") else None
    b_x, b_h = tensors[2:] or (None, None)
    weights = Weights(tensors[0], tensors[1], b_x, b_h, projection)
    family = FAMILIES[mode]
    ways = [family.compute(x, start, weights, fused) for fused in (False, True)]
    assert list(ways[0]) == list(ways[1]) == [kind.id for kind in family.kinds]
    for kind, values in ways[0].items():
        torch.testing.assert_close(values, ways[1][kind], rtol=0, atol=1e-12)
    given = (start["h"][None], start["c"][None]) if mode == "LSTM" else start["h"][None]
    torch.testing.assert_close(ways[0]["h"], module(x, given)[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("mode", "kind", "equation"),
    [
        ("LSTM", "f", "f = σ(W_f [x, h₋₁])"),
        ("GRU", "n", "n = tanh(W_n x + r ∘ (U_n h₋₁))"),
        ("RNN_RELU", "h", "h = relu(W [x, h₋₁])"),
        ("GRU", "h", "h = k + w"),
    ],
)
def test_equations_without_biases_have_none(mode, kind, equation):
    weights = Weights(torch.ones(1), torch.ones(1))
    found = {k.id: equation_of(k, weights) for k in FAMILIES[mode].kinds}
    assert found[kind] == equation


def test_a_projection_is_in_the_equation_of_the_output():
    one = torch.ones(1)
    last = equation_of(FAMILIES["LSTM"].kinds[-1], Weights(one, one, one, one, one))
    assert last == "h = W_p (o ∘ tanh(c))"
