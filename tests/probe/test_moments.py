"""How states vary: what is kept of a covariance, and that fitting keeps it."""

import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.moments import Spread
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
