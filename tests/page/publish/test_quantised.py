"""What rounding does to the numbers of a published file."""

import numpy as np
import pytest
import torch
from scripts import kernels
from tests.fixtures import wave

from rnnlens.base.errors import RnnlensError
from rnnlens.base.tensors import from_bytes, in_bytes, steps_of
from rnnlens.page.publish.precisions import PRECISIONS
from rnnlens.page.publish.quantised import Tensors

LARGE = wave((100, 130), 1.0, 0.3)


def held(tensors: Tensors, number: int, name: str = "at") -> bytes:
    """What the blob has from a tensor's place on."""
    return tensors.blob[tensors.layouts[number][name] :]


def test_bytes_are_off_by_half_a_step_of_their_block_at_most():
    values = LARGE * torch.linspace(1e-6, 300, 100)[:, None]
    values[3] = 0
    values[:, 65:] *= 50
    tensors = Tensors("int8")
    layout = tensors.layouts[tensors.rows("some", values)]
    whole = np.frombuffer(held(tensors, 0), np.int8, values.numel()).reshape(100, 130)
    scales = np.frombuffer(held(tensors, 0, "scales"), np.float16, 200).reshape(100, 2)
    each = np.repeat(scales.astype(np.float64) * layout["unit"], [65, 65], axis=1)
    assert layout["block"] == 65
    assert np.abs(whole).max() == 127
    # The largest of a block may be cut by what its scale is rounded by, a part in 2,048.
    off = np.abs(whole * each - values.numpy())
    assert (off <= np.maximum(each / 2, np.abs(values.numpy()) / 2000) + 1e-9).all()


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e9])
def test_half_precision_keeps_eleven_bits_of_numbers_of_any_size(size):
    tensors = Tensors("fp16")
    layout = tensors.layouts[tensors.rows("some", LARGE * size)]
    assert layout["sort"] == "fp16"
    assert np.log2(layout["unit"]) % 1 == 0
    read = np.frombuffer(held(tensors, 0), np.float16, LARGE.numel()).astype(np.float64)
    exact = (LARGE * size).numpy().ravel()
    large = np.abs(exact) > size / 1000
    assert (np.abs(read * layout["unit"] - exact)[large] <= np.abs(exact)[large] / 2048).all()


def test_what_was_stored_in_bytes_is_held_so_to_the_bit_in_either_precision():
    steps = steps_of(LARGE).bfloat16()
    values = from_bytes(in_bytes(LARGE, steps), steps)
    for precision in PRECISIONS:
        tensors = Tensors(precision)
        layout = tensors.layouts[tensors.rows("some", values)]
        assert layout["sort"] == "int8"
        whole = np.frombuffer(held(tensors, 0), np.int8, values.numel()).reshape(100, 130)
        scales = np.frombuffer(held(tensors, 0, "scales"), np.float16, 200).reshape(100, 2)
        each = np.repeat(scales.astype(np.float32) * layout["unit"], layout["block"], axis=1)
        assert np.array_equal(whole * each, values.numpy())


def test_small_tensors_are_exact_and_the_same_ones_are_held_once():
    tensors = Tensors("int8")
    first = tensors.rows("one", LARGE[:10])
    assert [tensors.half("two", LARGE[:10]), tensors.exact("two", LARGE[:10])] == [first, first]
    assert tensors.layouts == [{"sort": "fp32", "shape": [10, 130], "at": 0}]
    assert tensors.sizes == {"one": 5200}
    other = tensors.exact("two", LARGE[:10].T)
    assert other != first
    assert tensors.sizes["two"] == 5200


def test_groups_take_a_byte_where_they_can():
    tensors = Tensors("fp16")
    tensors.numbers("colours", np.array([1, 0, 255]))
    tensors.numbers("colours", np.array([1, 256]))
    assert [layout["sort"] for layout in tensors.layouts] == ["uint8", "uint32"]
    assert tensors.layouts[1]["at"] == 4  # from a multiple of four bytes on


def test_other_precisions_are_refused():
    with pytest.raises(RnnlensError, match="'int4' is no precision; choose int8 or fp16"):
        Tensors("int4")  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_kernels_that_are_shipped_are_those_of_the_source():
    assert kernels.SHIPPED.read_text(encoding="utf-8") == kernels.assembled()
