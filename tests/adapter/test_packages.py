"""Layers of the packages mambapy and xlstm: memories against their own steps."""

from importlib import import_module
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rnnlens.adapter.adapter import Adapter
from rnnlens.ask.memory import Direction, stored
from rnnlens.model.traceable import StateEdit

pytestmark = [pytest.mark.release, pytest.mark.filterwarnings("ignore")]
WORDS, WIDTH, STEPS = 20, 16, 9
IDS = torch.randint(0, WORDS, (2, STEPS), generator=torch.Generator().manual_seed(0))


class LanguageModel(nn.Module):
    """Their layers between an embedding and a readout."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.embed, self.body = nn.Embedding(WORDS, WIDTH), body
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, ids: Tensor) -> Tensor:
        logits: Tensor = self.head(self.body(self.embed(ids)))
        return logits


def _gap(mine: Tensor, own: Tensor) -> float:
    return float((mine.view(own.shape) - own).abs().max() / own.abs().max())


def _check_forgetting(adapter: Adapter, body: Any) -> None:
    """What an edit makes of the first convolution's past is what the package's own steps make of
    it, and an edit of nothing makes nothing.
    """
    model: Any = adapter.module
    real = adapter.trace(IDS[:1]).prediction
    nothing, zero = (
        adapter.trace(IDS[:1], edits=[StateEdit("p1", 3, change)]).prediction
        for change in (lambda v: v + 0, torch.zeros_like)
    )
    torch.testing.assert_close(nothing, real, atol=1e-6, rtol=1e-6)
    cache: dict[str, Any] = {}
    for t in range(STEPS):
        out, cache = body.step(model.embed(IDS[:1, t : t + 1]), state=cache)
        torch.testing.assert_close(model.head(out)[0], zero[t], atol=1e-5, rtol=1e-5)
        if t == 3:
            cache["block_0"]["conv_state"][0].zero_()
    assert not torch.allclose(zero[4], real[4])


@torch.no_grad()
@pytest.mark.parametrize("parallel", [True, False])
def test_mambapy(parallel):
    pytest.importorskip("mambapy")
    package: Any = import_module("mambapy.mamba")
    torch.manual_seed(0)
    config = package.MambaConfig(d_model=WIDTH, n_layers=2, d_state=4, pscan=parallel)
    body = package.Mamba(config)
    model = LanguageModel(body).eval()
    states = Adapter(model).trace(IDS).states
    caches = [(None, torch.zeros(1, 2 * WIDTH, 3)) for _ in range(2)]
    for t in range(STEPS):
        _, caches = body.step(model.embed(IDS[:1, t]), caches)
        for layer in (1, 2):
            assert _gap(states[f"S{layer}"][t, 0], caches[layer - 1][0][0]) <= 1e-5


@torch.no_grad()
def test_xlstm():
    pytest.importorskip("xlstm")
    package: Any = import_module("xlstm")
    torch.manual_seed(0)
    layer = package.mLSTMLayerConfig(conv1d_kernel_size=4, qkv_proj_blocksize=4, num_heads=2)
    config = package.xLSTMBlockStackConfig(
        mlstm_block=package.mLSTMBlockConfig(mlstm=layer), context_length=16, num_blocks=2,
        embedding_dim=WIDTH, slstm_at=[],
    )  # fmt: skip
    body = package.xLSTMBlockStack(config)
    model, cache = LanguageModel(body).eval(), None
    adapter = Adapter(model)
    states = adapter.trace(IDS).states
    for t in range(STEPS):
        _, cache = body.step(model.embed(IDS[:1, t : t + 1]), state=cache)
        for number in (1, 2):
            block = cache[f"block_{number - 1}"]
            assert _gap(states[f"S{number}"][t, 0], block["mlstm_state"][0][0]) <= 1e-5
            assert _gap(states[f"p{number}"][t, 0], block["conv_state"][0][0, 1:]) <= 1e-5
    _check_forgetting(adapter, body)


@torch.no_grad()
def test_xlstm_with_scalar_memory():
    pytest.importorskip("xlstm")
    package: Any = import_module("xlstm")
    torch.manual_seed(0)
    layer = package.sLSTMLayerConfig(
        backend="vanilla", num_heads=2, conv1d_kernel_size=4, bias_init="powerlaw_blockdependent"
    )
    config = package.xLSTMBlockStackConfig(
        slstm_block=package.sLSTMBlockConfig(slstm=layer), context_length=16, num_blocks=2,
        embedding_dim=WIDTH, slstm_at=[0, 1],
    )  # fmt: skip
    body = package.xLSTMBlockStack(config)
    for name, weights in body.named_parameters():
        if "recurrent" in name:
            weights.normal_(0, 0.5)  # they begin with zero
    model = LanguageModel(body).eval()
    cache: dict[str, Any] = {}
    adapter = Adapter(model)
    trace = adapter.trace(IDS)
    for t in range(STEPS):
        _, cache = body.step(model.embed(IDS[:1, t : t + 1]), state=cache)
        for number in (1, 2):
            block = cache[f"block_{number - 1}"]
            past = block["conv_state"][0][0, 1:]
            assert _gap(trace.states[f"p{number}"][t, 0], past) <= 1e-5
            own = block["slstm_state"][:, 0]
            for state, kind in zip(own[:3], "rcn", strict=True):
                mine = trace.states[f"{kind}{number}"][t, 0]
                assert _gap(mine, state) <= 1e-5
    _check_forgetting(adapter, body)
    torch.testing.assert_close(trace.prediction.transpose(0, 1), model(IDS))
    states = adapter.trace(IDS[:1]).states
    weight = torch.ones(WIDTH, dtype=torch.float64)
    parts, rest = stored(adapter.recurrence, states, Direction("c1", 6, weight, 0.0))
    assert parts.sum() + rest == pytest.approx(float(states["c1"][6, 0].double().sum()), abs=1e-5)
    same, zero = (
        adapter.trace(IDS, edits=[StateEdit("c1", 3, change)])
        for change in (lambda v: v, torch.zeros_like)
    )
    torch.testing.assert_close(same.prediction, trace.prediction, atol=1e-6, rtol=1e-6)
    assert not torch.allclose(zero.states["r1"][5], trace.states["r1"][5])
    assert not torch.allclose(zero.prediction[5], trace.prediction[5])
