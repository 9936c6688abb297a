"""Shapes that are written are read, and refused where they do not fit."""

import pytest
import torch

from rnnlens.adapter import Adapter
from rnnlens.adapter.axes.shapes import shaped_kinds
from rnnlens.base.errors import RnnlensError

T, B, H, N = 5, 3, 4, 2
STATES = torch.randn(T, B, H, N)


@pytest.mark.parametrize(
    ("written", "given", "expected"),
    [
        ("m: t b h n", STATES, {"m": STATES.flatten(2)}),
        ("m: b h t n", STATES.permute(1, 2, 0, 3), {"m": STATES.flatten(2)}),
        ("m: b n h t", STATES.permute(1, 3, 2, 0), {"m": STATES.transpose(2, 3).flatten(2)}),
        ("m:b t (h:4 n)", STATES.flatten(2).transpose(0, 1), {"m": STATES.flatten(2)}),
        ("m: (t b) h=3 n", STATES.flatten(0, 1), None),
        ("m: (t b:3) h=3 n", STATES.flatten(0, 1), {"m.h3": STATES[:, :, 3]}),
        ("m: t b h=3 n=1", STATES, {"m.h3.n1": STATES[:, :, 3, 1:]}),
        ("m: t b (h:4* n)", STATES.flatten(2), {f"m.h{k}": STATES[:, :, k] for k in range(4)}),
        ("m: t b", STATES[..., 0, 0], {"m": STATES[..., 0, :1]}),
        ("m: t n", STATES[:, 0, 0], {"m": STATES[:, :1, 0]}),
        ("m[1]: 1 t b n", STATES[None, :, :, 0], {"m[1]": STATES[:, :, 0]}),
    ],
)
def test_axes_are_those_that_are_written(written, given, expected):
    if expected is None:
        with pytest.raises(RnnlensError, match=r"of \(t b\) only one length may be left out"):
            [shape.states([given]) for _, shape in shaped_kinds([written]).values() if shape]
        return
    found = shaped_kinds([written])
    assert {*found} == {*expected}
    for kind, (name, shape) in found.items():
        assert name == written.split(":")[0]
        assert shape
        assert torch.equal(shape.states([given]), expected[kind])


def test_what_is_called_for_each_timestep_needs_no_t():
    ((_, shape),) = shaped_kinds(["m: b h n"]).values()
    assert shape
    assert torch.equal(shape.states(list(STATES)), STATES.flatten(2))
    with pytest.raises(RnnlensError, match="no axis is t, and it is called once"):
        shape.states([STATES[0]])
    with pytest.raises(RnnlensError, match="2 calls return 2 shapes"):
        shape.states([STATES[0], STATES[0, :2]])


@pytest.mark.parametrize(
    ("written", "cause"),
    [
        ("m:", "0 axes"), ("m: b b t", "two axes are called b"), ("m: h n", "neither sequences"),
        ("m: b t (h n", "not closed"), ("m: b t h) n", r"'\)' is no axis"),
        ("m: b () t", "no axis"),
        ("m: b t=1 n", "no part of t"), ("m: b t h* n", r"h\* is without its length; write h:4\*"),
        ("m: b t h:9000*", "9,000 kinds"), ("m: b t ? n", r"'\?' is no axis"),
        ("m: b t a c d e f g h", "9 axes"), ("m: b t h:", "'h:' is no axis"),
        ("m: b t h:0* n", "h is 0 long"), ("m: b t (h:0 n)", "h is 0 long"),
    ],
)  # fmt: skip
def test_what_is_no_shape_is_refused_with_what_was_written(written, cause):
    with pytest.raises(RnnlensError, match=cause) as caught:
        shaped_kinds([written])
    assert repr(written) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "cause"),
    [
        ("m: b t n", "Tensor 5 x 3 x 4 x 2 .float32.: it has 4 axes and 3 are named"),
        ("m: t b h:3 n", "the axis h is 4 long and not 3"),
        ("m: t b (h:3 k) n", "the axis h k is 4 long and not 3 x k"),
        ("m: t b h=7 n", "h goes from 0 to 3"),
        ("m: 1 b h t", "the axis 1 is 5 long"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_shape_that_met_it(written, cause):
    ((_, shape),) = shaped_kinds([written]).values()
    assert shape
    with pytest.raises(RnnlensError, match=cause) as caught:
        shape.states([STATES])
    assert repr(written) in str(caught.value)
    with pytest.raises(RnnlensError, match="it is complex"):
        shape.states([STATES.to(torch.cfloat)])


def test_one_kind_is_named_once():
    with pytest.raises(RnnlensError, match=r"kinds= names m.h1 twice"):
        shaped_kinds(["m: b t h=1 n", "m: b t h:4* n"])
    with pytest.raises(RnnlensError, match="the module has no submodule called 'other'"):
        Adapter(torch.nn.Sequential(torch.nn.Linear(2, 2)), kinds=["other: b t n"])
