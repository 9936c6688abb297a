"""Triton's kernels against plain torch: on CUDA, and elsewhere by Triton's interpreter if there."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.kernels import CUDA, DEVICE, kernels_of
from torch import Tensor

#: bfloat16 on CUDA; the interpreter cannot multiply matrices of these.
HALF = torch.bfloat16 if CUDA else torch.float32


@pytest.fixture(scope="module")
def kernels():
    return kernels_of("rnnlens.probe.kernels_cuda")


def tiles(kernels) -> list[Any]:
    small = kernels.Tile(states=64, labels=64)
    return [small, small._replace(programs=1, stages=2), kernels.TILE]


def drawn(count: int, labels: int, padded: int, columns: int, size: float = 1.0) -> list[Tensor]:
    """Weights, states with a coordinate of 1 and zeros behind it, and the labels that came."""
    generator = torch.Generator().manual_seed(count + labels)
    weight = torch.randn(padded, columns, generator=generator) * size / columns**0.5
    x = torch.randn(count, columns, generator=generator)
    weight[labels:], x[:, -5:] = 0, 0
    x[:, -6] = 1
    targets = torch.randint(labels, (count,), generator=generator)
    return [weight.to(DEVICE, HALF), x.to(DEVICE, HALF), targets.to(DEVICE)]


def plain(weight: Tensor, x: Tensor, targets: Tensor, labels: int) -> tuple[Tensor, Tensor]:
    """The gradient of the sum, in double precision, and the NLL."""
    wanted = weight.double().requires_grad_()
    nll = F.cross_entropy((x.double() @ wanted.T)[:, :labels], targets, reduction="none")
    (gradient,) = torch.autograd.grad(nll.sum(), wanted)
    return gradient, nll.detach()


def near(ours: Tensor, theirs: Tensor, bound: float = 5e-3 if CUDA else 1e-5) -> None:
    assert (ours.double() - theirs).norm() <= bound * theirs.norm()


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize(
    ("count", "labels", "padded", "columns"),
    [(64, 100, 128, 64), (200, 300, 320, 128), (1, 1000, 1024, 64)],
)
def test_the_fused_gradient_is_that_of_plain_torch(kernels, number, count, labels, padded, columns):
    weight, x, targets = drawn(count, labels, padded, columns, size=4.0)
    before = torch.ones_like(weight)
    gradient, tile = before.clone(), tiles(kernels)[number]
    nll = kernels.softmax_regression(gradient, weight, x, targets, labels, 0.5, tile)
    theirs, losses = plain(weight, x, targets, labels)
    torch.testing.assert_close(nll.double(), losses, rtol=1e-4, atol=1e-4)
    assert torch.equal(gradient[labels:], before[labels:])
    near(gradient, before + 0.5 * theirs)


def test_states_that_pad_a_step_add_nothing(kernels):
    weight, x, targets = drawn(70, 300, 320, 64)
    more, none = F.pad(x, (0, 0, 0, 58)), F.pad(targets, (0, 58))
    alone, padded = torch.zeros_like(weight), torch.zeros_like(weight)
    ours = kernels.softmax_regression(alone, weight, x, targets, 300, 1.0)
    longer = kernels.softmax_regression(padded, weight, more, none, 300, 1.0)
    torch.testing.assert_close(longer[:70], ours)
    near(padded, alone.double())
    assert len(kernels.softmax_regression(alone, weight, x[:0], targets[:0], 300, 1.0)) == 0


@pytest.mark.parametrize("moved", [-512.0, 512.0])
def test_logits_may_all_be_far_from_zero(kernels, moved):
    weight, x, targets = drawn(64, 300, 320, 64, size=4.0)
    weight[:300, -6] = moved  # of the coordinate that is 1
    gradient = torch.zeros_like(weight)
    nll = kernels.softmax_regression(gradient, weight, x, targets, 300, 1.0)
    theirs, losses = plain(weight, x, targets, 300)
    torch.testing.assert_close(nll.double(), losses, rtol=1e-3, atol=1e-3)
    near(gradient, theirs, 5e-3)


def told(kernels, *logits: float) -> tuple[float, Tensor]:
    """The NLL of the first of some labels, and the gradient by logits."""
    x, weight = torch.zeros(1, 64, device=DEVICE), torch.zeros(64, 64, device=DEVICE)
    x[0, 0], weight[: len(logits), 0] = 1, torch.tensor(logits, device=DEVICE)
    gradient = torch.zeros_like(weight, dtype=HALF)
    target = torch.zeros(1, dtype=torch.int64, device=DEVICE)
    nll = kernels.softmax_regression(gradient, weight.to(HALF), x.to(HALF), target, 3, 1.0)
    return float(nll), gradient[:3, 0].float().cpu()


def test_a_label_that_seems_impossible_has_a_likelihood_yet(kernels):
    nll, gradient = told(kernels, 0.0, 100.0, 96.0)
    assert nll == pytest.approx(100 + math.log1p(math.exp(-4)), rel=1e-5)
    p = torch.tensor([100.0, 96.0]).softmax(0)
    torch.testing.assert_close(gradient, torch.tensor([-1.0, *p]), rtol=1e-2, atol=0)


def test_likelier_than_the_bound_is_as_likely_as_it(kernels):
    nll, gradient = told(kernels, 0.0, 1e4, 200.0)
    assert nll == pytest.approx(162 * math.log(2) + math.log(2), rel=1e-5)
    torch.testing.assert_close(gradient, torch.tensor([-1.0, 0.5, 0.5]))


def test_the_label_that_came_may_be_certain(kernels):
    nll, gradient = told(kernels, 300.0, 0.0, -1e4)
    assert nll == pytest.approx(0, abs=1e-4)
    torch.testing.assert_close(gradient, torch.zeros(3), rtol=0, atol=1e-4)


@pytest.mark.parametrize("half", [torch.float32, torch.bfloat16])
def test_the_update_is_that_of_plain_torch(kernels, half):
    generator = torch.Generator().manual_seed(0)
    weight, g, m = (torch.randn(3, 1000, generator=generator).to(DEVICE) for _ in range(3))
    v, g, rounded = m**2, g.to(half).float(), weight.to(half)
    ours, gradient = [m.clone(), v.clone(), weight.clone()], g.to(half, copy=True)
    working = ours[2] if half == torch.float32 else rounded.clone()
    kernels.adamw(ours[2], *ours[:2], gradient, working, 0.01, 0.9, 1e-8)
    assert not gradient.any()
    # The interpreter cuts off what bfloat16 has no place for.
    torch.testing.assert_close(working.float(), ours[2], rtol=2**-8 if CUDA else 2**-7, atol=0)
    m, v = m.lerp(g, 0.1), v * 0.99 + g * g * 0.01
    wanted = weight * 0.9 - 0.01 * m / (v.sqrt() + 1e-8)
    for one, theirs in zip(ours, (m, v, wanted), strict=True):
        torch.testing.assert_close(one, theirs, rtol=1e-5, atol=1e-6)


def test_rows_are_gathered_and_standardised(kernels):
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(50, 30, generator=generator).to(DEVICE) * 3 + 1
    rows = torch.randperm(50, generator=generator)[:41].to(DEVICE)
    mean, scale = torch.zeros(64, device=DEVICE), torch.ones(64, device=DEVICE)
    mean[:30], scale[:30] = states.mean(0), states.std(0)
    out = torch.full((41, 64), math.nan, device=DEVICE, dtype=HALF)
    kernels.standardised_rows(states, rows, mean, scale, out)
    wanted = F.pad((states[rows] - mean[:30]) / scale[:30], (0, 34))
    wanted[:, 30] = 1
    torch.testing.assert_close(out, wanted.to(HALF), rtol=8e-3 if CUDA else 1e-5, atol=1e-6)


def test_what_is_no_number_stays_none(kernels):
    nll, _ = told(kernels, 0.0, math.nan, 1.0)
    assert math.isnan(nll)
