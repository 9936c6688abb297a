"""Ids, sources and layers of a module's kinds."""

import pytest
import torch
from torch import Tensor, nn

from rnnlens.adapter import Adapter
from rnnlens.base.errors import RnnlensError
from rnnlens.model.cells.classic import LSTM, TORCHS
from rnnlens.model.kinds import EMBEDDING, Edge
from rnnlens.model.network import Network, NetworkConfig

WORDS = torch.randint(9, (6, 3))


class Stack(nn.Module):
    """Parts one after the other, with something between them."""

    def __init__(self, *parts: nn.Module, between: nn.Module | None = None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.parts = nn.ModuleList(parts)
        self.between = between or nn.Dropout(0.5)
        self.head = nn.LazyLinear(9)

    def forward(self, words: Tensor) -> Tensor:
        x: Tensor = self.embedding(words)
        for at, part in enumerate(self.parts):
            x = part(self.between(x) if at else x)[0]
        logits: Tensor = self.head(x)
        return logits


def stack(*parts: nn.Module, between: nn.Module | None = None) -> Stack:
    module = Stack(*parts, between=between)
    module(WORDS)
    return module


def traced(module: nn.Module, **options: object) -> Adapter:
    adapter = Adapter(module, **options)  # type: ignore[arg-type]
    adapter.trace(WORDS)
    return adapter


@pytest.mark.parametrize(("cell", "part"), [("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)])
def test_a_plain_stack_has_the_kinds_of_our_own_network(cell, part):
    ours = Network(NetworkConfig(cell, width=4), label_count=9)
    assert traced(stack(part(4, 4, 2))).kinds == ours.kinds


def test_both_directions_feed_the_next_layer():
    kinds = {kind.id: kind for kind in traced(stack(nn.GRU(4, 5, 2, bidirectional=True))).kinds}
    assert list(kinds) == [
        "x",
        *(f"{kind}{end}" for end in ("1", "1<", "2", "2<") for kind in "rznkwh"),
        "j2",
    ]
    assert kinds["j2"].sources == (Edge("h2"), Edge("h2<"))
    assert kinds["r1<"].sources == (Edge("x"), Edge("h1<", -1))
    assert kinds["r2"].sources == (Edge("h1"), Edge("h1<"), Edge("h2", 1))
    assert [kinds[kind].layer for kind in ("x", "h1", "h1<", "h2<")] == [0, 1, 1, 2]


def test_several_parts_carry_their_names_and_feed_one_another():
    adapter = traced(stack(nn.RNN(4, 5, bidirectional=True), nn.RNN(10, 6), nn.RNN(6, 7, 2)))
    kinds = {kind.id: kind for kind in adapter.kinds}
    assert list(kinds) == [
        "x", "parts.0.h1", "parts.0.h1<", "parts.1.h1", "parts.2.h1", "parts.2.h2"
    ]  # fmt: skip
    assert kinds["parts.1.h1"].sources == (
        Edge("parts.0.h1"), Edge("parts.0.h1<"), Edge("parts.1.h1", 1)
    )  # fmt: skip
    assert kinds["parts.2.h1"].sources[0] == Edge("parts.1.h1")
    assert [kind.layer for kind in adapter.kinds] == [0, 1, 1, 2, 3, 4]


def test_an_input_that_is_not_just_the_output_below_is_a_kind():
    adapter = traced(stack(nn.RNN(4, 5), nn.RNN(5, 6), between=nn.Tanh()))
    ids = [kind.id for kind in adapter.kinds]
    assert ids == ["x", "parts.0.h1", "parts.1.x", "parts.1.h1"]
    states = adapter.trace(WORDS).states
    assert torch.allclose(states["parts.1.x"], states["parts.0.h1"].tanh(), atol=1e-6)
    assert adapter.kinds[3].sources[0] == Edge("parts.1.x")
    assert adapter.kinds[2].layer == adapter.kinds[3].layer == 2


def test_the_input_is_an_embedding_only_if_it_is_one():
    plain = stack(nn.RNN(4, 5))
    assert traced(plain).kinds[0] == EMBEDDING
    plain.embedding.register_forward_hook(lambda m, args, out: out * 2)
    assert traced(plain).kinds[0] == EMBEDDING
    plain.parts[0].register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    kind = traced(plain).kinds[0]
    assert (kind.id, kind.name, kind.equation) == ("x", "input", "x = input of parts.0")
    assert traced(Word(batched=True)).kinds[0] == EMBEDDING


class Word(nn.Module):
    """Looks its words up one at a time."""

    def __init__(self, batched: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.low, self.high = nn.GRUCell(4, 5), nn.GRUCell(5, 6)
        self.head = nn.Linear(6, 9)

    def forward(self, words: Tensor) -> Tensor:
        low = high = None
        outputs = []
        for word in words:
            low = self.low(self.embedding(word), low)
            high = self.high(low, high)
            outputs.append(self.head(high))
        return torch.stack(outputs)


def test_cells_one_on_the_other_are_layers():
    adapter = traced(Word(batched=True), kinds=["head"])
    kinds = {kind.id: kind for kind in adapter.kinds}
    assert kinds["high.r1"].sources == (Edge("low.h1"), Edge("high.h1", 1))
    assert [kinds[kind].layer for kind in ("x", "low.h1", "high.h1", "head")] == [0, 1, 2, 3]
    states = adapter.trace(WORDS).states
    assert states["head"].shape == (6, 3, 9)


def test_named_kinds_stand_where_they_are_called():
    adapter = traced(
        stack(nn.RNN(4, 5), nn.RNN(5, 6)), kinds=["head", "between", "embedding", "parts.1"]
    )
    assert [(kind.id, kind.layer) for kind in adapter.kinds] == [
        ("x", 0), ("embedding", 0), ("parts.0.h1", 1), ("between", 2), ("parts.1.h1", 3),
        ("parts.1", 4), ("head", 5),
    ]  # fmt: skip
    states = adapter.trace(WORDS).states
    assert torch.allclose(states["parts.1"], states["parts.1.h1"], atol=1e-6)
    assert torch.equal(states["embedding"], states["x"])


def test_modules_without_recurrence_have_the_kinds_that_are_named():
    block = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    module = nn.Sequential(
        nn.Embedding(9, 4), nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
    )
    names = ["1.layers.1", "1.layers.0", "0"]
    adapter = Adapter(module, kinds=names, logits=lambda output: None)
    traced = adapter.trace(WORDS)  # (B, T)
    assert [(kind.id, kind.layer) for kind in adapter.kinds] == [
        ("0", 1), ("1.layers.0", 2), ("1.layers.1", 3)
    ]  # fmt: skip
    with torch.no_grad():
        expected = module.eval()(WORDS)
    assert traced.states["1.layers.1"].shape == (3, 6, 4)
    assert torch.allclose(traced.states["1.layers.1"], expected.transpose(0, 1), atol=1e-5)


def test_a_submodule_called_like_a_kind_is_an_error():
    module = nn.ModuleDict({"h1": nn.Identity(), "part": nn.GRU(3, 4)})
    module.forward = lambda x: module["h1"](module["part"](x)[0])
    with pytest.raises(
        RnnlensError, match=r"submodule h1 has the same name as a kind .* another name"
    ):
        Adapter(module, kinds=["h1"]).trace(torch.randn(5, 2, 3))


@pytest.mark.parametrize(
    ("mode", "kind", "equation"),
    [
        ("LSTM", "f", "f = σ(W_f [x, h₋₁])"),
        ("GRU", "n", "n = tanh(W_n x + r ∘ (U_n h₋₁))"),
        ("RNN_RELU", "h", "h = relu(W [x, h₋₁])"),
        ("GRU", "h", "h = k + w"),
    ],
)
def test_equations_without_biases_have_none(mode, kind, equation):
    cell, weights = TORCHS[mode], dict.fromkeys(("w_x", "w_h"), torch.ones(1))
    described = {k.id: cell.described(k, weights).equation for k in cell.kinds}
    assert described[kind] == equation


def test_a_projection_is_in_the_equation_of_the_output():
    weights = dict.fromkeys(("w_x", "w_h", "b_x", "b_h", "w_p"), torch.ones(1))
    last = LSTM.described(LSTM.kinds[-1], weights)
    assert last.equation == "h = W_p (o ∘ tanh(c))"
