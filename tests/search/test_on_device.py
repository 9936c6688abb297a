"""What a GPU computes of states, run here on the CPU, beside the rules that it is to follow."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.reading.encoding import Encodings, Palette, encode
from rnnlens.search.index_files import TOP
from rnnlens.search.on_device import (
    Drawing,
    largest_on_device,
    negentropies_on_device,
    on_host,
)

CPU = torch.device("cpu")


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)) * 3


def drawn(palette: Palette, logits: torch.Tensor, wanted: Any) -> Encodings:
    """What is drawn of states whose logits stand in the order of the labels."""
    order = np.arange(logits.shape[1]) if palette.numbers is None else palette.numbers
    columns = np.where(wanted < 0, -1, np.argsort(order)[wanted])
    ordered = logits[:, torch.from_numpy(order)]
    asked = torch.from_numpy(columns)
    return on_host([Drawing(palette, CPU).of(ordered, ordered.softmax(1), asked, TOP)], 1)[0]


@pytest.mark.parametrize("rule", ["excess", "paper"])
def test_the_rule_for_a_gpu_is_the_rule_of_the_grid(formula, rule):
    """Both must name the same labels, groups and ranks."""
    plain = next(iter(formula.palettes.values()))
    assert plain.base is not None
    palette = plain if rule == "excess" else replace(plain, base=None)
    logits, labels = random(50, len(formula.labels)), len(formula.labels)
    logits[0] *= 30  # certain
    logits[1] /= 1000  # and less decided than the labels' frequencies
    wanted = np.arange(50) % (labels + 1) - 1
    one = encode(logits, palette, wanted, TOP)
    other = drawn(palette.by_group if palette.base else palette, logits, wanted)
    for name in one.__dataclass_fields__:
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype, name
        assert np.allclose(a, b, atol=2e-5, equal_nan=True), name


def test_of_a_single_group_none_comes_second(formula):
    plain = next(iter(formula.palettes.values()))
    count = len(formula.labels)
    alone = replace(
        plain, groups=("ALL",), colours=("#000000",), group_of=np.zeros(count, np.int64),
        members=torch.ones(1, count), base=None,
    )  # fmt: skip
    made = drawn(alone, random(3, count), np.full(3, -1))
    assert made.rival.tolist() == [-1] * 3
    assert made.share.tolist() == made.lead.tolist() == [1] * 3


@pytest.mark.parametrize("columns", [5, 79, 80, 1000, 1279, 1280, 2000, 14_635])
def test_the_largest_are_those_of_a_sort(columns):
    x = random(40, columns)
    x[0, -5:] = torch.arange(50.0, 55)  # beside the blocks, or in the last ones
    x[1, : 5 * (columns // 5) : columns // 5] = torch.arange(50.0, 55)
    x[2, :5] = torch.arange(50.0, 55)
    found = largest_on_device(x, 5)
    assert (found == x.sort(1, descending=True).indices[:, :5]).all()


def test_of_equal_numbers_as_many_are_found_as_are_wanted():
    found = largest_on_device(torch.zeros(3, 14_635), 5)
    assert all(len(set(row)) == 5 for row in found.tolist())


@pytest.mark.parametrize("rooms", [1, 2, 8])
def test_sums_are_those_of_the_formula_and_nothing_times_no_number_is_nothing(rooms):
    p = torch.rand(4, 3, 50, generator=torch.Generator().manual_seed(0))
    p[0, 0, :7] = p[1, 0, :7] = 0  # which both find impossible
    ends = [(p[0], p[1]), (p[1], p[2]), (p[2], p[3])]
    sums = torch.empty(3, 3)
    negentropies_on_device(ends, torch.empty(rooms, 3, 50), sums)
    for (a, b), row in zip(ends, sums, strict=True):
        both = (a + b).double()
        assert torch.allclose(row.double(), torch.xlogy(both, both).sum(1), rtol=1e-5)


def test_kinds_that_stand_side_by_side_are_told_apart(formula):
    palette = next(iter(formula.palettes.values())).by_group
    logits, nobody = random(6, len(formula.labels)), torch.full((6,), -1)
    every = Drawing(palette, CPU).of(logits, logits.softmax(1), nobody, TOP)
    first, second = on_host([every, every], 2)
    assert (first.labels == np.tile(every.labels[::2].numpy(), (2, 1))).all()
    assert (second.labels == np.tile(every.labels[1::2].numpy(), (2, 1))).all()


def test_numbers_too_large_are_refused(formula):
    palette = next(iter(formula.palettes.values())).by_group
    logits = random(2, len(formula.labels))
    logits[1, 3] = torch.inf
    made = Drawing(palette, CPU).of(logits, logits.softmax(1), torch.tensor([0, 1]), TOP)
    with pytest.raises(RnnlensError, match="too large"):
        on_host([made], 1)
