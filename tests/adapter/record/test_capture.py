"""Wrappers, parametrisations and hooks around recurrent parts do not hide what they compute."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from rnnlens.adapter import Adapter
from rnnlens.base.errors import RnnlensError


class WeightDrop(nn.Module):
    """Thins out the recurrent weights before each call, in evaluation mode too, to be noticed."""

    def __init__(self, part: nn.RNNBase, direct: bool) -> None:
        super().__init__()
        self.part = part
        self.direct = direct
        raw = part.all_weights[0][1]
        del part._parameters["weight_hh_l0"]
        self.raw = nn.Parameter(raw.detach())

    def forward(self, x: Tensor) -> Any:
        self.part.weight_hh_l0 = self.raw * torch.rand_like(self.raw).gt(0.5)
        return self.part.forward(x) if self.direct else self.part(x)


@pytest.mark.parametrize("part", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("direct", [True, False])
def test_weights_rewritten_before_the_call_are_those_read(part, direct):
    module, x = WeightDrop(part(3, 4), direct), torch.randn(5, 2, 3)
    adapter = Adapter(module, debug=True)
    first, again = adapter.trace(x), adapter.trace(x)
    assert adapter.difference < 1e-5
    assert torch.equal(first.states["h1"], again.states["h1"])  # the same random numbers
    torch.rand(100)  # the same whatever was drawn in between
    other = Adapter(module, debug=True)
    assert torch.equal(first.states["h1"], other.trace(x).states["h1"])
    other.seed = 1
    assert not torch.equal(first.states["h1"], other.trace(x).states["h1"])


class Rewriting(nn.GRU):
    """Thins its own weights within forward."""

    def forward(self, x: Tensor, state: Tensor | None = None) -> Any:  # type: ignore[override]
        weight = self.all_weights[0][1]
        weight.data = weight.data * torch.rand_like(weight.data).gt(0.5)
        return super().forward(x, state)


def test_a_subclass_that_rewrites_its_weights_is_read_after_it_did():
    adapter = Adapter(Rewriting(3, 4))
    x = torch.randn(5, 2, 3)
    for _ in range(3):
        adapter.trace(x)
        assert adapter.difference < 1e-5


class Doubling(nn.GRU):
    """Returns something else than a GRU does."""

    def forward(self, x: Tensor, state: Tensor | None = None) -> Any:  # type: ignore[override]
        output, last = super().forward(x, state)
        return output * 2, last


class Pooling(nn.GRU):
    """Returns only its mean."""

    def forward(self, x: Tensor) -> Any:  # type: ignore[override]
        return super().forward(x)[0].mean(0)


class Otherwise(nn.GRU):
    """Wants other arguments."""

    def forward(self, x: Tensor, scale: float, shift: float) -> Any:  # type: ignore[override]
        return super().forward(x * scale + shift)


@pytest.mark.parametrize(
    ("module", "batch", "message"),
    [
        (Doubling(3, 4), (), r"inner \(Doubling\) differs from its recomputed output by 0\.\d+"),
        (Pooling(3, 4), (), r"inner \(Pooling\) returned Tensor 2 x 4 \(float32\) where torch's"),
        (Otherwise(3, 4), (1.0, 0.0), r"inner \(Otherwise\) is called with other arguments"),
    ],
)
def test_a_subclass_that_computes_something_else_is_an_error(module, batch, message):
    holder = nn.Module()
    holder.inner = module
    holder.forward = module.__call__
    adapter = Adapter(holder)
    fed = (torch.randn(5, 2, 3), *batch)
    with pytest.raises(RnnlensError, match=message + ".*kinds="):
        adapter.trace(fed)
    named = Adapter(holder, kinds=["inner"], logits=lambda output: None)  # as the error advises
    assert list(named.trace(fed).states) == ["inner"]


@pytest.mark.parametrize("part", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("how", ["weight_norm", "spectral_norm", "orthogonal", "both"])
def test_parametrised_weights(part, how):
    module, x = part(3, 4, 2), torch.randn(5, 2, 3)
    if how != "both":
        getattr(parametrizations, how)(module, "weight_hh_l0")
    else:
        parametrizations.weight_norm(module, "weight_ih_l0")
        parametrizations.spectral_norm(module, "weight_hh_l1")
    before = {name: b.clone() for name, b in module.named_buffers()}
    adapter = Adapter(module)
    adapter.trace(x)
    assert adapter.difference < 1e-5
    with torch.no_grad():
        expected = module.eval()(x)[0]
    module.train()
    assert torch.allclose(adapter.trace(x).states["h2"], expected, atol=1e-6)
    assert all(torch.equal(before[name], b) for name, b in module.named_buffers())


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_parametrised_cells(cell):
    module = cell(3, 4)
    parametrizations.spectral_norm(module, "weight_hh")
    adapter = Adapter(module, feed=lambda m, x: [m(now) for now in x], logits=lambda output: None)
    traced = adapter.trace(torch.randn(5, 2, 3))
    assert adapter.difference < 1e-5
    assert traced.states["h1"].shape == (1, 10, 4)  # every call starts afresh


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weight_norm_by_hooks():
    module = nn.utils.weight_norm(nn.GRU(3, 4), "weight_hh_l0")
    adapter = Adapter(module, debug=True)
    for _ in range(2):
        adapter.trace(torch.randn(5, 2, 3))
        assert adapter.difference < 1e-5


def test_a_users_hooks_see_and_change_what_they_always_did():
    part, seen = nn.GRU(3, 4), list[str]()
    head = nn.Linear(4, 6)
    module = nn.Sequential(part, nn.Identity(), head)
    module.forward = lambda x: head(part(x)[0])  # type: ignore[method-assign]

    def before(_module: nn.Module, args: Any) -> Any:
        seen.append("before")
        return (args[0] * 2,)

    def after(_module: nn.Module, _args: Any, out: Any) -> Any:
        seen.append("after")
        return out[0] + 1, out[1]

    part.register_forward_pre_hook(before)
    part.register_forward_hook(after)
    x = torch.randn(5, 2, 3)
    with torch.no_grad():
        expected = module(x)
    seen.clear()
    adapter = Adapter(module)
    for _ in range(2):
        traced = adapter.trace(x)
        assert adapter.difference < 1e-5  # what the part itself computes
        assert torch.equal(traced.states["x"], x * 2)
        assert traced.logits is not None
        assert torch.allclose(traced.logits, expected, atol=1e-6)
    assert seen == ["before", "after"] * 2


def test_a_named_kind_is_what_the_rest_of_the_module_sees():
    module = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5))
    module[0].register_forward_hook(lambda m, args, out: out + 100)
    traced = Adapter(module, kinds=["0"]).trace(torch.randn(2, 6, 3))
    assert traced.states["0"].shape == (6, 2, 4)
    assert traced.states["0"].min() > 50


def test_weights_written_into_while_the_part_runs_are_found_out():
    class Writing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(3, 3)

        def forward(self, x: Tensor) -> None:
            h = None
            for now in x:
                h = self.cell(now, h)
                self.cell.weight_hh.data.mul_(0.9)

    adapter = Adapter(Writing(), logits=lambda output: None)
    with pytest.raises(RnnlensError, match=r"cell \(GRUCell\) differs .* write into its weights"):
        adapter.trace(torch.randn(5, 2, 3))


def test_a_named_output_overwritten_later_is_read_as_it_was():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True))
    x = torch.randn(2, 6, 3)
    states = Adapter(module, kinds=["0"], logits=lambda output: None).trace(x).states
    assert torch.equal(states["0"], module[0](x).transpose(0, 1))
    assert states["0"].min() < 0


def test_autocast_within_forward():
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = nn.GRU(3, 4)

        def forward(self, x: Tensor) -> Any:
            with torch.autocast("cpu", torch.bfloat16):
                return self.part(x)

    adapter = Adapter(Half())
    for _ in range(2):
        traced = adapter.trace(torch.randn(5, 2, 3))
        assert adapter.difference < 0.05
        assert traced.states["h1"].dtype == torch.float32
