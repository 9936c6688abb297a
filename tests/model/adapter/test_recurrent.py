"""Both ways of computing a recurrence give the same kinds, and kinds know their sources."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from rnnlens.model.adapter.recurrent import FAMILIES, Place, Weights, placed
from rnnlens.model.kinds import Source

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


def test_a_reverse_layer_comes_after_what_follows_it():
    place = Place("encoder.", 2, True, 3, ("encoder.h1", "encoder.h1<"))
    by_id = {k.id: placed(k, place, Weights(torch.ones(1), torch.ones(1)))
             for k in FAMILIES["LSTM"].kinds}  # fmt: skip
    forget, memory = by_id["f"], by_id["l"]
    assert forget.id == "encoder.f2<"
    assert forget.layer == 3
    assert forget.name == "← forget gate"
    assert forget.sources == (
        Source("encoder.h1"), Source("encoder.h1<"), Source("encoder.h2<", -1)
    )  # fmt: skip
    assert memory.sources == (Source("encoder.f2<"), Source("encoder.c2<", -1))
    assert memory.equation == "l = f ∘ c₊₁"


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
    weights, place = Weights(torch.ones(1), torch.ones(1)), Place("", 1, False, 1, ("x",))
    found = {k.id: placed(k, place, weights).equation for k in FAMILIES[mode].kinds}
    assert found[kind] == equation


def test_a_projection_is_in_the_equation_of_the_output():
    one = torch.ones(1)
    place = Place("", 1, False, 1, ("x",))
    last = placed(FAMILIES["LSTM"].kinds[-1], place, Weights(one, one, one, one, one))
    assert last.equation == "h = W_p (o ∘ tanh(c))"
