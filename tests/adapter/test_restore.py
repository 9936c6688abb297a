"""A user's module is left exactly as it was found, whatever happens while it is read."""

import copy
import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rnnlens.adapter import Adapter
from rnnlens.adapter.user_model import UserModel, UsersCodeError


class Everything(nn.Module):
    """A module with all that could be disturbed."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.norm = nn.BatchNorm1d(4)
        self.part = nn.LSTM(4, 4, 2, dropout=0.5)
        self.head = nn.Linear(4, 10)
        self.register_buffer("calls", torch.zeros(()))
        self.hidden: Any = None
        self.seen: list[int] = []
        self.trouble = ""

    def forward(self, words: Tensor) -> Tensor:
        assert isinstance(self.calls, Tensor)
        self.calls += 1
        self.seen.append(len(words))
        x = self.norm(self.embedding(words).transpose(1, 2)).transpose(1, 2)
        x = nn.functional.dropout(x, 0.1, training=True)  # draws even in evaluation mode
        x = x + random.random() + np.random.rand()  # noqa: NPY002 - as many modules do
        output, self.hidden = self.part(x)
        self.head.requires_grad_(False)
        self.norm.zero_grad()
        if self.trouble == "forward":
            raise ValueError("trouble")
        logits: Tensor = self.head(output)
        return logits


def module_with_a_past() -> Everything:
    """Trained a little: gradients, statistics, mixed modes, hooks."""
    module = Everything()
    module(torch.randint(10, (5, 3))).sum().backward()
    module.norm(torch.randn(5, 4)).sum().backward()
    module.train()
    module.part.eval()
    module.embedding.weight.requires_grad_(False)
    module.head.requires_grad_(True)
    module.hidden = "mine"

    def hook(m: nn.Module, args: Any, output: Any) -> None:
        if module.trouble == "hook":
            raise ValueError("trouble")

    for submodule in (module, module.part, module.head):
        submodule.register_forward_hook(hook)
        submodule.register_forward_pre_hook(lambda m, args: None)
    module.part.register_full_backward_hook(lambda m, a, b: None)
    return module


def everything_about(module: nn.Module) -> dict[str, Any]:
    about: dict[str, Any] = {
        "random": torch.get_rng_state().tolist(),
        "python's random": random.getstate(),
        "numpy's random": str(np.random.get_state(legacy=False)["state"]),  # noqa: NPY002
    }
    for name, m in module.named_modules():
        about[f"{name} training"] = m.training
        about[f"{name} attributes"] = {k: id(v) for k, v in m.__dict__.items() if k != "training"}
        for hooks in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks"):
            about[f"{name} {hooks}"] = [(k, id(v)) for k, v in getattr(m, hooks).items()]
    for name, p in module.named_parameters():
        grad = None if p.grad is None else (id(p.grad), p.grad.tolist())
        about[name] = (id(p), p.tolist(), p.requires_grad, grad, str(p.device), p._version)
    about |= {name: (id(b), b.tolist()) for name, b in module.named_buffers()}
    if isinstance(module, Everything):
        about["seen"] = list(module.seen)
    return about


def feed_in_trouble(module: nn.Module, batch: Tensor) -> Tensor:
    module(batch)
    raise ValueError("trouble")


@pytest.mark.parametrize("trouble", ["", "forward", "hook", "feed"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("kinds", [(), ("head", "norm")])
def test_everything_is_left_as_found(trouble, first, kinds):
    module = module_with_a_past()
    words = torch.randint(10, (5, 3))
    adapter = Adapter(module, kinds=[k for k in kinds if k != "norm"], debug=True)
    if not first:
        adapter.trace(words)
    if trouble == "feed":
        adapter.user = UserModel.of(adapter.user, feed=feed_in_trouble)
    else:
        module.trouble = trouble
    before = everything_about(module)
    if trouble:
        with pytest.raises(UsersCodeError, match="ValueError: trouble"):
            adapter.trace(words)
    else:
        adapter.trace(words)
    assert everything_about(module) == before


def test_the_check_sees_what_is_changed():
    module = module_with_a_past()
    before = everything_about(module)
    module(torch.randint(10, (5, 3)))
    after = everything_about(module)
    changed = {key for key in before if before[key] != after[key]}
    assert {"random", "python's random", "numpy's random", " attributes"} <= changed
    assert {"calls", "norm.running_mean", "seen"} <= changed


def test_a_users_backward_pass_around_a_trace_works():
    module = module_with_a_past()
    module.requires_grad_(True)
    words = torch.randint(10, (5, 3))
    module.norm.eval()
    x = module.part(module.embedding(words))[0]
    loss = module.head(x).logsumexp(-1).sum()
    Adapter(module).trace(words)
    loss.backward()
    assert module.part.weight_hh_l0.grad is not None


def test_nothing_is_recorded_for_gradients():
    traced = Adapter(module_with_a_past()).trace(torch.randint(10, (5, 3)))
    assert not any(values.requires_grad for values in traced.states.values())
    assert traced.logits is not None
    assert not traced.logits.requires_grad


def test_dropout_is_off_while_reading():
    module = Everything()
    module.forward = lambda words: module.head(module.part(module.embedding(words))[0])  # type: ignore[method-assign]
    words = torch.randint(10, (5, 3))
    module.train()
    adapter = Adapter(module)
    first, second = adapter.trace(words), adapter.trace(words)
    for kind, values in first.states.items():
        assert torch.allclose(values, second.states[kind], atol=1e-6)
    assert module.training


def test_a_forward_of_the_instances_own_is_kept():
    module = nn.GRU(3, 4)
    torchs = module.forward

    def mine(*args: Any) -> Any:
        return torchs(*args)

    module.__dict__["forward"] = mine
    Adapter(module).trace(torch.randn(5, 2, 3))
    assert module.__dict__["forward"] is mine


def test_outputs_changed_in_place_do_not_change_the_states():
    class Overwriting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = nn.LSTM(3, 4, 2)

        def forward(self, x: Tensor) -> None:
            output, (h, c) = self.part(x)
            for values in (output, h, c, x):
                values.zero_()

    module, x = Overwriting(), torch.randn(5, 2, 3)
    expected = Adapter(module.part).trace(x)
    adapter = Adapter(module, logits=lambda output: None)
    for _ in range(2):
        traced = adapter.trace(x.clone())
        for kind, values in expected.states.items():
            assert torch.equal(traced.states[kind], values), kind


def test_a_copy_made_after_reading_is_a_plain_module():
    module = Everything()
    Adapter(module).trace(torch.randint(10, (5, 3)))
    assert "forward" not in copy.deepcopy(module).part.__dict__


def test_random_states_of_cuda_devices_are_left_as_found():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    module = module_with_a_past().cuda()
    backend: Any = torch.backends.cudnn.rnn
    precision = backend.fp32_precision
    words = torch.randint(10, (5, 3), device="cuda")
    state = torch.cuda.get_rng_state()
    Adapter(module).trace(words)
    assert torch.equal(torch.cuda.get_rng_state(), state)
    assert backend.fp32_precision == precision


class Rescaling(nn.Module):
    """Halves a weight when it first reads in evaluation mode, notes that, and undoes it when it is
    trained again, as RWKV of transformers does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.part, self.head = nn.GRU(4, 4), nn.Linear(4, 10, bias=False)
        self.halved = False

    def forward(self, x: Tensor) -> Tensor:
        if self.halved is self.training:
            with torch.no_grad():
                self.head.weight.mul_(2.0 if self.training else 0.5)
            self.halved = not self.training
        y: Tensor = self.head(self.part(x)[0]) * (2 if self.halved else 1)
        return y


def test_a_module_that_rescales_its_weights_does_so_once():
    module, x = Rescaling(), torch.randn(5, 3, 4)
    before, expected = module.head.weight.clone(), module(x)
    adapter = Adapter(module)
    for _ in range(3):
        torch.testing.assert_close(adapter.trace(x).logits, expected)
    assert module.training
    torch.testing.assert_close(module(x), expected)
    assert torch.equal(module.head.weight, before)
