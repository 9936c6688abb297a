"""Errors of numbers and the precision of sets of labels, against plain computations."""

import pytest
import torch

from rnnlens.labels.sets import LabelSet, Scale
from rnnlens.probe.dataset import Chunk
from rnnlens.probe.kernels import sigmoid_gradient_
from rnnlens.probe.measures import Errors, Precision


def test_the_error_is_that_of_each_distributions_mean():
    scale = Scale((0.0, 1.0, 2.0), (0.5, 1.5))
    errors = Errors(LabelSet(scale.names, scale=scale))
    values = torch.tensor([0.2, 1.9])
    errors.add(
        torch.tensor([[1.0, 0.0], [0.5, 0.5]]), Chunk({}, torch.tensor([0, 1]), values, 1, values)
    )
    assert errors.value() == pytest.approx((0.3 + 0.9) / 2)


def naive(p: torch.Tensor, holds: torch.Tensor) -> float:
    """Average precision by sorting."""
    right = holds[p.argsort(descending=True)]
    at = right.cumsum(0) / torch.arange(1, len(right) + 1)
    return float(at[right > 0].mean())


def test_average_precision_is_that_of_a_sorted_list():
    generator = torch.Generator().manual_seed(0)
    p = torch.randperm(300, generator=generator).reshape(100, 3) / 300
    holds = (torch.rand(100, 3, generator=generator) < p).float()
    precision = Precision(LabelSet(("a", "b", "c"), several=True))
    for part in (slice(0, 37), slice(37, None)):
        precision.add(p[part], Chunk({}, holds[part], holds[part], 1))
    wanted = [naive(p[:, k], holds[:, k]) for k in range(3)]
    assert precision.value() == pytest.approx(sum(wanted) / 3, rel=1e-5)


def test_the_gradient_of_several_labels_is_autograds():
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(5, 6, generator=generator)
    targets = torch.randint(2, (5, 4), generator=generator).float()
    real = logits[:, :4].clone().requires_grad_(True)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(real, targets, reduction="none")
    (wanted,) = torch.autograd.grad(loss.sum() * 0.5, real)
    nll = sigmoid_gradient_(logits, targets, 4, 0.5)
    torch.testing.assert_close(logits[:, :4], wanted)
    assert not logits[:, 4:].any()
    torch.testing.assert_close(nll, loss.mean(1).detach())


def test_every_label_counts_once_more_than_it_came():
    frequencies = (
        LabelSet.numbered(len(torch.tensor([5, 2, 0]))).prior(torch.tensor([5, 2, 0])).exp()
    )
    assert frequencies.tolist() == pytest.approx([0.6, 0.3, 0.1], rel=1e-12)
