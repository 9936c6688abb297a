import math

import pytest
import torch
import torch.nn.functional as F

from rnnlens.probe.kernels import adamw_, softmax_gradient_

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
    ),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("rows", "labels", "padded"), [(5, 7, 7), (64, 1000, 1024), (3, 2, 64)])
def test_the_softmax_gradient_is_autograds(device, rows, labels, padded):
    torch.manual_seed(0)
    logits = torch.randn(rows, padded, device=device) * 4
    targets = torch.randint(labels, (rows,), device=device)
    reference = logits[:, :labels].double().requires_grad_()
    losses = F.cross_entropy(reference, targets, reduction="none")
    (losses.sum() * 0.3).backward()
    nll = softmax_gradient_(logits, targets, labels, 0.3)
    torch.testing.assert_close(nll.double(), losses.detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(logits[:, :labels].double(), reference.grad, rtol=1e-4, atol=1e-6)
    assert not logits[:, labels:].any()


@pytest.mark.parametrize("device", DEVICES)
def test_a_label_that_seems_impossible_has_a_likelihood_yet(device):
    logits = torch.tensor([[200.0, 0.0, -300.0], [1e4, 1e4, 0.0]], device=device)
    nll = softmax_gradient_(logits, torch.tensor([2, 2], device=device), 3, 1.0)
    torch.testing.assert_close(nll.cpu(), torch.tensor([500.0, 1e4 + math.log(2)]))
    torch.testing.assert_close(logits.cpu(), torch.tensor([[1.0, 0.0, -1.0], [0.5, 0.5, -1.0]]))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("half", [torch.float32, torch.bfloat16])
def test_the_update_is_adamws(device, half):
    torch.manual_seed(0)
    weight = torch.randn(3, 50, device=device)
    reference = weight.clone().requires_grad_()
    optimiser = torch.optim.AdamW([reference], lr=0.01, betas=(0.9, 0.99), weight_decay=0.1)
    m, v, working = torch.zeros_like(weight), torch.zeros_like(weight), weight.to(half)
    for step in range(1, 6):
        gradient = torch.randn_like(weight)
        reference.grad = gradient.clone()
        optimiser.step()
        adamw_(weight, m, v, gradient, step, 0.01, 0.1, working)
        assert not gradient.any()
        assert torch.equal(working, weight.to(half))
    torch.testing.assert_close(weight, reference.detach(), rtol=1e-5, atol=1e-6)
