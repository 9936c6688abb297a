"""Edits: a state is changed on the way, and everything after it goes on from the change."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, sigmoid, tanh
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rnnlens.adapter import Adapter
from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import StateEdit, Trace

PARTS: dict[str, Callable[..., nn.RNNBase]] = {
    "lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN
}  # fmt: skip
CELLS: dict[str, Callable[..., nn.RNNCellBase]] = {
    "lstm": nn.LSTMCell, "gru": nn.GRUCell, "rnn": nn.RNNCell
}  # fmt: skip
T, B, V = 5, 3, 7
LENGTHS = [3, 5, 4]
PARITY = {torch.float32: 1e-5, torch.float64: 1e-10}


class Fused(nn.Module):
    """One call for the whole batch, perhaps packed."""

    def __init__(self, cell: str, packed: bool = False, **flags: Any) -> None:
        super().__init__()
        self.part, self.packed = PARTS[cell](2, 4, 2, **flags), packed
        self.head = nn.Linear(8 if self.part.bidirectional else 4, V)

    def forward(self, x: Tensor) -> Any:
        if not self.packed:
            return self.head(self.part(x)[0])
        read = self.part(pack_padded_sequence(x, LENGTHS, enforce_sorted=False))[0]
        return self.head(pad_packed_sequence(read)[0])


class ByStep(nn.Module):
    """The layer is called for one timestep after the other."""

    def __init__(self, cell: str) -> None:
        super().__init__()
        self.part, self.head = PARTS[cell](2, 4), nn.Linear(4, V)

    def forward(self, x: Tensor) -> Any:
        state, outputs = None, []
        for now in x:
            output, state = self.part(now[None], state)
            outputs.append(self.head(output[0]))
        return torch.stack(outputs)


class BySequence(ByStep):
    """The layer is called for one sequence after the other."""

    def forward(self, x: Tensor) -> Any:
        return self.head(torch.cat([self.part(one)[0] for one in x.split(1, 1)], 1))


class Loop(nn.Module):
    """A cell, timestep by timestep, for all sequences or for one after the other."""

    def __init__(self, cell: str, one_by_one: bool = False) -> None:
        super().__init__()
        self.cell, self.head, self.one_by_one = CELLS[cell](2, 4), nn.Linear(4, V), one_by_one

    def forward(self, x: Tensor) -> Any:
        parts = x.split(1, 1) if self.one_by_one else [x]
        return torch.cat([self.read(part) for part in parts], 1)

    def read(self, x: Tensor) -> Tensor:
        state, outputs = None, []
        for now in x:
            state = self.cell(now, state)
            outputs.append(self.head(state[0] if isinstance(state, tuple) else state))
        return torch.stack(outputs)


MODULES: dict[str, Callable[[str], nn.Module]] = {
    "fused": Fused,
    "both ways": lambda cell: Fused(cell, bidirectional=True),
    "packed": lambda cell: Fused(cell, packed=True),
    "packed both ways": lambda cell: Fused(cell, packed=True, bidirectional=True),
    "by step": ByStep,
    "by sequence": BySequence,
    "loop": Loop,
    "loops": lambda cell: Loop(cell, one_by_one=True),
}


def assert_equal(a: Trace, b: Trace, tolerance: float) -> None:
    assert a.states.keys() == b.states.keys()
    valid = torch.ones(T, B, dtype=torch.bool)
    if a.lengths is not None:
        valid = torch.arange(T)[:, None] < a.lengths
    for kind, values in a.states.items():
        torch.testing.assert_close(values[valid], b.states[kind][valid], rtol=0, atol=tolerance)
    assert a.logits is not None
    assert b.logits is not None
    torch.testing.assert_close(a.logits[valid], b.logits[valid], rtol=0, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", list(PARITY))
@pytest.mark.parametrize("cell", sorted(PARTS))
@pytest.mark.parametrize("how", sorted(MODULES))
@pytest.mark.parametrize("debug", [True, False])
def test_a_change_that_changes_nothing_gives_the_same_trace(how, cell, dtype, debug):
    torch.manual_seed(0)
    module, x = MODULES[how](cell).to(dtype), torch.randn(T, B, 2, dtype=dtype)
    adapter = Adapter(module, debug=debug)
    before = adapter.trace(x)
    seen = list[tuple[int, ...]]()

    def identity(values: Tensor) -> Tensor:
        seen.append(tuple(values.shape))
        return values

    for number, kind in enumerate(adapter.kinds):
        if "packed" in how and kind.reverse:
            continue
        seen.clear()
        after = adapter.trace(x, edits=[StateEdit(kind.id, number % T, identity)])
        assert_equal(before, after, PARITY[dtype])
        assert sum(rows for rows, _ in seen) == B  # every sequence's state, once


def lstm_with(weights: list[Tensor], x: Tensor, step: int, kind: str) -> list[Tensor]:
    """An LSTM's outputs (B, H), with one kind zeroed at a timestep: written apart."""
    w_x, w_h, b_x, b_h = weights
    h = c = x.new_zeros(x.shape[1], 4)
    outputs = []
    for t, now in enumerate(x):
        i, f, g, o = (now @ w_x.T + b_x + h @ w_h.T + b_h).chunk(4, -1)
        now_f = sigmoid(f) * (0 if (t, kind) == (step, "f1") else 1)
        c = now_f * c + sigmoid(i) * tanh(g)
        c = c * (0 if (t, kind) == (step, "c1") else 1)
        h = sigmoid(o) * tanh(c)
        h = h * (0 if (t, kind) == (step, "h1") else 1)
        outputs.append(h)
    return outputs


@pytest.mark.parametrize("kind", ["f1", "c1", "h1"])
@pytest.mark.parametrize("how", ["by step", "by sequence", "loop", "loops"])
def test_a_real_change_goes_on_as_the_equations_do(how, kind):
    torch.manual_seed(0)
    module: Any = MODULES[how]("lstm").double()
    part = module.cell if "loop" in how else module.part
    x = torch.randn(T, B, 2, dtype=torch.float64)
    adapter = Adapter(module)
    untouched = adapter.trace(x)
    edited = adapter.trace(x, edits=[StateEdit(kind, 2, torch.zeros_like)])
    expected = torch.stack(lstm_with(list(part.parameters()), x, 2, kind))
    torch.testing.assert_close(edited.states["h1"], expected, rtol=0, atol=1e-10)
    assert edited.logits is not None
    torch.testing.assert_close(edited.logits, module.head(expected), rtol=0, atol=1e-10)
    assert not edited.states[kind][2].any()
    assert_equal(untouched, adapter.trace(x), 1e-12)  # nothing stays edited


def test_a_change_below_reaches_the_layer_above_and_the_other_direction_its_own_time():
    torch.manual_seed(0)
    module, x = Fused("gru", bidirectional=True).double(), torch.randn(T, B, 2).double()
    adapter = Adapter(module)
    before = adapter.trace(x)
    after = adapter.trace(x, edits=[StateEdit("h1<", 2, torch.zeros_like)])
    pairs = zip(before.states["h1<"], after.states["h1<"], strict=True)
    same = [torch.allclose(a, b, rtol=0, atol=1e-12) for a, b in pairs]
    assert same == [False, False, False, True, True]  # it reads from the end
    assert not after.states["h1<"][2].any()
    torch.testing.assert_close(before.states["h1"], after.states["h1"], rtol=0, atol=1e-12)
    assert not torch.equal(before.states["h2"], after.states["h2"])
    read = torch.cat([after.states["h1"], after.states["h1<"]], -1)
    above = nn.GRU(8, 4, bidirectional=True).double()
    with torch.no_grad():
        for mine, theirs in zip(above.all_weights, module.part.all_weights[2:], strict=True):
            for a, b in zip(mine, theirs, strict=True):
                a.copy_(b)
        torch.testing.assert_close(after.logits, module.head(above(read)[0]), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (StateEdit("h9", 0, torch.zeros_like), "'h9' is no kind .* there is x, r1, z1"),
        (StateEdit("h1", T, torch.zeros_like), "timestep 5 of h1 .* it has 5, from 0"),
        (StateEdit("h1", -1, torch.zeros_like), "timestep -1 of h1"),
    ],
)
def test_an_edit_of_nothing_is_refused(edit, said):
    adapter = Adapter(Fused("gru"))
    adapter.trace(torch.randn(T, B, 2))
    with pytest.raises(RnnlensError, match=said):
        adapter.trace(torch.randn(T, B, 2), edits=[edit])


def test_a_timestep_read_backwards_of_sequences_of_several_lengths_is_refused():
    adapter, x = Adapter(Fused("gru", packed=True, bidirectional=True)), torch.randn(T, B, 2)
    adapter.trace(x)
    with pytest.raises(RnnlensError, match="edit one sequence at a time"):
        adapter.trace(x, edits=[StateEdit("h1<", 1, torch.zeros_like)])
