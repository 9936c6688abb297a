"""The loss by blocks of rows is the one that autograd takes apart, and so are its gradients."""

import pytest
import torch
import torch.nn.functional as F

from rnnlens.corpus.split import PADDING
from rnnlens.model import packed, softmax
from rnnlens.model.softmax import linear_nll, softmax_less_targets_

ROWS, WIDTH, LABELS = 50, 7, 13


def drawn(dtype, padding=0.2):
    generator = torch.Generator().manual_seed(0)
    shapes = ((ROWS, WIDTH), (LABELS, WIDTH), (LABELS,))
    tensors = [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]
    targets = torch.randint(LABELS, (ROWS,), generator=generator)
    targets[torch.rand(ROWS, generator=generator) < padding] = PADDING
    y, weight, bias = (tensor.requires_grad_() for tensor in tensors)
    return (y, weight, bias), targets


def plainly(y, weight, bias, targets):
    return F.cross_entropy(F.linear(y, weight, bias), targets, reduction="sum")


@pytest.fixture(params=[1, 16, 64], ids=lambda rows: f"{rows} rows")
def blocks(request, monkeypatch):
    monkeypatch.setattr(softmax, "_LOGITS", 0)
    monkeypatch.setattr(softmax, "_ROWS", request.param)
    monkeypatch.setattr(packed, "_LARGE", 1)  # products by oneDNN, as of many labels


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("padding", [0.0, 0.2, 1.0])
@pytest.mark.parametrize(("dtype", "most"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_loss_and_gradients_are_those_of_cross_entropy(dtype, most, padding):
    tensors, targets = drawn(dtype, padding)
    given = (*tensors, targets)
    ours, plain = (function(*given) for function in (linear_nll, plainly))
    torch.testing.assert_close(ours, plain, rtol=most, atol=most)
    found, wanted = (torch.autograd.grad(loss * 0.3, tensors) for loss in (ours, plain))
    torch.testing.assert_close(found, wanted, rtol=most, atol=most)


@pytest.mark.usefixtures("blocks")
def test_an_output_before_it_gets_its_gradient():
    (y, weight, bias), targets = drawn(torch.float64)
    back = torch.eye(WIDTH, dtype=torch.float64).requires_grad_()
    found, wanted = (
        torch.autograd.grad(function(y @ back, weight, bias, targets), (y, back))
        for function in (linear_nll, plainly)
    )
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)


def test_few_logits_are_autograds():
    tensors, targets = drawn(torch.float32)
    given = (*tensors, targets)
    assert torch.equal(linear_nll(*given), plainly(*given))


def test_a_target_without_probability_has_a_loss():
    logits = torch.tensor([[0.0, 200.0]])
    nll = softmax_less_targets_(logits, torch.tensor([0]))
    assert nll.tolist() == [200.0]
    assert logits.tolist() == [[-1.0, 1.0]]
