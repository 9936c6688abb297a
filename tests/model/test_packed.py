"""Products with weights laid out for the processor are those of the weights as they are."""

import gc

import pytest
import torch
import torch.nn.functional as F

from rnnlens.model import packed
from rnnlens.model.packed import packed_linear, packed_product, product_once

DRAWN = torch.Generator().manual_seed(0)
WEIGHT, BIAS = torch.randn(50, 7, generator=DRAWN), torch.ones(50)
HALVES = WEIGHT.half().float()  # as a file has them
needs_blocks = pytest.mark.skipif(packed._blocks() is None, reason="this torch has no oneDNN")
needs_halves = pytest.mark.skipif(packed._halves() is None, reason="this torch has no FBGEMM")


def copies(weight):
    """The ways in which copies of a matrix are at hand."""
    held = packed._known.get(id(weight))
    return {way for way, copy in held[1].made.items() if copy is not None} if held else set()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 40, 48, 49, 5000])
@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("given", [WEIGHT, HALVES])
def test_a_product_is_that_of_the_weights(count, bias, mode, given):
    weight = given.clone()
    for _ in range(3):  # without a copy, with a new one and with an old one
        x = torch.randn(count, 7)
        with mode():
            found = packed_product(x, weight, bias)
        torch.testing.assert_close(found, F.linear(x, weight, bias))


@pytest.mark.parametrize("shape", [(1, 7), (2, 3, 7), (30, 2, 7), (0, 7), (7,)])
@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize("given", [WEIGHT, HALVES])
def test_states_in_any_shape_are_multiplied(shape, bias, given):
    weight = given.clone()
    for _ in range(3):
        x = torch.randn(shape)
        with torch.inference_mode():
            found = packed_linear(x, weight, bias)
        torch.testing.assert_close(found, F.linear(x, weight, bias))


@needs_halves
def test_halves_are_taken_where_no_weight_needs_more_and_states_stay_as_they_are():
    exact = HALVES.clone()
    x = 1 + torch.rand(3, 7, generator=DRAWN) * 2**-12  # which halves would round
    for _ in range(2):
        with torch.inference_mode():
            found = packed_product(x, exact)
            packed_product(x, WEIGHT)
    assert copies(exact) == {"halves"}
    assert "halves" not in copies(WEIGHT)
    truth = x.double() @ exact.double().T
    torch.testing.assert_close(found.double(), truth, rtol=0, atol=5e-6)


@needs_halves
def test_many_states_and_numbers_beyond_halves_have_other_copies():
    exact, large = HALVES.clone(), torch.full((50, 7), 70_000.0)
    for _ in range(2):
        with torch.inference_mode():
            packed_product(torch.randn(49, 7), exact)
            found = packed_product(torch.ones(3, 7), large)
    assert "halves" not in copies(exact) | copies(large)
    assert torch.equal(found, torch.full((3, 50), 490_000.0))


@pytest.mark.parametrize("multiplied", [packed_product, packed_linear])
def test_infinite_weights_stay_infinite(multiplied):
    weight = HALVES.clone()
    weight[3, 2] = torch.inf
    for _ in range(3):
        with torch.inference_mode():
            found = multiplied(torch.ones(2, 7), weight)
        assert found[:, 3].isposinf().all()
    assert weight[3, 2] == torch.inf


@needs_blocks
@pytest.mark.parametrize("count", [1, 5])
def test_weights_that_change_are_read_anew(count):
    weight, x = WEIGHT.clone(), torch.randn(count, 7)
    with torch.inference_mode():
        packed_product(x, weight)
        assert not copies(weight)  # they may be met never again
        packed_product(x, weight)
        first = dict(packed._known[id(weight)][1].made)
        packed_product(x, weight)
    assert copies(weight) == {"column" if count == 1 else "blocks"}
    assert all(packed._known[id(weight)][1].made[way] is copy for way, copy in first.items())
    weight.mul_(2)
    for _ in range(2):
        with torch.inference_mode():
            torch.testing.assert_close(packed_product(x, weight), x @ weight.T)
            torch.testing.assert_close(packed_product(x, WEIGHT), x @ WEIGHT.T)


@pytest.mark.parametrize("count", [1, 5])
def test_others_in_the_place_of_weights_that_are_gone_are_read_anew(count):
    x, before = torch.randn(count, 7), len(packed._known)
    with torch.no_grad():
        for _ in range(20):
            weight = torch.randn(50, 7)
            for _ in range(2):
                torch.testing.assert_close(packed_product(x, weight), x @ weight.T)
            del weight
    gc.collect()
    assert len(packed._known) <= before  # copies go with their weights


@pytest.mark.parametrize("count", [1, 5])
def test_weights_that_an_optimiser_changes_are_read_as_they_are(count):
    x, weight = torch.randn(count, 7), torch.nn.Parameter(WEIGHT.clone())
    optimiser = torch.optim.AdamW([weight], lr=0.1, fused=True)  # whose changes nobody counts
    for _ in range(3):
        with torch.no_grad():
            torch.testing.assert_close(packed_product(x, weight), x @ weight.T)
            torch.testing.assert_close(packed_linear(x, weight), x @ weight.T)
        packed_product(x, weight).sum().backward()
        optimiser.step()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_numbers_are_multiplied_as_they_are(dtype):
    x, weight = torch.randn(3, 7, dtype=dtype), WEIGHT.to(dtype)
    for _ in range(2):
        with torch.no_grad():
            torch.testing.assert_close(packed_product(x, weight), x @ weight.T)
            torch.testing.assert_close(packed_linear(x, weight), x @ weight.T)
    assert not copies(weight)


@pytest.mark.parametrize("multiplied", [packed_product, packed_linear])
def test_what_is_learnt_has_gradients(multiplied):
    weight, x = HALVES.clone().requires_grad_(), torch.ones(2, 7, requires_grad=True)
    multiplied(torch.ones(2, 7), weight, BIAS).sum().backward()
    assert weight.grad is not None
    assert torch.equal(weight.grad, torch.full((50, 7), 2.0))
    assert not copies(weight)
    for _ in range(2):
        multiplied(x, HALVES, BIAS).sum().backward()
    assert x.grad is not None


def test_large_weights_and_those_that_nobody_counts_changes_of_have_no_copy(monkeypatch):
    x, weight = torch.randn(3, 7), WEIGHT.clone()
    with torch.inference_mode():
        uncounted = WEIGHT.clone()
        monkeypatch.setattr(packed, "_LARGEST", 100)
        for _ in range(2):
            torch.testing.assert_close(packed_product(x, weight), x @ WEIGHT.T)
        monkeypatch.undo()
        for _ in range(2):
            torch.testing.assert_close(packed_product(x, uncounted), x @ WEIGHT.T)
    assert not copies(uncounted) | copies(weight)


def test_a_torch_without_such_operations_multiplies_as_ever(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.setattr(packed._Halves, "packed", lambda *_: 1 / 0)
    monkeypatch.setattr(packed, "_made", lambda _: None)
    packed._blocks.cache_clear()
    packed._halves.cache_clear()
    weight, x = HALVES.clone(), torch.randn(3, 7)
    try:
        for _ in range(2):
            with torch.no_grad():
                torch.testing.assert_close(packed_product(x, weight, BIAS), x @ weight.T + BIAS)
                torch.testing.assert_close(packed_linear(x, weight, BIAS), x @ weight.T + BIAS)
        assert not copies(weight)
    finally:
        packed._blocks.cache_clear()
        packed._halves.cache_clear()


@pytest.mark.parametrize("large", [1, 2**24], ids=["oneDNN", "small"])
@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_a_product_without_a_copy_is_that_of_the_weights(count, bias, large, monkeypatch):
    monkeypatch.setattr(packed, "_LARGE", large)
    x, back = torch.randn(count, 7), torch.randn(count, 50)
    with torch.no_grad():
        torch.testing.assert_close(product_once(x, WEIGHT, bias), F.linear(x, WEIGHT, bias))
        torch.testing.assert_close(product_once(back, WEIGHT.t()), back @ WEIGHT)
        double = product_once(x.double(), WEIGHT.double())
    torch.testing.assert_close(double, x.double() @ WEIGHT.double().t(), rtol=1e-12, atol=1e-12)
