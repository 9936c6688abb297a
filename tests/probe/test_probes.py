import pytest
import torch

from rnnlens.errors import RnnlensError
from rnnlens.probe.probes import Probes


def probes(family="linear", **changes):
    tensors = {"output/h/weight": torch.randn(4, 3), "output/h/bias": torch.zeros(4)}
    if family == "shared":
        tensors |= {"output/labels": torch.randn(5, 4), "output/h/label_bias": torch.zeros(5)}
    labels = 4 if family == "linear" else 5
    return Probes(family, ("h",), ("output",), labels, tensors | changes)


@pytest.mark.parametrize("family", ["linear", "shared"])
def test_logits_are_linear_in_the_state(family):
    made = probes(family)
    a, b = torch.randn(3), torch.randn(3)
    zero = made.logits("h", torch.zeros(3))
    together = made.logits("h", a + b) - zero
    apart = made.logits("h", a) + made.logits("h", b) - 2 * zero
    torch.testing.assert_close(together, apart)
    assert made.logits("h", torch.zeros(2, 7, 3)).shape == (2, 7, made.labels)


@pytest.mark.parametrize("family", ["linear", "shared"])
def test_a_round_trip_keeps_them(family):
    made = probes(family)
    back = Probes.from_json(made.to_json(), made.tensors)
    state = torch.randn(3)
    torch.testing.assert_close(back.logits("h", state), made.logits("h", state))


@pytest.mark.parametrize(("kind", "semantic"), [("c", "output"), ("h", "input")])
def test_a_probe_that_is_not_there_is_named(kind, semantic):
    with pytest.raises(RnnlensError, match="no probe for kind"):
        probes().logits(kind, torch.zeros(3), semantic)


@pytest.mark.parametrize(
    "changes",
    [{"output/h/bias": torch.zeros(9)}, {"output/h/weight": torch.zeros(6, 3)},
     {"output/h/weight": torch.full((4, 3), torch.nan)}],
)  # fmt: skip
def test_damaged_tensors_are_refused(changes):
    made = probes(**changes)
    with pytest.raises(RnnlensError, match="fit them anew"):
        Probes.from_json(made.to_json(), made.tensors)
