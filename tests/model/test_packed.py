"""Products with weights laid out for the processor are those of the weights as they are."""

import copy
import pickle

import pytest
import torch

from rnnlens.model import packed
from rnnlens.model.packed import Packed

WEIGHT, BIAS = torch.randn(50, 7, generator=torch.Generator().manual_seed(0)), torch.ones(50)
needs_copies = pytest.mark.skipif(packed._operations() is None, reason="this torch has no oneDNN")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 40, 41, 5000])
@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_product_is_that_of_the_weights(count, bias, mode):
    x = torch.randn(count, 7)
    with mode():
        found = Packed().product(x, WEIGHT, bias)
    torch.testing.assert_close(found, torch.nn.functional.linear(x, WEIGHT, bias))


@needs_copies
@pytest.mark.parametrize("count", [1, 5])
def test_weights_that_change_are_read_anew(count):
    held, weight, x = Packed(), WEIGHT.clone(), torch.randn(count, 7)
    with torch.inference_mode():
        held.product(x, weight)
        (first,) = held._copies.values()
        held.product(x, weight)
        assert held._copies[count == 1] is first  # made once
    weight.mul_(2)
    with torch.inference_mode():
        torch.testing.assert_close(held.product(x, weight), x @ weight.T)
        torch.testing.assert_close(held.product(x, WEIGHT), x @ WEIGHT.T)


@pytest.mark.parametrize("count", [1, 5])
def test_others_in_the_place_of_weights_that_are_gone_are_read_anew(count):
    held, x = Packed(), torch.randn(count, 7)
    with torch.no_grad():
        for _ in range(20):
            weight = torch.randn(50, 7)
            torch.testing.assert_close(held.product(x, weight), x @ weight.T)
            del weight


@pytest.mark.parametrize("count", [1, 5])
def test_weights_that_an_optimiser_changes_are_read_as_they_are(count):
    held, x, weight = Packed(), torch.randn(count, 7), torch.nn.Parameter(WEIGHT.clone())
    optimiser = torch.optim.AdamW([weight], lr=0.1, fused=True)  # whose changes nobody counts
    for _ in range(2):
        with torch.no_grad():
            torch.testing.assert_close(held.product(x, weight), x @ weight.T)
        held.product(x, weight).sum().backward()
        optimiser.step()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_numbers_are_multiplied_as_they_are(dtype):
    x, held = torch.randn(3, 7, dtype=dtype), Packed()
    with torch.no_grad():
        torch.testing.assert_close(held.product(x, WEIGHT.to(dtype)), x @ WEIGHT.to(dtype).T)
    assert not held._copies


def test_what_is_learnt_has_gradients():
    weight, held = WEIGHT.clone().requires_grad_(), Packed()
    held.product(torch.ones(2, 7), weight, BIAS).sum().backward()
    assert weight.grad is not None
    assert torch.equal(weight.grad, torch.full((50, 7), 2.0))
    assert not held._copies


def test_large_weights_and_those_that_nobody_counts_changes_of_have_no_copy(monkeypatch):
    held, x = Packed(), torch.randn(3, 7)
    with torch.inference_mode():
        uncounted = WEIGHT.clone()
        torch.testing.assert_close(held.product(x, uncounted), x @ WEIGHT.T)
        monkeypatch.setattr(packed, "_LARGEST", 100)
        torch.testing.assert_close(held.product(x, WEIGHT), x @ WEIGHT.T)
    assert not held._copies


def test_a_torch_without_such_operations_multiplies_as_ever(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    packed._operations.cache_clear()
    try:
        with torch.no_grad():
            x, held = torch.randn(3, 7), Packed()
            torch.testing.assert_close(held.product(x, WEIGHT, BIAS), x @ WEIGHT.T + BIAS)
        assert not held._copies
    finally:
        packed._operations.cache_clear()


def test_copies_of_a_model_make_their_own():
    held = Packed()
    with torch.no_grad():
        held.product(torch.randn(3, 7), WEIGHT)
    for other in (copy.deepcopy(held), pickle.loads(pickle.dumps(held))):
        assert isinstance(other, Packed)
        assert not other._copies
