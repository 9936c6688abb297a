"""What a fit says of its time before it begins."""

import pytest
from tests.probe.conftest import dataset_of

from rnnlens.probe import fitting, needed_time
from rnnlens.probe.fitting import FitConfig, Fitter
from rnnlens.probe.needed_time import Estimate


@pytest.fixture
def estimate_of(network, train, valid, monkeypatch):
    """A fit's estimate where every piece of work that is timed takes a thousandth of a second."""
    monkeypatch.setattr(fitting, "MANY", 0)

    def seconds(work, _device):
        work()
        return 0.001

    monkeypatch.setattr(needed_time, "_seconds", seconds)

    def of(**options):
        fitter = Fitter(
            dataset_of(network, train=train, valid=valid), "output", FitConfig(**options)
        )
        return fitter, fitter.estimate

    return of


def test_epochs_are_counted_and_what_comes_before_them_is_not_counted_twice(estimate_of):
    _, two = estimate_of(epochs=2)
    _, six = estimate_of(epochs=6)
    _, none = estimate_of(epochs=0)
    assert six.epochs == pytest.approx(two.epochs * 3, rel=0.15)  # one validation more than epochs
    assert none.epochs < two.epochs / 2
    assert two.before > 0


def test_a_sample_leaves_the_fit_as_it_is(estimate_of, network, train, valid, monkeypatch):
    fitter, _ = estimate_of(epochs=1)
    monkeypatch.setattr(fitting, "MANY", 1e30)
    plain = Fitter(dataset_of(network, train=train, valid=valid), "output", FitConfig(epochs=1))
    assert plain.estimate is None
    for one in (fitter, plain):
        one.run(lambda: False, lambda: None)
    assert fitter.progress.best == plain.progress.best


def test_a_long_fit_is_told_with_what_makes_it_shorter():
    said = Estimate(60, 600).said("GPU", ("epochs=1", 1 / 4))
    assert said == (
        "about 11 min on this GPU, estimated from one chunk of states and one block of products: "
        "60 s before the first epoch; epochs=1 makes it about 4 min"
    )
    assert Estimate(10, 10).said("GPU", ("epochs=1", 1 / 4)) == ""
