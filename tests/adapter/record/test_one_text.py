"""Positions that begin anew within a sequence, and those that are honest."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rnnlens.adapter.record.one_text import Padded, one_text_a_sequence
from rnnlens.base.errors import RnnlensError


class Inner(nn.Module):
    """Takes positions, and ignores them."""

    def forward(
        self, ids: Tensor, attention_mask: Any = None, position_ids: Any = None, **_: Any
    ) -> Tensor:
        del attention_mask, position_ids
        return ids


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.layers = Inner(), nn.ModuleList([Inner()])

    def forward(self, ids: Tensor, position_ids: Any = None, attention_mask: Any = None) -> Any:
        del attention_mask  # a part that turns positions into angles is given them alone
        return self.layers[0](self.inner(ids, position_ids=position_ids))


def _positions(*rows: list[int]) -> Tensor:
    return torch.tensor(rows)


PACKED = [
    _positions([0, 1, 2, 0, 1, 2]),
    _positions([0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 2, 3]),
    torch.tensor([5, 6, 7, 2, 3, 4]),
    _positions([0, 1, 2, 0, 1, 2]).expand(3, 1, 6),
]
HONEST = [
    (_positions([0, 1, 2, 3, 4, 5]), None),
    (_positions([7, 8, 9, 10, 11, 12]), None),
    (_positions([0, 1, 2, 3, 0, 0]), None),  # padded behind
    (_positions([0, 1, 2, 3, 1, 1]), None),
    (_positions([1, 1, 0, 1, 2, 3]), None),  # padded in front
    (_positions([0, 0, 0, 1, 2, 3]), None),
    (_positions([1, 0, 1, 2, 3, 4]), None),
    (_positions([0, 1, 2, 0, 1, 2]), torch.tensor([[1, 1, 1, 0, 0, 0]])),
    (_positions([0, 1, 2, 0, 1, 2]), torch.tensor([[0, 0, 0, 1, 1, 1]])),
    (_positions([5, 4, 3, 2, 1, 0]), None),
    (_positions([0, 1, 2]), None),
    (torch.arange(6).expand(3, 1, 6).clone(), None),
    (torch.stack([torch.arange(6), torch.tensor([0, 1, 0, 1, 0, 1])])[:, None], None),  # an image
    (None, None),
    (3, None),
]


@pytest.mark.parametrize("positions", PACKED)
def test_positions_that_begin_anew_are_refused(positions):
    for module in (Inner(), Outer()):
        with (
            one_text_a_sequence(module),
            pytest.raises(RnnlensError, match=r"er is given position_ids= that begin") as refused,
        ):
            module(torch.zeros(1, 6), position_ids=positions)
        assert "\n" not in str(refused.value)
        assert not any(part._forward_pre_hooks for part in module.modules())


def test_they_are_found_without_their_name_and_within_another_module():
    with one_text_a_sequence(module := Inner()), pytest.raises(RnnlensError, match="timestep 3"):
        module(torch.zeros(1, 6), None, PACKED[0])

    class Wrapped(Outer):
        def forward(self, ids: Tensor) -> Any:  # type: ignore[override]
            return super().forward(ids, PACKED[0])

    outer = Wrapped()
    with one_text_a_sequence(outer), pytest.raises(RnnlensError, match="Inner is given") as refused:
        outer(torch.zeros(1, 6))
    assert "of sequence 0" in str(refused.value)


@pytest.mark.parametrize(("positions", "mask"), HONEST)
def test_honest_positions_are_taken(positions, mask):
    for module in (Inner(), Outer()):
        with one_text_a_sequence(module):
            module(torch.zeros(1, 6), attention_mask=mask, position_ids=positions)


@pytest.mark.parametrize("positions", [[0, 1, 2, 3, 4, 0], [0, 1, 2, 0, 0, 1]])
def test_texts_of_one_word_are_found_where_a_mask_says_that_they_are_words(positions):
    ones = torch.ones(1, 6)
    with one_text_a_sequence(module := Outer()), pytest.raises(RnnlensError, match="begin anew"):
        module(torch.zeros(1, 6), attention_mask=ones, position_ids=_positions(positions))


def test_a_mask_that_is_added_says_what_is_padding():
    added = torch.tensor([[0.0, 0.0, 0.0, -1e9]])
    mask = _given(added.expand(2, 4)).mask
    assert mask is not None
    assert mask.tolist() == [[True, True, True, False]] * 2


LEFT = torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])


def _given(mask: Any) -> Padded:
    with one_text_a_sequence(module := Inner()) as padded:
        module(torch.zeros(2, 4), attention_mask=mask)
    return padded


def test_padding_before_the_words_is_refused_where_a_memory_holds_it():
    states = torch.rand(4, 2, 3)
    with pytest.raises(RnnlensError, match=r"Inner is given attention_mask= .* which it reads"):
        _given(LEFT).check("it", lambda: states)
    states[:2, 1] = 0
    _given(LEFT).check("it", lambda: states)


@pytest.mark.parametrize(
    "mask", [None, LEFT.flip(1), torch.ones(2, 4), 0 * LEFT, torch.ones(2, 1, 4, 4), LEFT[:, :0]]
)
def test_of_other_masks_no_memory_is_asked_for(mask):
    def asked() -> Tensor:
        raise AssertionError

    _given(mask).check("it", asked)


def test_a_memory_that_does_not_lie_beside_the_mask_is_not_looked_at():
    _given(LEFT).check("it", lambda: torch.rand(5, 2, 3))
