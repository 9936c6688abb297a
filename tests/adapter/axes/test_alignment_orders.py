"""Where a shape does not tell which axis is time, other evidence does; or the user is asked."""

from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from rnnlens.adapter import Adapter
from rnnlens.adapter.axes.alignment import Orders
from rnnlens.adapter.axes.layout import Arranged, Layout
from rnnlens.base.errors import RnnlensError

V = 7


class Turning(nn.Module):
    """Takes and returns batches first, and reads them time first."""

    def __init__(self, flat: bool = False, linear: bool = True, **flags: Any) -> None:
        super().__init__()
        self.part = nn.GRU(2, 4, **flags)
        width = 8 if flags.get("bidirectional") else 4
        layers = [nn.Linear(width, V)] if linear else [nn.Tanh(), nn.Linear(width, V)]
        self.head = nn.Sequential(*layers)
        self.flat = flat

    def forward(self, x: Tensor) -> Tensor:
        y = self.head(self.part(x.transpose(0, 1))[0].transpose(0, 1))
        return cast("Tensor", y.reshape(-1, V) if self.flat else y)


def expected(module: Turning, states: dict[str, Tensor]) -> Tensor:
    tops = [states[kind] for kind in ("h1", "h1<") if kind in states]
    return cast("Tensor", module.head(torch.cat(tops, -1)))


def right(module: Turning, adapter: Adapter, batch: int, steps: int) -> bool:
    traced = adapter.trace(torch.randn(batch, steps, 2))
    assert traced.logits is not None
    assert traced.logits.shape == (steps, batch, V)
    return torch.allclose(traced.logits, expected(module, traced.states), atol=1e-5)


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_linear_readout_tells(flat, bidirectional):
    module = Turning(flat, bidirectional=bidirectional)
    adapter = Adapter(module)
    assert right(module, adapter, 5, 5)
    assert right(module, adapter, 3, 6)
    assert right(module, adapter, 5, 5)


def test_an_earlier_batch_tells():
    module = Turning(linear=False)
    adapter = Adapter(module)
    assert right(module, adapter, 3, 6)
    assert right(module, adapter, 5, 5)
    fresh = Adapter(module)
    assert not right(module, fresh, 5, 5)  # as the part's own batch_first=False has it


@pytest.mark.parametrize("flat", [True, False])
def test_the_user_tells(flat):
    module = Turning(flat, linear=False)
    adapter = Adapter(module, batch_first=True)
    assert right(module, adapter, 5, 5)
    assert right(module, adapter, 3, 6)


class Loop(nn.Module):
    """Cells say nothing of the order."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.GRUCell(2, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, V))

    def forward(self, x: Tensor) -> Tensor:
        h, outputs = None, []
        for now in x.unbind(1):
            h = self.cell(now, h)
            outputs.append(self.head(h))
        return torch.stack(outputs, 1)


def test_the_user_is_asked_when_nothing_tells():
    module, x = Loop(), torch.randn(5, 5, 2)
    with pytest.raises(RnnlensError, match=r"logits could have .*5 and 5.*give batch_first="):
        Adapter(module).trace(x)
    traced = Adapter(module, batch_first=True).trace(x)
    assert traced.logits is not None
    assert torch.allclose(traced.logits, module.head(traced.states["h1"]), atol=1e-5)


def test_one_sequence_is_in_both_orders():
    traced = Adapter(Loop()).trace(torch.randn(1, 5, 2))
    assert traced.logits is not None
    assert traced.logits.shape == (5, 1, V)


def test_named_kinds_remember_their_own_order():
    module = Turning(linear=False)
    adapter = Adapter(module, kinds=["head"])
    adapter.trace(torch.randn(3, 6, 2))
    traced = adapter.trace(torch.randn(5, 5, 2))
    assert torch.allclose(traced.states["head"], expected(module, traced.states), atol=1e-5)


def orders_met(square: Tensor) -> tuple[Orders, Arranged, Layout]:
    layout = Layout(3, 3, batch_first=False)
    fit = layout.arrange(square)
    assert fit is not None
    return Orders(), fit, layout


def test_an_order_may_be_assumed_for_a_while():
    square = torch.randn(3, 3, 2)
    orders, fit, layout = orders_met(square)
    for first in (True, False):
        with orders.assumed(first):
            read = orders.settle("logits", fit, layout)
        assert torch.equal(read, square.transpose(0, 1) if first else square)
    with pytest.raises(ValueError, match="trouble"), orders.assumed(True):
        raise ValueError("trouble")
    assert torch.equal(orders.settle("logits", fit, layout), square)
    assert orders.doubtful == {"logits"}


def test_what_was_assumed_is_not_remembered_and_what_was_learnt_is():
    square = torch.randn(3, 3, 2)
    orders, fit, layout = orders_met(square)
    with orders.assumed(True):
        orders.settle("logits", fit, layout, lambda values: False)
    orders.learn("logits", True)
    assert torch.equal(orders.settle("logits", fit, layout), square.transpose(0, 1))
    assert torch.equal(orders.settle("other", fit, layout), square)
    orders.learn("logits", False)
    assert torch.equal(orders.settle("logits", fit, layout), square)


def test_a_shape_that_tells_is_not_in_doubt():
    layout = Layout(3, 5, batch_first=False)
    fit = layout.arrange(torch.randn(5, 3, 2))
    assert fit is not None
    orders = Orders()
    with orders.assumed(False):
        assert orders.settle("logits", fit, layout).shape == (3, 5, 2)
    assert not orders.doubtful
