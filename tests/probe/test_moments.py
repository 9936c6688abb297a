"""How states vary: what is kept of a covariance, and that fitting keeps it."""

import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.dataset import Chunk
from rnnlens.probe.moments import Moments, Spread, _ridge, measure
from rnnlens.probe.probes import Probes


def test_a_covariance_comes_back_from_its_triangle():
    states = torch.randn(200, 7, generator=torch.Generator().manual_seed(0)).double()
    states = states @ torch.randn(7, 7, generator=torch.Generator().manual_seed(1)).double()
    states *= torch.logspace(-6, 6, 7).double()  # units of very different sizes
    covariance = states.T.cov(correction=0)
    spread = Spread.of(covariance)
    size = covariance.diagonal().sqrt()
    torch.testing.assert_close(
        spread.covariance.double() / torch.outer(size, size), covariance / torch.outer(size, size),
        rtol=0, atol=1e-3,
    )  # fmt: skip
    mean_square = (states - states.mean(0)).square().sum(1).mean()
    assert spread.size == pytest.approx(float(mean_square.sqrt()), rel=1e-5)
    again = Spread.read(spread.tensors("l2"), "l2")
    assert again is not None
    assert torch.equal(again.covariance, spread.covariance)
    assert Spread.read({}, "l2") is None


def rounded(share: float) -> tuple[Moments, torch.Tensor, torch.Tensor]:
    """Moments of states that move in 6 of 40 directions alone, and of an output that is read from
    them; all variances are too small by a share of their mean, as rounding leaves them.
    """
    generator = torch.Generator().manual_seed(0)
    few = torch.randn(4000, 6, generator=generator)
    states = few @ torch.randn(6, 40, generator=generator)
    output = states @ torch.randn(40, 3, generator=generator) / 40
    labels = torch.zeros(len(few), dtype=torch.int64)
    moments = measure([Chunk({"W1": states, "h1": output}, labels, labels, 1)], "h1")
    less = share * moments.covariance("W1").diagonal().mean() * moments.count
    spread = moments.about["W1"][1].double()
    moments.squares["W1"].diagonal().sub_(less / spread**2)
    return moments, states.double(), output.double()


# A ten-thousandth, which is the ridge, leaves nothing to divide by.
@pytest.mark.parametrize("share", [0.0, 1e-5, 0.99999e-4, 1.00001e-4, 1e-3])
def test_no_weight_of_a_closed_form_is_made_of_rounding(share):
    moments, states, output = rounded(share)
    guess = (states - states.mean(0)) @ moments.regression("W1")
    wanted = output - output.mean(0)
    assert (guess - wanted).square().mean() < 0.02 * wanted.square().mean()
    assert moments.regression("W1").abs().max() < 1
    other = torch.randn(4000, 40, generator=torch.Generator().manual_seed(1)).double()
    assert (other @ moments.regression("W1")).square().mean() < 1  # also where no state was


@pytest.mark.parametrize("share", [0.0, 1e-5, 0.9e-4, 1e-3, 1e-2])
def test_a_ridge_is_twice_as_large_as_what_rounding_leaves(share):
    """Of a covariance whose least eigenvalue is below zero by that share of the mean variance."""
    turn = torch.linalg.qr(torch.randn(40, 40, generator=torch.Generator().manual_seed(0)).double())
    sizes = torch.ones(40).double()
    sizes[0] = -share
    within = turn.Q @ torch.diag(sizes) @ turn.Q.T
    found = float(_ridge(within) / within.diagonal().mean())
    least = share * 40 / sizes.sum().item()
    assert max(1e-4, 2 * least) * 0.99 <= found <= max(1e-4, 8 * least) * 1.01


def test_a_unit_that_never_moves_has_no_correlation():
    spread = Spread.of(torch.tensor([[4.0, 0.0], [0.0, 0.0]]))
    assert spread.covariance.tolist() == [[4, 0], [0, 0]]


@pytest.mark.parametrize("damage", ["cut", "alone"])
def test_a_damaged_triangle_is_refused(damage):
    tensors = {"output/l2/weight": torch.randn(4, 3), "output/l2/bias": torch.zeros(4)}
    tensors |= Spread.of(torch.eye(3)).tensors("l2")
    assert Probes.of("linear", ["l2"], ["output"], 4, tensors).spreads["l2"].size > 0
    if damage == "cut":
        tensors["spread/l2/packed"] = tensors["spread/l2/packed"][:-1]
    else:
        del tensors["spread/l2/deviation"]
    with pytest.raises(RnnlensError, match=r"damaged \(.*spread/l2"):
        Probes.of("linear", ["l2"], ["output"], 4, tensors)
