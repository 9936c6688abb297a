import numpy as np
import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.probe.moments import Spread
from rnnlens.probe.probes import Probes, product_into, stored


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


def many(labels=90, rank=130, width=150):
    """Probes whose label matrix and correlations have several blocks."""
    torch.manual_seed(0)
    states = torch.randn(400, width, dtype=torch.float64) @ torch.randn(width, width).double()
    tensors = {
        "output/labels": torch.randn(labels, rank) * torch.logspace(-3, 3, labels)[:, None],
        "output/counts": torch.arange(labels) * 1000,
        "output/h/weight": torch.randn(rank, width), "output/h/bias": torch.randn(rank),
        "output/h/label_bias": torch.randn(labels),
        **Spread.of(states.T.cov()).tensors("h"),
    }  # fmt: skip
    tensors["output/labels"][3] = 0
    return Probes.of("shared", ["h"], ["output"], labels, tensors)


def again(tensors, labels=90):
    return Probes.of("shared", ["h"], ["output"], labels, tensors)


def test_bytes_are_off_by_half_a_step_at_most_and_all_else_is_half_precision():
    made = many()
    held = stored(made.tensors(), "byte")
    assert {name: str(held[name].dtype) for name in held} == {
        "output/labels": "torch.int8", "output/labels/steps": "torch.bfloat16",
        "spread/h/packed": "torch.int8", "spread/h/packed/steps": "torch.bfloat16",
        "output/counts": "torch.int32", "spread/h/deviation": "torch.float32",
        "output/h/mean": "torch.float32", "output/h/scale": "torch.float32",
        "output/h/weight": "torch.float16", "output/h/bias": "torch.float16",
        "output/h/label_bias": "torch.float16",
    }  # fmt: skip
    back = again(held)
    assert torch.equal(back.counts["output"], made.counts["output"])
    exact = made.stacks["output"].labels[:, :130].numpy().astype(np.float64)
    for rows in (slice(0, 65), slice(65, 130)):  # two blocks of each row
        some = exact[:, rows]
        read = back.stacks["output"].labels[:, rows].numpy()
        step = np.abs(some).max(1, keepdims=True) / 127
        assert (np.abs(read - some) <= 0.502 * step + 1e-30).all()  # steps have eight bits
    whole = (back.spreads["h"].packed - made.spreads["h"].packed).abs()
    assert float(whole.max()) <= 0.502 / 127
    state = torch.randn(5, 150)
    half = again(stored(made.tensors(), "half"))
    a, b = (some.logits("h", state)[:, :40] for some in (half, back))
    assert torch.nn.functional.cosine_similarity(a, b, 0).min() > 0.999


def test_what_is_held_in_bytes_is_held_so_again():
    held = stored(many().tensors(), "byte")
    twice = stored(again(held).tensors(), "byte")
    assert all(torch.equal(held[name], twice[name]) for name in held)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("output/labels/steps", None),
        ("output/labels/steps", lambda t: t[:, :1]),
        ("output/labels/steps", lambda t: t.mT),
        ("output/labels/steps", lambda t: -t),
        ("output/labels/steps", lambda t: t * 0),
        ("output/labels/steps", lambda t: t * torch.nan),
        ("output/labels/steps", lambda t: t * 1e12),
        ("output/labels/steps", lambda t: t.char()),
        ("output/labels", lambda t: t.float()),
        ("output/labels", lambda t: t.short()),
        ("output/h/weight", lambda t: t.char()),
        ("output/h/weight/steps", lambda t: torch.ones(130, 2)),
        ("spread/h/packed/steps", lambda t: t[None]),
        ("output/counts", lambda t: t.float()),
    ],
)
def test_spoilt_bytes_are_refused_in_one_line(name, change):
    held = stored(many().tensors(), "byte")
    assert again(held)
    spoilt = change and change(held.get(name))
    held = {**held, name: spoilt} if change else {n: t for n, t in held.items() if n != name}
    with pytest.raises(RnnlensError, match=r"^the probes [^\n]*; fit them anew$"):
        again(held)


def test_logits_of_one_kind_are_put_between_those_of_others():
    """As a GPU does it, run here on the CPU."""
    draws = torch.Generator().manual_seed(0)
    x, weight = torch.randn(4, 3, 7, generator=draws), torch.randn(5, 7, generator=draws)
    logits = torch.zeros(4, 3, 5)
    product_into(x[:, 1], weight, logits[:, 1])
    torch.testing.assert_close(logits[:, 1], x[:, 1] @ weight.T)
    assert not logits[:, ::2].any()
