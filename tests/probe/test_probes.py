import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.probes import Probes


def probes(family="linear", **changes):
    tensors = {"output/h/weight": torch.randn(4, 3), "output/h/bias": torch.zeros(4)}
    if family == "shared":
        tensors |= {"output/labels": torch.randn(5, 4), "output/h/label_bias": torch.zeros(5)}
    labels = 4 if family == "linear" else 5
    return Probes.of(family, ("h",), ("output",), labels, tensors | changes)


@pytest.mark.parametrize("family", ["linear", "shared"])
def test_logits_are_linear_in_the_state(family):
    made = probes(family)
    a, b = torch.randn(3), torch.randn(3)
    zero = made.logits("h", torch.zeros(3))
    together = made.logits("h", a + b) - zero
    apart = made.logits("h", a) + made.logits("h", b) - 2 * zero
    torch.testing.assert_close(together, apart)
    assert made.logits("h", torch.zeros(2, 7, 3)).shape == (2, 7, made.label_count)


@pytest.mark.parametrize("family", ["linear", "shared"])
def test_a_round_trip_keeps_them(family):
    made = probes(family)
    back = Probes.of(family, made.kinds, made.semantics, made.label_count, made.tensors())
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
    with pytest.raises(RnnlensError, match="fit them anew"):
        probes(**changes)


@pytest.mark.parametrize("family", ["linear", "shared"])
def test_one_kind_or_all_at_once_say_the_same(family):
    widths, generator = {"x": 3, "h": 5}, torch.Generator().manual_seed(0)
    tensors = {}
    for kind, width in widths.items():
        rows = 7 if family == "linear" else 4
        for name, shape in (("weight", (rows, width)), ("bias", (rows,)), ("mean", (width,)),
                            ("label_bias", (7,))):  # fmt: skip
            if name == "label_bias" and family == "linear":
                continue
            tensors[f"output/{kind}/{name}"] = torch.randn(shape, generator=generator)
        tensors[f"output/{kind}/scale"] = torch.rand(width, generator=generator) + 0.5
    if family == "shared":
        tensors["output/labels"] = torch.randn(7, 4, generator=generator)
    made = Probes.of(family, list(widths), ["output"], 7, tensors)
    states = {"x": torch.randn(9, 3), "h": torch.randn(6, 5)}
    pieces = made.stacks["output"].pieces(states, size=4)
    together = torch.cat([piece.logits() for piece in pieces])
    assert [len(piece.logits()) for piece in pieces] == [piece.count for piece in pieces]
    assert max(piece.count for piece in pieces) == 4
    apart = torch.cat([made.logits(kind, v) for kind, v in states.items()])
    torch.testing.assert_close(together, apart)
    for kind, v in states.items():  # written out
        at = f"output/{kind}"
        z = (v - tensors[f"{at}/mean"]) / tensors[f"{at}/scale"]
        z = z @ tensors[f"{at}/weight"].T + tensors[f"{at}/bias"]
        if family == "shared":
            z = z @ tensors["output/labels"].T + tensors[f"{at}/label_bias"]
        torch.testing.assert_close(made.logits(kind, v), z)


def test_gradients_go_through_them_after_a_text_was_read():
    made = probes("shared")
    states = {kind: torch.randn(2, 3, requires_grad=True) for kind in made.kinds}
    with torch.inference_mode():
        made.stacks["output"].pieces(states, size=4)
    (piece,) = made.stacks["output"].pieces(states, size=4)
    piece.logits().sum().backward()
    assert all(one.grad is not None and one.grad.any() for one in states.values())
