"""sLSTM against its unstabilised equations, its edits and its writers."""

import pytest
import torch
from torch import Tensor

from rnnlens.ask.memory import Direction, stored
from rnnlens.model.cells.slstm import SLSTM
from rnnlens.model.traceable import RecurrentLayer

WIDTH, INPUTS, STEPS = 6, 3, 7


@pytest.fixture
def weights():
    generator = torch.Generator().manual_seed(0)
    shapes = SLSTM(heads=2).shapes(INPUTS, WIDTH)
    return {n: torch.randn(s, generator=generator).double() for n, s in shapes.items()}


@pytest.fixture
def states(weights):
    x = torch.randn(STEPS, 1, INPUTS, generator=torch.Generator().manual_seed(1)).double()
    return x, SLSTM(heads=2).states(x, SLSTM(heads=2).start(weights, 1), weights)


def test_outputs_are_those_without_a_maximum(weights, states):
    x, found = states
    h = c = n = torch.zeros(WIDTH).double()
    apart = torch.stack([torch.block_diag(*gate) for gate in weights["w_h"]])  # (4, H, H)
    for t in range(STEPS):
        raw = weights["w_x"] @ x[t, 0] + weights["b"] + torch.cat([gate @ h for gate in apart])
        i, f, z, o = raw.chunk(4)
        c = torch.sigmoid(f) * c + i.exp() * z.tanh()
        n = torch.sigmoid(f) * n + i.exp()
        h = torch.sigmoid(o) * c / n
        torch.testing.assert_close(found["r"][t, 0], h)
        torch.testing.assert_close(found["c"][t, 0] * found["m"][t, 0].exp(), c)


def test_writers_sum_to_memory_and_output(weights, states):
    cell = SLSTM(heads=2)
    ids = {kind.id: f"{kind.id}1" for kind in cell.kinds}
    named = {ids[kind]: values for kind, values in states[1].items()}
    layer = RecurrentLayer(cell, weights, ids, ("x",))
    for letter in ("c", "k", "n", "r"):
        state = named[ids[letter]][5, 0]
        weight = torch.randn(WIDTH, generator=torch.Generator().manual_seed(2)).double()
        parts, rest = stored([layer], named, Direction(ids[letter], 5, weight, 0.1))
        assert parts.sum() + rest == pytest.approx(float(state @ weight) + 0.1, abs=1e-10)
        assert (parts != 0).sum() == (5 if letter == "k" else 6)


def test_any_kind_is_edited_and_the_recurrence_goes_on(weights, states):
    x, real = states
    cell = SLSTM(heads=2)
    for kind in cell.kinds:

        def more(letter: str, value: Tensor, of: str = kind.id) -> Tensor:
            return value + 0.5 if letter == of else value

        found = cell.states(x, cell.start(weights, 1), weights, {2: more})
        torch.testing.assert_close(found[kind.id][2], real[kind.id][2] + 0.5)
        assert torch.equal(found["r"][:2], real["r"][:2])
        moved = not torch.allclose(found["r"][2:], real["r"][2:], atol=1e-4)
        assert moved is (kind.id != "m"), kind.id  # what numbers are kept within changes nothing


def test_a_true_decay_is_that_without_the_largest_exponent(weights, states):
    _, found = states
    expected = found["a"][1:] * (found["m"][1:] - found["m"][:-1]).exp()
    assert not torch.allclose(expected, found["a"][1:], rtol=0.1)
    for memory in "cn":
        true = SLSTM(heads=2).true_decay(memory, found, weights)
        torch.testing.assert_close(true[1:], expected)
