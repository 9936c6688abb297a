"""Which call continues which: in time where the state is passed on, else beside one another."""

from typing import cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

from rnnlens.adapter import Adapter
from rnnlens.adapter.record.calls import Chains
from rnnlens.base.errors import RnnlensError


class Chunks(nn.Module):
    """Reads its input in pieces, handing the state on."""

    def __init__(self, part: nn.RNNBase, length: int) -> None:
        super().__init__()
        self.part = part
        self.length = length

    def forward(self, x: Tensor) -> Tensor:
        state, outputs = None, []
        for chunk in x.split(self.length):
            output, state = self.part(chunk, state)
            outputs.append(output)
        return torch.cat(outputs)


@pytest.mark.parametrize("length", [1, 2, 5, 7])
@pytest.mark.parametrize("part", [nn.LSTM, nn.GRU, nn.RNN])
def test_calls_that_hand_the_state_on_are_one_sequence(part, length):
    module, x = Chunks(part(3, 4, 2), length), torch.randn(7, 2, 3)
    whole = Adapter(module.part).trace(x)
    adapter = Adapter(module)
    for _ in range(2):
        traced = adapter.trace(x)
        assert traced.lengths is None
        for kind, values in whole.states.items():
            assert torch.allclose(traced.states[kind], values, atol=1e-6), kind


def test_calls_that_start_afresh_stand_beside_one_another():
    class Twins(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = nn.GRU(3, 4, batch_first=True)

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return cast("Tensor", self.part(a)[1] - self.part(b)[1])

    module, a, b = Twins(), torch.randn(2, 5, 3), torch.randn(3, 4, 3)
    adapter = Adapter(module, feed=lambda _, both: [module.part(x) for x in both])
    traced = adapter.trace((a, b))
    assert traced.states["h1"].shape == (5, 5, 4)
    assert traced.lengths is not None
    assert traced.lengths.tolist() == [5, 5, 4, 4, 4]
    with torch.no_grad():
        assert torch.allclose(
            traced.states["h1"][:, :2], module.part(a)[0].transpose(0, 1), atol=1e-6
        )
        assert torch.allclose(
            traced.states["h1"][:4, 2:], module.part(b)[0].transpose(0, 1), atol=1e-6
        )


def test_one_cell_for_two_layers_is_told_apart_by_its_states():
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(3, 3)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            low, high = torch.zeros(2, x.shape[1], 3)
            for now in x:
                low = self.cell(now, low)
                high = self.cell(low, high)
            return low, high

    module, x = Tied(), torch.randn(4, 2, 3)
    traced = Adapter(module, logits=lambda output: None).trace(x)
    with torch.no_grad():
        low, high = module(x)
    assert traced.states["h1"].shape == (4, 4, 3)
    assert torch.allclose(traced.states["h1"][-1], torch.cat([low, high]), atol=1e-6)


def test_interleaved_calls_with_changed_states_are_an_error():
    chains = Chains("cell (GRUCell)")
    a, b = torch.ones(2, 3), torch.full((2, 3), 2.0)
    chains.add(None, a)
    chains.add(None, b)
    chains.add(a, torch.full((2, 3), 3.0))  # goes back to the first
    with pytest.raises(RnnlensError, match=r"cell \(GRUCell\).*call 4 is none that it returned"):
        chains.add(torch.full((2, 3), 9.0), a)


def test_a_state_changed_on_the_way_continues_the_latest():
    chains = Chains("cell")
    chains.add(torch.zeros(1, 2), torch.ones(1, 2))
    chains.add(torch.full((1, 2), 0.5), torch.full((1, 2), 2.0))
    assert [chain.calls for chain in chains.chains] == [[0, 1]]


@pytest.mark.parametrize("start", [torch.zeros(1, 2), torch.full((1, 2), 0.3), None])
def test_the_state_of_the_first_call_starts_afresh(start):
    chains = Chains("cell")
    chains.add(start, torch.ones(1, 2))
    chains.add(start if start is None else start.clone(), torch.full((1, 2), 2.0))
    chains.add(torch.full((1, 2), 2.0), torch.full((1, 2), 3.0))
    assert [chain.calls for chain in chains.chains] == [[0], [1, 2]]


def test_zeros_start_afresh_after_no_state_at_all():
    chains = Chains("cell")
    chains.add(None, torch.ones(1, 2))
    chains.add(torch.zeros(1, 2), torch.full((1, 2), 2.0))
    assert [chain.calls for chain in chains.chains] == [[0], [1]]


def test_a_state_changed_in_place_is_known_again():
    chains = Chains("cell")
    low, high = torch.ones(3, 2), torch.full((3, 2), 2.0)
    chains.add(None, low)
    chains.add(None, high)
    chains.add(low.mul_(0.5)[:2], torch.full((2, 2), 3.0))
    assert [chain.calls for chain in chains.chains] == [[0, 2], [1]]


@pytest.mark.parametrize("part", [nn.LSTM, nn.GRU, nn.RNN])
def test_sequences_read_in_turn_by_one_part(part):
    class InTurn(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = part(3, 4, 2)

        def forward(self, a: Tensor, b: Tensor) -> None:
            first = second = None
            for one, two in zip(a.split(1), b.split(1), strict=True):
                first = self.part(one, first)[1]
                second = self.part(two, second)[1]

    module, a, b = InTurn(), torch.randn(5, 2, 3), torch.randn(5, 2, 3)
    adapter = Adapter(module, logits=lambda output: None)
    whole = Adapter(module.part).trace(torch.cat([a, b], 1))
    for _ in range(2):
        traced = adapter.trace((a, b))
        for kind, values in whole.states.items():
            assert torch.allclose(traced.states[kind], values, atol=1e-6), kind


def test_a_dead_network_still_continues():
    chains = Chains("cell")
    dead = torch.zeros(1, 2)
    chains.add(None, dead)
    chains.add(dead, torch.zeros(1, 2))
    chains.add(torch.zeros(1, 2), torch.zeros(1, 2))
    assert [chain.calls for chain in chains.chains] == [[0, 1, 2]]


def test_continuing_after_packed_sequences_of_several_lengths_is_an_error():
    class Continued(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = nn.GRU(2, 3)

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            packed = pack_sequence([x, x[:2]])
            return cast("Tensor", self.part(y, self.part(packed)[1])[0])

    with pytest.raises(RnnlensError, match=r"part \(GRU\) is continued after a call .* pack only"):
        Adapter(Continued()).trace((torch.randn(3, 2), torch.randn(4, 2, 2)))
