"""The logits are found in whatever shape and place a module returns them."""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rnnlens.adapter import Adapter
from rnnlens.base.errors import RnnlensError

T, B, V = 5, 3, 7


class Model(nn.Module):
    """Returns its logits in a shape to be chosen."""

    def __init__(
        self, shape: Any, batch_first: bool = False, lengths: list[int] | None = None
    ) -> None:
        super().__init__()
        self.part = nn.GRU(2, 4, batch_first=batch_first)
        self.head = nn.Linear(4, V)
        self.shape = shape
        self.lengths = lengths

    def forward(self, x: Tensor) -> Any:
        if self.lengths is None:
            output, last = self.part(x)
            return self.shape(self.head(output), last, output)
        packed = pack_padded_sequence(x, self.lengths, self.part.batch_first, enforce_sorted=False)
        return self.shape(self.part(packed)[0], self.head, None)


class Named(NamedTuple):
    hidden: Tensor
    logits: Tensor


@dataclass
class Held:
    loss: Tensor
    scores: Tensor


class Object:
    def __init__(self, logits: Tensor) -> None:
        self.prediction = logits


SHAPES = {
    "plain": lambda y, h, o: y,
    "transposed": lambda y, h, o: y.transpose(0, 1),
    "flat": lambda y, h, o: y.reshape(-1, V),
    "log-probabilities": lambda y, h, o: y.log_softmax(-1),
    "tuple": lambda y, h, o: (y, h),
    "after the state": lambda y, h, o: (h, o, y),
    "list": lambda y, h, o: [None, y, torch.ones(())],
    "nested": lambda y, h, o: (o, {"result": (y, h)}),
    "dict": lambda y, h, o: {"hidden": o, "probabilities": o[..., :2] * 0.3, "logits": y},
    "namedtuple": lambda y, h, o: Named(o, y),
    "dataclass": lambda y, h, o: Held(y.mean(), y),
    "object": lambda y, h, o: Object(y),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("square", [True, False])
def test_logits_are_found(shape, batch_first, square):
    module = Model(SHAPES[shape], batch_first)
    steps = B if square else T
    x = torch.randn(*((B, steps) if batch_first else (steps, B)), 2)
    traced = Adapter(module).trace(x)
    expected = module.head(traced.states["h1"])
    if shape == "log-probabilities":
        expected = expected.log_softmax(-1)
    assert traced.logits is not None
    torch.testing.assert_close(traced.logits, expected, rtol=0, atol=1e-5)


def test_batch_first_may_be_said():
    module = Model(SHAPES["transposed"])
    traced = Adapter(module, batch_first=True).trace(torch.randn(B, B, 2))
    assert traced.logits is not None
    assert torch.allclose(traced.logits, module.head(traced.states["h1"]), atol=1e-5)


def test_one_prediction_for_each_sequence():
    module = Model(lambda y, h, o: y[-1])
    traced = Adapter(module).trace(torch.randn(T, B, 2))
    assert traced.logits is not None
    assert traced.logits.shape == (1, B, V)
    assert torch.allclose(traced.logits[0], module.head(traced.states["h1"][-1]), atol=1e-5)


PACKED = {
    "packed": lambda packed, head, _: packed._replace(data=head(packed.data)),
    "data": lambda packed, head, _: head(packed.data),
    "padded": lambda packed, head, _: head(pad_packed_sequence(packed)[0]),
    "batch first": lambda packed, head, _: head(pad_packed_sequence(packed, batch_first=True)[0]),
    "longer": lambda packed, head, _: head(pad_packed_sequence(packed, total_length=9)[0]),
}


@pytest.mark.parametrize("shape", sorted(PACKED))
@pytest.mark.parametrize("lengths", [[2, 5, 4], [5, 3, 1]])
def test_logits_of_packed_sequences(shape, lengths):
    module = Model(PACKED[shape], lengths=lengths)
    traced = Adapter(module).trace(torch.randn(T, B, 2))
    assert traced.logits is not None
    assert traced.lengths is not None
    assert traced.lengths.tolist() == lengths
    expected = module.head(traced.states["h1"])
    for column, n in enumerate(lengths):
        torch.testing.assert_close(
            traced.logits[:n, column], expected[:n, column], rtol=0, atol=1e-5
        )


@pytest.mark.parametrize(
    "shape",
    [
        lambda y, h, o: o,
        lambda y, h, o: (o, h),
        lambda y, h, o: h[-1],
        lambda y, h, o: o[0],
        lambda y, h, o: o.clone(),
        lambda y, h, o: o.transpose(0, 1).contiguous(),
    ],
)
def test_a_module_that_returns_its_states_has_no_logits(shape):
    assert Adapter(Model(shape)).trace(torch.randn(T, B, 2)).logits is None


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (lambda y, h, o: y.mean(), "Tensor single number"),
        (lambda y, h, o: (y[:2, :2], "x"), "tuple of Tensor 2 x 2 x 7 .*, str 'x'"),
        (lambda y, h, o: y.argmax(-1), "Tensor 5 x 3 .int64."),
    ],
)
def test_what_cannot_be_logits_is_shown(shape, said):
    message = f"the module returned {said}.*5 timesteps of 3 sequences.*give logits=, a function"
    with pytest.raises(RnnlensError, match=message):
        Adapter(Model(shape)).trace(torch.randn(T, B, 2))


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (lambda y, h, o: None, "NoneType"),
        (lambda y, h, o: {"a": [1, 2]}, "dict of list of int 1, int 2"),
    ],
)
def test_a_module_that_returns_no_tensor_is_told_so(shape, said):
    message = f"the module returned {said}, and no tensor .* give feed=, a function"
    with pytest.raises(RnnlensError, match=message):
        Adapter(Model(shape)).trace(torch.randn(T, B, 2))


def test_logits_may_be_picked_by_hand():
    module = Model(lambda y, h, o: (y * 0, y))
    traced = Adapter(module, logits=lambda output: output[1]).trace(torch.randn(T, B, 2))
    assert traced.logits is not None
    assert traced.logits.abs().max() > 0
    assert Adapter(module, logits=lambda output: None).trace(torch.randn(T, B, 2)).logits is None
    with pytest.raises(RnnlensError, match="logits= gave str 'no' and not a tensor"):
        Adapter(module, logits=lambda output: "no").trace(torch.randn(T, B, 2))
    with pytest.raises(RnnlensError, match="5 timesteps of 3 sequences"):
        Adapter(module, logits=lambda output: output[1][:1, :1]).trace(torch.randn(T, B, 2))


@pytest.mark.parametrize("order", ["time", "batch", "flat", "steps"])
def test_named_outputs_in_any_order(order):
    class Between(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part, self.block = nn.GRU(2, 4), nn.Linear(4, 6)

        def forward(self, x: Tensor) -> None:
            h = self.part(x)[0]
            if order == "steps":
                for now in h:
                    self.block(now)
            else:
                self.block({"time": h, "batch": h.transpose(0, 1), "flat": h.view(-1, 4)}[order])

    module = Between()
    adapter = Adapter(module, kinds=["block"], logits=lambda output: None)
    states = adapter.trace(torch.randn(T, B, 2)).states
    assert torch.allclose(states["block"], module.block(states["h1"]), atol=1e-5)


def test_a_named_output_that_fits_nothing_is_an_error():
    class Image(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part, self.block = nn.GRU(2, 4), nn.Identity()

        def forward(self, x: Tensor) -> Tensor:
            self.block(torch.zeros(2, 2, 2, 2))
            return cast("Tensor", self.part(x)[0])

    with pytest.raises(RnnlensError, match=r"output of block is Tensor 2 x 2 x 2 x 2 .*fits no"):
        Adapter(Image(), kinds=["block"]).trace(torch.randn(T, B, 2))
