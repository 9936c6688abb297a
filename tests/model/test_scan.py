"""A linear memory at all timesteps at once against one step after the other, with gradients."""

import pytest
import torch
from torch import Tensor

from rnnlens.model import scan
from rnnlens.model.scan import scanned
from rnnlens.model.transition import Transition

CUDA = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
)
DEVICES = pytest.mark.parametrize("device", ["cpu", CUDA])
LEAD = (3, 2)  # texts, heads


def drawn(*shape: int, device: str, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + round(100 * scale))
    values = torch.randn(*shape, generator=generator, dtype=torch.float64) * scale
    return values.to(device).requires_grad_()


def decay_of(*shape: int, device: str) -> Tensor:
    return drawn(*shape, device=device).detach().sigmoid().requires_grad_()


def stepped(change: Transition, write: Tensor, start: Tensor) -> Tensor:
    """One step after the other, as autograd sees it."""
    states, state = [], start
    for t in range(len(write)):
        parts = (None if part is None else part[t] for part in change)
        state = Transition(*parts)(state) + write[t]  # type: ignore[arg-type]
        states.append(state)
    return torch.stack(states)


def agree(change: Transition, write: Tensor, start: Tensor) -> None:
    given = [part for part in (*change, write, start) if part is not None]
    ours, theirs = scanned(change, write, start), stepped(change, write, start)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    slopes = torch.cos(torch.arange(ours.numel(), device=ours.device)).view_as(ours).double()
    for one, other in zip(
        torch.autograd.grad(ours, given, slopes), torch.autograd.grad(theirs, given, slopes),
        strict=True,
    ):  # fmt: skip
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@DEVICES
@pytest.mark.parametrize("steps", [1, 2, 9])
@pytest.mark.parametrize("shape", [(4, 5), (4, 1), (1, 1)], ids=["number", "key", "head"])
def test_what_decays(device: str, steps: int, shape: tuple[int, int]) -> None:
    decay = decay_of(steps, *LEAD, *shape, device=device)
    write, start = (drawn(*n, *LEAD, 4, 5, device=device) for n in ((steps,), ()))
    agree(Transition(decay), write, start)


@DEVICES
@pytest.mark.parametrize("steps", [1, 2, 9])
@pytest.mark.parametrize("keys", [4, 1], ids=["key", "head"])
def test_what_erases(device: str, steps: int, keys: int) -> None:
    decay = decay_of(steps, *LEAD, keys, 1, device=device)
    put, ask = (drawn(steps, *LEAD, 4, device=device, scale=s) for s in (0.3, 0.4))
    write, start = (drawn(*n, *LEAD, 4, 5, device=device) for n in ((steps,), ()))
    agree(Transition(decay, put, ask), write, start)


@DEVICES
def test_heads_too_large_for_a_kernel(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_REGISTERS", 8)
    put, ask = (drawn(6, *LEAD, 4, device=device, scale=s) for s in (0.3, 0.4))
    write, start = (drawn(*n, *LEAD, 4, 5, device=device) for n in ((6,), ()))
    agree(Transition(decay_of(6, *LEAD, 4, 1, device=device), put, ask), write, start)
