"""Cells in loops of the user's: every call one timestep, equal to what the cell returned."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rnnlens.adapter import Adapter
from rnnlens.base.errors import RnnlensError

CELLS: dict[str, Callable[..., nn.RNNCellBase]] = {
    "lstm": nn.LSTMCell,
    "gru": nn.GRUCell,
    "tanh": nn.RNNCell,
    "relu": partial(nn.RNNCell, nonlinearity="relu"),
}
LAYERS: dict[str, Callable[..., nn.RNNBase]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": partial(nn.RNN, nonlinearity="relu"),
}
quick = settings(max_examples=settings().max_examples * 3 // 2, deadline=None)
size = st.integers(1, 5)


class Loop(nn.Module):
    """Reads (T, B, I), or (T, I), one timestep at a time."""

    def __init__(
        self, cell: nn.RNNCellBase, change: Callable[[Tensor], Tensor] = lambda h: h
    ) -> None:
        super().__init__()
        self.cell = cell
        self.change = change

    def forward(self, x: Tensor, state: Any = None) -> Tensor:
        outputs = []
        for now in x:
            state = self.cell(now, state)
            if isinstance(state, tuple):
                state = (self.change(state[0]), state[1])
            else:
                state = self.change(state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs)


class Spoiling(nn.Module):
    """Leaves nothing as it was given."""

    def __init__(self, cell: nn.RNNCellBase) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor) -> Tensor:
        state, buffer = None, torch.empty_like(x[0])
        for now in x:
            buffer.copy_(now)
            state = self.cell(buffer, state)
        return torch.ones(*x.shape[:2], 5)


def same_weights(cell: nn.RNNCellBase, mode: str) -> nn.RNNBase:
    layer = LAYERS[mode](cell.input_size, cell.hidden_size, bias=cell.bias).to(cell.weight_ih.dtype)
    with torch.no_grad():
        for ours, theirs in zip(cell.parameters(), layer.parameters(), strict=True):
            theirs.copy_(ours)
    return layer


@given(st.sampled_from(sorted(CELLS)), size, size, size, size, st.booleans(), st.booleans(),
       st.booleans(), st.sampled_from([torch.float32, torch.float64]))  # fmt: skip
@quick
def test_a_loop_of_cells_equals_the_layer(
    mode, inputs, width, steps, batch, bias, state, single, dtype
):
    with torch.random.fork_rng():
        torch.manual_seed(inputs + 7 * width)
        cell = CELLS[mode](inputs, width, bias=bias).to(dtype)
        batch = 1 if single else batch
        x = torch.randn(steps, batch, inputs, dtype=dtype)
        h, c = torch.randn(2, batch, width, dtype=dtype)
    start: Any = ((h, c) if mode == "lstm" else h) if state else None
    one = (h[0], c[0]) if mode == "lstm" else h[0]
    fed = (x[:, 0], one if state else None) if single else (x, start)
    adapter = Adapter(Loop(cell), debug=True)
    traced = adapter.trace(fed)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    assert adapter.difference <= tolerance
    stacked = Adapter(same_weights(cell, mode))
    given = (h[None], c[None]) if mode == "lstm" else h[None]
    expected = stacked.trace((x, given) if state else (x,))
    assert traced.states.keys() == expected.states.keys()
    assert [k.equation for k in adapter.kinds] == [
        k.equation.replace("the module", "cell") for k in stacked.kinds
    ]
    for kind, values in expected.states.items():
        torch.testing.assert_close(traced.states[kind], values, rtol=0, atol=tolerance)
    assert traced.lengths is None
    assert traced.logits is None  # the loop returns its states


@pytest.mark.parametrize("mode", sorted(CELLS))
def test_states_overwritten_in_the_loop_are_read_as_they_were(mode):
    loop = Loop(CELLS[mode](2, 3), change=lambda h: h.mul_(0.5))
    adapter = Adapter(loop, debug=True)
    traced = adapter.trace(torch.randn(6, 4, 2))
    assert adapter.difference < 1e-6
    assert traced.states["h1"].shape == (6, 4, 3)
    spoiling = Adapter(Spoiling(CELLS[mode](2, 3)), debug=True)
    spoiling.trace(torch.randn(6, 4, 2))
    assert spoiling.difference < 1e-6
    halved = torch.randn(6, 4, 2)
    with torch.no_grad():
        real = loop(halved)
    assert torch.allclose(Adapter(loop).trace(halved).states["h1"] * 0.5, real, atol=1e-6)


def test_every_sequence_in_a_loop_of_its_own_is_a_column():
    class EachAlone(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(2, 3)

        def forward(self, sequences: list[Tensor]) -> list[Tensor]:
            outputs = []
            for sequence in sequences:
                h = torch.zeros(3)
                for now in sequence:
                    h = self.cell(now, h)
                outputs.append(h)
            return outputs

    module = EachAlone()
    sequences = [torch.randn(n, 2) for n in (3, 5, 2)]
    adapter = Adapter(module, feed=lambda m, batch: m(batch), logits=lambda output: None)
    traced = adapter.trace(sequences)
    assert traced.states["h1"].shape == (5, 3, 3)
    assert traced.lengths is not None
    assert traced.lengths.tolist() == [3, 5, 2]
    with torch.no_grad():
        ends = module(sequences)
    for column, (end, n) in enumerate(zip(ends, (3, 5, 2), strict=True)):
        assert torch.allclose(traced.states["h1"][n - 1, column], end, atol=1e-6)
        assert torch.equal(traced.states["x"][:n, column], sequences[column])


def test_a_batch_that_shrinks_is_read_as_a_packed_one():
    class Shrinking(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(2, 3)

        def forward(self, x: Tensor, sizes: list[int]) -> None:
            h, c = torch.zeros(2, len(x[0]), 3)
            for now, n in zip(x, sizes, strict=True):
                h, c = self.cell(now[:n], (h[:n], c[:n]))

    module, x = Shrinking(), torch.randn(4, 3, 2)
    traced = Adapter(module, logits=lambda output: None).trace((x, [3, 2, 2, 1]))
    assert traced.lengths is not None
    assert traced.lengths.tolist() == [4, 3, 1]
    whole = Adapter(same_weights(module.cell, "lstm")).trace(x)
    for column, n in enumerate((4, 3, 1)):
        for kind, values in whole.states.items():
            assert torch.allclose(traced.states[kind][:n, column], values[:n, column], atol=1e-6)


def test_weights_that_change_from_call_to_call_are_read_at_each():
    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(2, 3)
            raw = self.cell.weight_hh
            del self.cell.weight_hh
            self.raw = nn.Parameter(raw.detach())

        def forward(self, x: Tensor) -> Tensor:
            h = x.new_zeros(x.shape[1], 3)
            for now in x:
                self.cell.weight_hh = self.raw * torch.rand_like(self.raw).gt(0.5)
                h = self.cell(now, h)
            return h

    adapter = Adapter(Dropping(), logits=lambda output: None)
    traced = adapter.trace(torch.randn(6, 2, 2))
    assert adapter.difference < 1e-6
    assert traced.states["h1"].shape == (6, 2, 3)


def test_a_batch_that_grows_is_an_error():
    class Growing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(2, 3)

        def forward(self, x: Tensor) -> Tensor:
            h = self.cell(x)
            return cast("Tensor", self.cell(x.repeat(2, 1), h.repeat(2, 1) + 1))

    with pytest.raises(RnnlensError, match=r"cell \(GRUCell\) is called with 4 sequences and .* 8"):
        Adapter(Growing()).trace(torch.randn(4, 2))
