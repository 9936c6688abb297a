"""Tensors come back as they were, and damage is told in one line."""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Strict, sha256
from rnnlens.base.tensors import (
    LARGEST,
    check_same,
    in_range,
    packed,
    read_sealed,
    read_tensors,
    write_tensors,
)


@dataclass(frozen=True)
class Header(Strict):
    identity: str


def test_tensors_come_back_as_they_were(tmp_path):
    tensors = {
        "a": torch.arange(6, dtype=torch.float64).view(2, 3).T,
        "b": torch.tensor(3),
        "c": torch.zeros(0, 2, requires_grad=True),
    }
    sha = write_tensors(tmp_path / "t", tensors)
    write_tensors(tmp_path / "s", tensors, Header("é"))
    sealed, header = read_sealed(tmp_path / "s", Header)
    assert header == Header("é")
    for found in (read_tensors(tmp_path / "t", sha), sealed):
        assert set(found) == set(tensors)
        for name, values in tensors.items():
            assert torch.equal(found[name], values)
            assert found[name].dtype == values.dtype


def test_the_hash_is_that_of_the_file(tmp_path):
    path = tmp_path / "t"
    digest = write_tensors(path, {"a": torch.ones(2)})
    assert digest == sha256(path) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("keep", [0, 4, 20, -1])
def test_truncated_tensors_are_named(tmp_path: Path, keep: int):
    path = tmp_path / "t"
    sha = write_tensors(path, {"a": torch.ones(20)})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(RnnlensError, match="t is damaged"):
        read_tensors(path, sha)


def test_every_single_bit_of_a_sealed_file_counts(tmp_path):
    path = tmp_path / "t"
    write_tensors(path, {"a": torch.arange(4.0)}, Header("me"))
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(RnnlensError, match="t is damaged"):
            read_sealed(path, Header)


def test_a_file_without_a_checksum_is_only_taken_where_older_ones_are(tmp_path):
    path = tmp_path / "t"
    data = packed({"a": torch.ones(2)}, Header("me"))
    path.write_bytes(data.replace(b'checksum\\": \\"' + b"0" * 64, b"identity" + b" " * 70))
    write_tensors(path, {"a": torch.ones(2)})
    for older, message in ((False, "it has no checksum"), (True, "Input should be")):
        with pytest.raises(RnnlensError, match=message):
            read_sealed(path, Header, older=older)


def test_names_and_shapes_are_looked_at_before_anything_is_read(tmp_path):
    def fits(layouts):
        assert layouts == {"a": ("F32", (2, 3))}
        raise ValueError("too wide")

    write_tensors(tmp_path / "t", {"a": torch.zeros(2, 3)})
    with pytest.raises(RnnlensError, match=r"t is damaged \(too wide\)"):
        read_tensors(tmp_path / "t", "0" * 64, fits)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2 * LARGEST, 3e38])
def test_numbers_that_cannot_be_computed_with_are_seen(value):
    assert in_range({"a": torch.tensor([1.0, -LARGEST]), "b": torch.zeros(0)})
    assert not in_range({"a": torch.tensor([1.0, value])})


@pytest.mark.parametrize(
    "tensors",
    [{}, {"a": torch.zeros(3)}, {"a": torch.zeros(2).long()},
     {"a": torch.zeros(2), "b": torch.zeros(1)}, {"a": torch.tensor([0, math.nan])}],
)  # fmt: skip
def test_tensors_that_are_not_those_wanted_are_refused(tensors: dict[str, Tensor]):
    wanted = {"a": torch.zeros(2)}
    check_same(Path("t"), wanted, wanted, "delete it")
    with pytest.raises(RnnlensError, match=r"t is damaged .*; delete it"):
        check_same(Path("t"), tensors, wanted, "delete it")


FOREIGN = {
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "uint16": "U16",
    "complex64": "C64",
}


@pytest.mark.parametrize("sort", FOREIGN)
def test_types_of_numbers_that_no_file_has_are_refused(tmp_path, sort):
    path, dtype = tmp_path / "t", getattr(torch, sort)
    write_tensors(path, {"a": torch.zeros(2), "b": torch.ones(2).to(dtype)}, Header("x"))
    with pytest.raises(
        RnnlensError, match=rf"its tensor b is of the type {FOREIGN[sort]}, as none"
    ):
        read_sealed(path, Header)


def test_numbers_that_cannot_be_compared_are_out_of_range():
    assert in_range({"a": torch.ones(2), "b": torch.ones(2, dtype=torch.bfloat16)})
    assert not in_range({"a": torch.ones(2).to(torch.float8_e4m3fn)})
