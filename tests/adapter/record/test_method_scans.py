"""Layers whose scan is lines of a method, as those of transformers before 5.15: stand-ins with the
names and the order of steps of that library, whose own loops keep every memory.
"""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.record.scan_parts import MethodScan, scan_of
from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import StateEdit

WORDS, WIDTH, INNER, NUMBERS, RANK, HEADS, TAPS = 12, 6, 8, 3, 2, 4, 4


class OldMamba(nn.Module):
    """Mamba's layer, a channel by itself."""

    kept_share = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.layer_idx, self.time_step_rank, self.ssm_state_size = 0, RANK, NUMBERS
        self.in_proj, self.act = nn.Linear(WIDTH, 2 * INNER), nn.SiLU()
        self.conv1d = nn.Conv1d(INNER, INNER, TAPS, groups=INNER, padding=TAPS - 1)
        self.x_proj = nn.Linear(INNER, RANK + 2 * NUMBERS, bias=False)
        self.dt_proj, self.out_proj = nn.Linear(RANK, INNER), nn.Linear(INNER, WIDTH)
        self.A_log, self.D = (
            nn.Parameter(torch.rand(INNER, NUMBERS)),
            nn.Parameter(torch.rand(INNER)),
        )
        self.kept: list[Tensor] = []

    def slow_forward(
        self, input_states: Tensor, cache_params: Any = None, attention_mask: Any = None
    ) -> Tensor:
        del cache_params, attention_mask
        u, gate = self.in_proj(input_states).transpose(1, 2).chunk(2, dim=1)
        u = self.act(self.conv1d(u)[..., : input_states.shape[1]])
        rank, b, c = self.x_proj(u.transpose(1, 2)).split([RANK, NUMBERS, NUMBERS], -1)
        step = F.softplus(self.dt_proj(rank)).transpose(1, 2)
        decay = torch.exp(-self.A_log.exp()[None, :, None] * step[..., None])
        state, reads, self.kept = u.new_zeros(len(u), INNER, NUMBERS), [], []
        for t in range(u.shape[-1]):
            write = (step * u)[:, :, t, None] * b[:, None, t]
            state = self.kept_share * decay[:, :, t] * state + write
            self.kept.append(state)
            reads.append((state @ c[:, t, :, None])[..., 0])
        read = torch.stack(reads, -1) + u * self.D[None, :, None]
        out: Tensor = self.out_proj((read * self.act(gate)).transpose(1, 2))
        return out

    def forward(self, hidden_states: Tensor, cache_params: Any = None) -> Tensor:
        return self.slow_forward(hidden_states, cache_params)


class GatedNorm(nn.Module):
    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        return F.layer_norm(x * F.silu(gate), x.shape[-1:])


class OldMamba2(nn.Module):
    """Mamba-2's, a head at a time."""

    kept_share = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.layer_idx, self.intermediate_size, self.num_heads, self.n_groups = 0, INNER, HEADS, 1
        self.head_dim, self.ssm_state_size, self.chunk_size = INNER // HEADS, NUMBERS, 4
        self.conv_dim, self.time_step_limit = INNER + 2 * NUMBERS, (0.0, float("inf"))
        self.in_proj = nn.Linear(WIDTH, INNER + self.conv_dim + HEADS)
        width = self.conv_dim
        self.conv1d = nn.Conv1d(width, width, TAPS, groups=width, padding=TAPS - 1)
        self.act = nn.SiLU()
        self.dt_bias, self.A_log, self.D = (nn.Parameter(torch.rand(HEADS)) for _ in range(3))
        self.norm, self.out_proj = GatedNorm(), nn.Linear(INNER, WIDTH)
        self.kept: list[Tensor] = []

    def torch_forward(
        self, hidden_states: Tensor, cache_params: Any = None, attention_mask: Any = None
    ) -> Tensor:
        del cache_params, attention_mask
        sizes = [INNER, self.conv_dim, HEADS]
        gate, mixed, step = self.in_proj(hidden_states).split(sizes, -1)
        mixed = self.conv1d(mixed.transpose(1, 2))[..., : hidden_states.shape[1]].transpose(1, 2)
        u, b, c = self.act(mixed).split([INNER, NUMBERS, NUMBERS], -1)
        u = u.unflatten(-1, (HEADS, -1))
        step = F.softplus(step + self.dt_bias).clamp(*self.time_step_limit)
        decay = torch.exp(-self.A_log.exp() * step)
        state, reads = u.new_zeros(len(u), *u.shape[2:], NUMBERS), []
        self.kept = []
        for t in range(u.shape[1]):
            write = (step[..., None] * u)[:, t, ..., None] * b[:, t, None, None]
            state = self.kept_share * decay[:, t, :, None, None] * state + write
            self.kept.append(state)
            reads.append((state * c[:, t, None, None]).sum(-1) + self.D[:, None] * u[:, t])
        out: Tensor = self.out_proj(self.norm(torch.stack(reads, 1).flatten(2), gate))
        return out

    def forward(self, hidden_states: Tensor, cache_params: Any = None) -> Tensor:
        return self.torch_forward(hidden_states, cache_params)


class Model(nn.Module):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.layers = nn.ModuleList([layer])

    def forward(self, ids: Tensor, cache_params: Any = None) -> Tensor:
        x = self.embed(ids)
        out: Tensor = self.head(x + self.layers[0](x, cache_params))
        return out


@pytest.fixture(params=[OldMamba, OldMamba2])
def model(request):
    torch.manual_seed(0)
    return Model(request.param()).requires_grad_(False)


@pytest.fixture
def ids():
    return torch.randint(0, WORDS, (2, 9), generator=torch.Generator().manual_seed(0))


def test_memories_are_those_of_the_layers_own_loop(model, ids):
    adapter = Adapter(model)
    trace = adapter.trace(ids)
    model(ids)
    own = torch.stack(model.layers[0].kept)
    assert isinstance(scan_of(model.layers[0]), MethodScan)
    assert adapter.difference < 1e-5
    torch.testing.assert_close(trace.states["S1"], own.flatten(2), rtol=1e-5, atol=1e-6)
    assert trace.states["p1"].shape[-1] == (TAPS - 1) * model.layers[0].conv1d.in_channels


def test_edits_go_on_and_those_of_nothing_change_nothing(model, ids):
    adapter = Adapter(model)
    real = adapter.trace(ids)
    same, none, past = (
        adapter.trace(ids, edits=[StateEdit(kind, 3, change)])
        for kind, change in [
            ("S1", lambda v: v + 0), ("S1", torch.zeros_like), ("p1", torch.zeros_like),
        ]
    )  # fmt: skip
    assert torch.equal(same.prediction, real.prediction)
    assert not none.states["S1"][3].any()
    for edited, first in ((none, 3), (past, 4)):
        torch.testing.assert_close(edited.prediction[:first], real.prediction[:first])
        assert not torch.allclose(
            edited.prediction[first], real.prediction[first], rtol=0, atol=1e-5
        )


def test_a_memory_that_is_not_what_the_method_reads_is_refused(model, ids):
    model.layers[0].kept_share = 0.5  # of which weights say nothing
    with pytest.raises(RnnlensError, match="differs from its recomputed output"):
        Adapter(model).trace(ids)


def test_a_cache_to_go_on_from_is_refused(model, ids):
    cache = SimpleNamespace(has_previous_state=lambda _layer: True)
    feed = lambda model, ids: model(ids, cache)  # noqa: E731
    with pytest.raises(RnnlensError, match=r"goes on from a cache.*give whole sequences"):
        Adapter(model, feed=feed).trace(ids)


def test_a_class_that_is_wrong_between_chunks_is_refused_there(ids):
    known = type("Zamba2MambaMixer", (OldMamba2,), {})
    model = Model(known()).requires_grad_(False)
    Adapter(model).trace(ids[:, :4])
    with pytest.raises(RnnlensError, match=r"of more than 4 words, .* has 9: .* 5\.15 or later"):
        Adapter(model).trace(ids)
