"""The named vectors and what feeds them."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from rnnlens.model.cells import CELLS
from rnnlens.model.cells.classic import LSTM, completed
from rnnlens.model.cells.linear_memories import __name__ as MEMORIES
from rnnlens.model.kinds import EMBEDDING, Edge, Kind, Place, joined, placed
from rnnlens.model.linear import LinearCell
from rnnlens.model.network import Network, NetworkConfig

PAPER = "x f1 i1 o1 g1 l1 s1 c1 h1 f2 i2 o2 g2 l2 s2 c2 h2".split()


def network(cell: str, layers: int) -> Network:
    return Network(NetworkConfig(cell, width=2, layers=layers), 5)


@pytest.mark.parametrize(
    ("cell", "layers", "ids"),
    [
        ("lstm", 2, PAPER),
        ("lstm", 1, PAPER[:9]),
        ("gru", 2, "x r1 z1 n1 k1 w1 h1 r2 z2 n2 k2 w2 h2".split()),
        ("rnn", 3, "x h1 h2 h3".split()),
    ],
)
def test_ids_from_input_to_output(cell, layers, ids):
    assert [kind.id for kind in network(cell, layers).kinds] == ids


@pytest.mark.parametrize(
    ("cell", "kind", "sources"),
    [
        ("lstm", "x", []),
        ("lstm", "f1", [("x", 0), ("h1", 1)]),
        ("lstm", "f2", [("h1", 0), ("h2", 1)]),
        ("lstm", "i2", [("h1", 0), ("h2", 1)]),
        ("lstm", "o2", [("h1", 0), ("h2", 1)]),
        ("lstm", "g2", [("h1", 0), ("h2", 1)]),
        ("lstm", "l2", [("f2", 0), ("c2", 1)]),
        ("lstm", "s2", [("i2", 0), ("g2", 0)]),
        ("lstm", "c2", [("l2", 0), ("s2", 0)]),
        ("lstm", "h2", [("o2", 0), ("c2", 0)]),
        ("gru", "r1", [("x", 0), ("h1", 1)]),
        ("gru", "z2", [("h1", 0), ("h2", 1)]),
        ("gru", "n2", [("h1", 0), ("r2", 0), ("h2", 1)]),
        ("gru", "k2", [("z2", 0), ("h2", 1)]),
        ("gru", "w2", [("z2", 0), ("n2", 0)]),
        ("gru", "h2", [("k2", 0), ("w2", 0)]),
        ("rnn", "h1", [("x", 0), ("h1", 1)]),
        ("rnn", "h2", [("h1", 0), ("h2", 1)]),
    ],
)
def test_sources_are_those_of_the_equations(cell, kind, sources):
    found = {k.id: k for k in network(cell, 2).kinds}[kind]
    assert list(found.sources) == [Edge(*source) for source in sources]


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_every_source_is_a_kind_that_comes_earlier_or_a_step_before(cell):
    made = network(cell, 3)
    ids = [kind.id for kind in made.kinds]
    assert len(set(ids)) == len(ids)
    for place, kind in enumerate((*made.kinds, made.prediction)):
        for source in kind.sources:
            assert source.kind in (ids if source.back else ids[:place])


@pytest.mark.parametrize(("cell", "last"), [("lstm", "h2"), ("gru", "h2"), ("rnn", "h2")])
def test_the_prediction_reads_the_last_layers_output(cell, last):
    prediction = network(cell, 2).prediction
    assert (prediction.id, prediction.sources) == ("y", (Edge(last),))


def test_layers_are_counted_from_one_and_the_embedding_stands_outside():
    made = network("lstm", 2)
    assert [kind.layer for kind in made.kinds] == [0] + [1] * 8 + [2] * 8


def test_every_kind_explains_itself():
    for cell in ("lstm", "gru", "rnn"):
        for kind in network(cell, 1).kinds:
            assert kind.name
            assert kind.equation.startswith(f"{kind.symbol} = ")


def families(cell=LinearCell):
    """Every family of linear memories."""
    return [one for sub in cell.__subclasses__() for one in (sub, *families(sub))]


def test_no_symbol_of_a_cell_is_the_letter_of_another_of_its_kinds():
    """What a column is headed is what an edit of it is called, but for Greek letters and marks."""
    every = {*CELLS.values(), *(one for one in families() if one.__module__ == MEMORIES)}
    assert {"rwkv6", "rwkv7"} <= {one.name for one in every}
    for cell in every:
        symbols, letters = ([getattr(kind, of) for kind in cell.kinds] for of in ("symbol", "id"))
        assert len({*symbols}) == len(symbols), cell
        for symbol, letter in zip(symbols, letters, strict=True):
            assert symbol == letter or symbol not in letters, (cell, letter)


def test_a_reverse_layer_comes_after_what_follows_it():
    place = Place(2, ("encoder.h1", "encoder.h1<"), "encoder", reverse=True, layer=3)
    by_letter = {k.id: placed(k, place) for k in LSTM.kinds}
    forget, memory = by_letter["f"], by_letter["l"]
    assert (forget.id, forget.letter, forget.part) == ("encoder.f2<", "f", "encoder")
    assert (forget.layer, forget.reverse, forget.gate) == (3, True, True)
    assert forget.name == "← forget gate"
    assert forget.sources == (
        Edge("encoder.h1"), Edge("encoder.h1<"), Edge("encoder.h2<", -1)
    )  # fmt: skip
    assert memory.sources == (Edge("encoder.f2<"), Edge("encoder.c2<", -1))
    assert memory.equation == "l = f ∘ c₊₁"
    assert not memory.gate


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("only_ids", [True, False])
def test_kinds_of_older_files_are_completed_by_what_their_cells_declare(name, only_ids):
    reverse = Place(2, ("encoder.h1", "encoder.h1<"), "encoder", reverse=True, layer=2)
    whole = [placed(kind, place) for place in (replace(reverse, reverse=False), reverse)
             for kind in CELLS[name].kinds]  # fmt: skip
    whole += [joined(replace(reverse, reverse=False), CELLS[name].output), EMBEDDING,
              Kind("blocks.0", "blocks.0", "blocks.0", "output of blocks.0", (), 3)]  # fmt: skip
    plain: dict[str, Any] = {"range": (None, None), "gate": False, "output": False, "memory": None}
    if only_ids:
        plain |= {"letter": "", "part": "", "reverse": False}
    assert completed([replace(kind, **plain) for kind in whole]) == tuple(whole)
    assert completed(whole) == tuple(whole)
    assert all(kind.is_sound for kind in whole)


def test_values_are_brought_into_the_range_of_their_kind():
    values = torch.tensor([-2.0, 0.5, 2.0])
    by_letter = {kind.id: kind for kind in LSTM.kinds}
    assert by_letter["f"].within(values).tolist() == [0.0, 0.5, 1.0]
    assert by_letter["g"].within(values).tolist() == [-1.0, 0.5, 1.0]
    assert by_letter["c"].within(values).tolist() == values.tolist()
    assert Kind("d", "", "", "", range=(0.0, None)).within(values).tolist() == [0.0, 0.5, 2.0]
